"""The commands of batches as a person types them: asked before, told meanwhile, stopped, gone on with, looked at."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from onepen.orchestrator.batch.answer import FailureClass
from onepen.orchestrator.commands.app import program
from onepen.orchestrator.commands.batching import Failed
from onepen.testing.messages_api import MessagesApi
from onepen.testing.program import LIMIT, PROGRAM, Program, Ran, orchestrators

pytestmark = pytest.mark.timeout(120)

ASK = ("--prompt", "What is said of the {name}?", "--input", "notes.md")


def script(delay: float = 0.0) -> str:
    finding = {"title": "Cups", "text": "# Cups\n\n- a cup is red\n"}
    return json.dumps(
        [
            {"contains": "Broken", "turn": 1, "reply": [{"tool": "report", "input": {"summary": "nothing"}}]},
            {"turn": 1, "reply": [{"tool": "write_draft", "input": finding}]},
            {"turn": 2, "delay": delay, "reply": [{"tool": "report", "input": {"summary": "done"}}]},
        ]
    )


def batch(*more: str) -> tuple[str, ...]:
    return ("batch", *more, "-C", "ws")


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    """A workspace with rows: two of four say the same."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    (tmp_path / "notes.md").write_text("The cup is red.\nThe mug is blue.\n")
    (tmp_path / "rows.csv").write_text("name\ncup\nmug\ncup\n")
    (tmp_path / "slow.json").write_text(script(20))
    (tmp_path / "quick.json").write_text(script())
    return onepen


def made(onepen: Program) -> list[str]:
    folder = onepen.home / "ws/batches"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


# -- before it begins --------------------------------------------------------------------------------------------------


def test_a_rehearsal_tells_all_and_makes_nothing(onepen: Program) -> None:
    told = onepen.ok(*batch("run", "rows.csv", *ASK, "--dry-run"))
    assert told.out.startswith("rows.csv: batch rows-")
    assert "tasks: 2 new; 1 row says the same as an earlier one\n" in told.out
    assert "  What is said of the cup?\n" in told.out and told.out.endswith("Nothing was started, nobody was asked.\n")
    plan = onepen.json(*batch("run", "rows.csv", *ASK, "--dry-run"))
    assert (plan["new"], plan["twice"], plan["dry_run"], plan["begun"]) == (2, 1, True, False)
    assert made(onepen) == []


def test_what_is_wrong_with_rows_is_told_all_at_once_and_nothing_begins(onepen: Program) -> None:
    (onepen.home / "bad.jsonl").write_text('{"text": "", "id": "a"}\n{"txt": "x"}\n')
    ran = onepen(*batch("run", "bad.jsonl", "--yes", "--json"))
    assert ran.code == 2 and ran.err.startswith("onepen: bad.jsonl:1: ") and "\nbad.jsonl:2: " in ran.err
    assert "did you mean 'text'?" in ran.err
    assert ran.json["error"]["exit_code"] == 2
    assert made(onepen) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--prompt", "x", "--prompt-file", "notes.md"), "--prompt and --prompt-file don't go together"),
        (("--events", "--json"), "--events goes without --json"),
        (("--events", "--dry-run"), "--events goes without --json and --dry-run"),
        (("--detach", "--foreground"), "--detach goes without"),
        (("--prompt-file", "gone.txt"), "gone.txt: No such file"),
    ],
)
def test_options_that_do_not_go_together_are_refused(onepen: Program, words: tuple[str, ...], said: str) -> None:
    ran = onepen(*batch("run", "rows.csv", *words))
    assert ran.code in {1, 2} and said in ran.err
    assert made(onepen) == []


def test_rows_may_come_from_stdin_and_the_template_from_a_file(onepen: Program) -> None:
    (onepen.home / "p.txt").write_text("\ufeffWhat is said of the {name}?\n")
    ran = onepen(*batch("run", "-", "--prompt-file", "p.txt", "--dry-run", "--json"), stdin="name\ncup\n")
    assert ran.json["name"] == "stdin" and ran.json["reads"] == ["What is said of the cup?\n"]
    twice = onepen(*batch("run", "-", "--prompt", "-"), stdin="x")
    assert (twice.code, "stdin can be read once only" in twice.err) == (2, True)


@pytest.fixture
def server() -> Iterator[MessagesApi]:
    """A model that costs: 15 dollars for a million tokens of its words."""
    done = [{"tool": "report", "input": {"summary": "done", "answer": "It is red."}}]
    with MessagesApi([{"reply": done, "usage": {"input": 0, "output": 1_000}}]) as api:
        yield api


def priced(onepen: Program, server: MessagesApi) -> dict[str, str]:
    (onepen.home / ".config/onepen").mkdir(parents=True)
    text = '[profiles.default.prices."claude-sonnet-5-5"]\ninput = 3\noutput = 15\n'
    (onepen.home / ".config/onepen/config.toml").write_text(text)
    return {**server.env}


def test_what_costs_is_not_begun_without_a_yes(onepen: Program, server: MessagesApi) -> None:
    env = priced(onepen, server)
    words = batch("run", "rows.csv", *ASK, "--model", "sonnet", "--answer", "--budget", "2")
    ran = onepen(*words, env=env)
    assert ran.code == 3 and ran.out == ""
    assert "batch run rows.csv: nothing was started (next: the same with --yes)" in ran.err
    assert "budget: $2.00 for all of it" in ran.err and "cost: $" in ran.err, "the plan was shown"
    no = onepen.terminal(*words, env=env, types=b"n\n")
    assert no.code == 3 and "Start 2 tasks for $" in no.screen
    assert made(onepen) == [] and [seen for seen in server.requests if seen.raw] == []
    yes = onepen.terminal(*words, env=env, types=b"y\n")
    assert yes.code == 0 and "2 answered" in yes.screen, yes.screen
    status = onepen.json(*batch("status"))
    assert status["cost_usd"] == 0.03 and status["budget_usd"] == 2.0
    again = onepen(*words, env=env)
    assert again.code == 0 and "nothing was done: every task of rows-" in again.err, "and it asks nobody"
    assert len([seen for seen in server.requests if seen.raw]) == 2


def test_a_yes_may_be_given_beforehand(onepen: Program, server: MessagesApi) -> None:
    words = batch("run", "rows.csv", *ASK, "--model", "sonnet", "--answer", "--yes", "--json")
    ran = onepen(*words, env=priced(onepen, server))
    assert (ran.code, ran.json["counts"]["answered"]) == (0, 2)


# -- on its way --------------------------------------------------------------------------------------------------------


def test_it_runs_says_how_it_stands_and_the_same_again_does_nothing(onepen: Program) -> None:
    first = onepen.ok(*batch("run", "rows.csv", *ASK, "--json"))
    assert first.json["state"] == "finished"
    counts = first.json["counts"]
    assert (counts["total"], counts["done"], counts["in_review"], counts["duplicate"]) == (3, 3, 2, 1)
    assert "rows.csv begins: 2 tasks, 10 at a time (batch rows-" in first.err
    before = (onepen.home / "ws/batches" / first.json["batch"] / "run.jsonl").read_bytes()
    again = onepen.ok(*batch("run", "rows.csv", *ASK))
    assert again.out.startswith(f"{first.json['batch']}  finished\nrows.csv: 3 of 3 done (2 in review, 1 done before")
    assert again.out.endswith("Next: onepen drafts\n")
    assert f"nothing was done: every task of {first.json['batch']} came to its end before" in again.err
    assert (onepen.home / "ws/batches" / first.json["batch"] / "run.jsonl").read_bytes() == before


def test_events_are_the_only_thing_on_stdout(onepen: Program) -> None:
    for words in (("run", "rows.csv", *ASK), ("run", "rows.csv", *ASK), ("resume", "rows")):
        ran = onepen.ok(*batch(*words, "--events"))
        events = [json.loads(line) for line in ran.out.splitlines()]
        kinds = [one["event"] for one in events]
        assert kinds.count("launch") == kinds.count("result") == 1 and kinds[-1] == "result"
        assert events[-1]["state"] == "finished" and events[-1]["exit_code"] == 0


def test_an_error_is_the_last_event(onepen: Program) -> None:
    onepen.ok("up", "-C", "ws")
    ran = onepen(*batch("run", "rows.csv", *ASK, "--foreground", "--events"))
    assert ran.code == 5
    assert json.loads(ran.out)["event"] == "result" and json.loads(ran.out)["error"]["exit_code"] == 5


def test_the_persons_own_command_is_told_at_the_end(onepen: Program) -> None:
    note = onepen.home / "note.sh"
    note.write_text(f'#!/bin/sh\necho "$1: $2" > {onepen.home}/told\ncat > {onepen.home}/document\nexit 3\n')
    note.chmod(0o755)
    (onepen.home / ".config/onepen").mkdir(parents=True)
    (onepen.home / ".config/onepen/config.toml").write_text(f'[notify]\ncommand = ["{note}", "onepen"]\n')
    ran = onepen.ok(*batch("run", "rows.csv", *ASK))
    assert "note: [notify] command" in ran.err and "ended with 3" in ran.err
    assert (onepen.home / "told").read_text().startswith("onepen: Batch rows.csv is finished: 3 of 3 done, 2 wait")
    assert json.loads((onepen.home / "document").read_text())["state"] == "finished"
    assert "notify: " in onepen.ok("config", "show", "-C", "ws").out


def test_consent_is_kept_for_these_tasks_and_counts_when_they_go_on(onepen: Program) -> None:
    """Killed after the first: who resumes says nothing more of it."""
    first = onepen.ok(*batch("run", "rows.csv", *ASK, "--review", "auto", "--sample", "1", "--json")).json
    kept = (onepen.home / ".local/share/onepen/trust.jsonl").read_text()
    assert f'"name": "batches/{first["batch"]}"' in kept and kept.count("\n") == 1
    assert first["counts"]["committed"] == 1
    onepen.ok("down", "-C", "ws")
    done = onepen.ok(*batch("resume", "rows", "--json")).json
    assert (done["state"], done["counts"]["committed"], done["review"]) == ("finished", 2, "auto")
    assert (onepen.home / ".local/share/onepen/trust.jsonl").read_text() == kept


def test_who_resumes_with_auto_gives_their_word_then(onepen: Program) -> None:
    onepen.ok(*batch("run", "rows.csv", *ASK, "--sample", "1"))
    assert not (onepen.home / ".local/share/onepen/trust.jsonl").exists()
    done = onepen.ok(*batch("resume", "rows", "--review", "auto", "--json")).json
    assert done["counts"]["committed"] == 1
    assert '"allowed": true' in (onepen.home / ".local/share/onepen/trust.jsonl").read_text()


# -- stopped -----------------------------------------------------------------------------------------------------------


class Running:
    """A batch of which each task hangs in its second call."""

    def __init__(self, onepen: Program, *more: str) -> None:
        self.onepen = onepen
        words = ("run", "rows.csv", *ASK, "--model", "scripted:slow.json", "--concurrency", "1", "--json", *more)
        self.child = subprocess.Popen(
            [PROGRAM, *batch(*words)],
            cwd=onepen.home, env=onepen.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
        self.until(lambda: bool(list((onepen.home / "ws/staging").glob("*/1/drafts/*.md"))))

    def until(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + LIMIT
        while not reached():
            assert time.monotonic() < deadline and self.child.poll() is None
            time.sleep(0.01)

    def end(self) -> Ran:
        out, err = self.child.communicate(timeout=LIMIT)
        return Ran(self.child.returncode, out.decode(), err.decode())

    @property
    def batch(self) -> str:
        (name,) = made(self.onepen)
        return name


@pytest.mark.parametrize("where", [(), ("--foreground",)])
@pytest.mark.parametrize("signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM]])
def test_stopped_now_it_is_quick_and_says_the_command_that_goes_on(
    onepen: Program, signals: list[signal.Signals], where: tuple[str, ...]
) -> None:
    running = Running(onepen, *where)
    begun = time.monotonic()
    for number in signals:
        running.child.send_signal(number)
        time.sleep(0.3)
    ran = running.end()
    assert time.monotonic() - begun < 10
    assert (ran.code, ran.json["state"]) == (130, "stopped"), ran
    assert f"stopping now: what was written is kept (to go on: onepen batch resume {running.batch})" in ran.err
    assert ("Ctrl-C again ends it now" in ran.err) == (len(signals) == 2)
    (onepen.home / "slow.json").write_text(script())
    done = onepen.ok(*batch("resume", running.batch[:6], "--json")).json
    assert (done["state"], done["counts"]["in_review"]) == ("finished", 2)


def test_ctrl_c_once_lets_what_runs_finish(onepen: Program) -> None:
    (onepen.home / "slow.json").write_text(script(2))
    running = Running(onepen)
    running.child.send_signal(signal.SIGINT)
    ran = running.end()
    assert ran.code == 130 and ran.json["counts"]["in_review"] == 1 and ran.json["counts"]["pending"] == 1
    assert "nothing new starts; Ctrl-C again ends it now (to go on: onepen batch resume rows-" in ran.err


def test_a_closed_terminal_stops_nothing_that_was_accepted(onepen: Program) -> None:
    running = Running(onepen)
    running.child.send_signal(signal.SIGHUP)
    ran = running.end()
    assert ran.code == 129
    assert "the terminal is gone; the batch goes on in the background" in ran.err
    assert f"onepen batch status {running.batch} --watch" in ran.err
    assert onepen.json(*batch("status"))["state"] == "running"
    again = onepen(*batch("resume", "rows"))
    assert (again.code, "it runs already" in again.err) == (5, True)


def test_a_hangup_of_a_foreground_batch_stops_it_now(onepen: Program) -> None:
    running = Running(onepen, "--foreground")
    running.child.send_signal(signal.SIGHUP)
    ran = running.end()
    assert ran.code == 130 and f"onepen batch resume {running.batch}" in ran.err


def test_a_killed_orchestrator_is_told_with_the_command_that_goes_on(onepen: Program) -> None:
    running = Running(onepen)
    for pid in orchestrators(onepen.home):
        os.kill(pid, signal.SIGKILL)
    ran = running.end()
    assert ran.code == 1 and ran.json["error"]["hint"] == f"onepen batch resume {running.batch}"
    assert onepen.json(*batch("status"))["state"] == "stopped"
    (onepen.home / "slow.json").write_text(script())
    assert onepen.ok(*batch("resume", "rows", "--json")).json["counts"]["in_review"] == 2


def test_detached_it_goes_on_and_is_watched_until_it_ends(onepen: Program) -> None:
    (onepen.home / "slow.json").write_text(script(8))
    words = ("run", "rows.csv", *ASK, "--model", "scripted:slow.json", "--detach")
    left = onepen.ok(*batch(*words))
    assert left.out.endswith("Next: onepen batch status " + made(onepen)[0] + " --watch\n")
    watched = onepen.ok(*batch("status", "--watch"))
    assert " of 3 over (" in watched.out and "\nrows.csv: 3 of 3 done (2 in review" in watched.out
    documents = onepen.ok(*batch("status", "--watch", "--json")).out.splitlines()
    assert [json.loads(one)["state"] for one in documents] == ["finished"]


def test_paused_it_ends_what_runs_and_cancelled_it_waits_for_a_word(onepen: Program) -> None:
    (onepen.home / "slow.json").write_text(script(4))
    words = ("--model", "scripted:slow.json", "--concurrency", "1", "--detach")
    onepen.ok(*batch("run", "rows.csv", *ASK, *words))
    assert onepen.json(*batch("pause", "rows", "--dry-run"))["state"] == "running"
    paused = onepen.json(*batch("pause", "rows"))
    assert (paused["state"], paused["counts"]["in_review"], paused["counts"]["pending"]) == ("stopped", 1, 1)
    cancelled = onepen.ok(*batch("cancel", "rows"))
    assert "  cancelled" in cancelled.out and "Next: onepen batch resume rows-" in cancelled.out
    assert onepen.json(*batch("resume", "rows"))["state"] == "finished"


def test_a_pilot_tells_what_the_others_may_take(onepen: Program) -> None:
    (onepen.home / "rows.csv").write_text("name\n" + "".join(f"cup {n}\n" for n in range(9)))
    ran = onepen.ok(*batch("run", "rows.csv", *ASK, "--sample", "2", "--json"))
    assert (ran.json["state"], ran.json["counts"]["pending"]) == ("stopped", 7)
    assert ran.json["outlook"]["cost_usd"] == {"least": 0.0, "most": 0.0}
    assert ran.json["outlook"]["basis"].startswith("2 tasks that ran")
    foreseen = onepen.ok(*batch("resume", "rows", "--dry-run"))
    assert "what is left (7 tasks): $0.00, " in foreseen.out and foreseen.out.endswith(
        "Nothing was started, nobody was asked.\n"
    )
    told = onepen.ok(*batch("resume", "rows", "--sample", "3"))
    assert "the 4 other tasks: $0.00, " in told.out and "(by 5 tasks that ran" in told.out


def test_a_machine_in_between_changes_nothing(onepen: Program) -> None:
    """The orchestrator is ended between two runs: the batch is in its files."""
    onepen.ok(*batch("run", "rows.csv", *ASK, "--sample", "1"))
    onepen.ok("down", "-C", "ws")
    assert onepen.json(*batch("resume", "rows", "--foreground"))["counts"]["in_review"] == 2


# -- looked at ---------------------------------------------------------------------------------------------------------


def test_failures_are_tried_again_by_class(onepen: Program) -> None:
    (onepen.home / "rows.csv").write_text("name\ncup\nBroken mug\n")
    words = ("run", "rows.csv", *ASK, "--model", "scripted:quick.json", "--json")
    ran = onepen(*batch(*words))
    failures = {one["kind"]: one["line"] for one in ran.json["failures"]}
    assert (ran.code, failures) == (1, {"invalid": 3}), ran
    assert "rows.csv:3 " in ran.err, "each failure is told as it comes"
    stands = onepen.ok(*batch("status"))
    assert stands.out.endswith(f"Next: onepen batch retry {ran.json['batch']} --failed\n")
    foreseen = onepen.json(*batch("retry", "rows", "--dry-run"))
    assert foreseen["dry_run"] is True and foreseen["outlook"]["basis"].startswith("2 tasks that ran")
    assert "what failed (1 task): $0.00, " in onepen.ok(*batch("retry", "rows", "--failed", "--dry-run")).out
    none = onepen(*batch("retry", "rows", "--failed=overload"))
    assert "nothing was done: no task of rows-" in none.err and " failed as overload" in none.err
    (onepen.home / "quick.json").write_text(script().replace("Broken", "Mended"))
    again = onepen.ok(*batch("retry", "rows", "--failed", "--json"))
    assert again.json["counts"] == {**again.json["counts"], "failed": 0, "in_review": 2}


def test_all_of_them_are_listed_and_found_by_the_beginning_of_their_ids(onepen: Program) -> None:
    nothing = onepen(*batch("status"))
    assert nothing.code == 2 and "onepen batch run FILE" in nothing.err
    assert onepen.ok(*batch("list")).out.startswith("There is no batch here.\n")
    first = onepen.ok(*batch("run", "rows.csv", *ASK, "--json")).json["batch"]
    second = onepen.ok(*batch("run", "rows.csv", "--prompt", "And the {name}?", "--json")).json["batch"]
    listed = onepen.json(*batch("list"))["batches"]
    assert [one["batch"] for one in listed] == [second, first]
    assert onepen.ok(*batch("list")).out.count("finished\n") == 2
    assert onepen.json(*batch("status"))["batch"] == second
    assert onepen.json(*batch("status", first[:8]))["batch"] == first
    both = onepen(*batch("status", "rows-"))
    assert both.code == 2 and first in both.err and second in both.err
    assert onepen(*batch("status", "gone")).code == 2


def test_the_report_is_the_text_and_in_json_beside_how_it_stands(onepen: Program) -> None:
    ran = onepen.ok(*batch("run", "rows.csv", *ASK, "--json")).json
    told = onepen.ok(*batch("report", "rows"))
    assert told.out.startswith("# rows.csv: finished\n") and "## What waits for you" in told.out
    document = onepen.json(*batch("report"))
    assert document["batch"] == ran["batch"] and document["text"].startswith("# rows.csv: finished\n")
    assert (onepen.home / "ws" / ran["report"]).read_text().startswith("# rows.csv: finished\n")
    assert (onepen.home / "ws/batches" / ran["batch"] / "progress.svg").read_text().startswith("<svg ")


def test_the_classes_are_those_that_there_are() -> None:
    assert set(get_args(Failed)) == {"all", *get_args(FailureClass)}


@pytest.mark.parametrize(
    ("words", "failed"),
    [
        (("x",), "all"),
        (("x", "--failed"), "all"),
        (("--failed", "x"), "all"),
        (("x", "--failed=invalid"), "invalid"),
        (("x", "--failed", "invalid"), "invalid"),
    ],
)
def test_failed_may_stand_alone(words: tuple[str, ...], failed: str) -> None:
    command: Any = typer.main.get_command(program())
    retry = command.commands["batch"].commands["retry"]
    context = retry.make_context("retry", list(words))
    assert (context.params["batch"], context.params["failed"]) == ("x", failed)
