"""What people have seen go wrong with long jobs of other tools, as batches in a shell, killed between lines, too."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.nightshift import CALLS, MOST, PRICE, NightShift, reply
from onepen.testing.processes import marked
from onepen.testing.story import Line, Story, wait_until

from .conftest import Install

LIMITS = "\\n[profiles.default]\\npatience_seconds = 2\\n"


# -- finished work is done and paid again ------------------------------------------------------------------------------


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cups", [30, pytest.param(50, marks=pytest.mark.long)])
def test_what_is_finished_is_not_done_again_whatever_the_restarts_come_to(tmp_path: Path, cups: int) -> None:
    """Field case 49: a kill, three restarts that die at once, one that finds no server; then all goes on.

    Nothing of the finished tasks is asked for again, and the report tells of the calls that were lost.
    """
    at_once, some = 5, cups * 2 // 5
    with MessagesApi([NightShift.rule(0.1)]) as api, Story(tmp_path, api.env, limit=300) as story:
        shift = NightShift(story, api, cups)
        *_, ran = story.tell(*shift.begin(), shift.run(f"--budget 90 --concurrency {at_once} --detach --json"))
        batch = ran.json["batch"]
        assert wait_until(lambda: len(shift.over()) >= some, 120)
        assert story.kill()
        finished, calls = shift.over(), shift.calls()
        go_on = f"onepen -C ws batch resume {batch}"
        for _ in range(3):
            story.tell(f"({go_on} >/dev/null 2>&1 &)")
            assert wait_until(lambda: story.orchestrator() is not None, 20)
            time.sleep(random.uniform(0.0, 0.2))
            assert wait_until(lambda: not (story.kill() or marked(f"HOME={story.home}")), 30), "it is begun again"
        with api.away():
            story.tell(f"printf '{LIMITS}' >> .config/onepen/config.toml")
            gave_up = story.run(f"{go_on} --max-failures 3 --json")
            assert gave_up.code == 1, gave_up
            assert gave_up.json["state"] == "too_many_failures" and gave_up.json["counts"]["done"] >= len(finished)
            assert {one["kind"] for one in gave_up.json["failures"]} == {"overload"}
        told = story.tell(f"onepen -C ws batch retry {batch} --failed --max-failures 50 --json", kill=range(9))[-1]
        counts = told.json["counts"]
        assert counts["done"] == cups and counts["in_review"] <= at_once, "where no model could judge, a person does"
        again = shift.calls() - calls
        assert [call for call in again if call[0] in finished] == [], "what was finished is asked for no more"
        assert sum(shift.calls().values()) - cups * CALLS <= 4 * at_once, "again only what was out at a kill"
        for one in story.run("onepen -C ws drafts --client acme --json").json["drafts"]:
            story.tell(f"onepen -C ws approve {one['id']} --client acme --sha256 {one['sha256']}")
        assert shift.commits() == shift.cards() == {f"{n:05}": 1 for n in range(cups)}
        report = story.run(f"onepen -C ws batch report {batch}").out
        assert f"| committed to memory | {cups} |" in report
        assert ("out when the orchestrator was killed" in report) == (told.json["paid_again"] > 0)
        assert 1 <= report.count("it was killed") <= 4, "who was killed before it had begun has no line"
        story.tell("onepen -C ws doctor", kill=range(9))


# -- a server that takes fewer calls than there are --------------------------------------------------------------------


def closed(seconds: float, gap: float) -> list[dict[str, Any]]:
    """429 with the seconds to wait to everybody until then; from then on a call less than `gap` after the last, too."""
    first = {"within": seconds, "fault": {"status": 429, "retry_after": seconds}}
    said = {"reply": [{"tool": "report", "input": {"summary": "done", "answer": "hot"}}]}
    return [first, {"sooner_than": gap, "fault": {"status": 429, "retry_after": gap}}, said]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("seconds", "gap", "tasks", "limit"), [(9.0, 0.3, 9, 7), pytest.param(20.0, 1.0, 16, 10, marks=pytest.mark.long)]
)
def test_a_batch_comes_back_neither_too_soon_nor_all_at_once(
    tmp_path: Path, seconds: float, gap: float, tasks: int, limit: int
) -> None:
    """Field case 54: eight at a time are refused together; the documented number of tries holds for a batch, too.

    All of them wait longer than their time limit: it stands still while the server makes them wait.
    """
    workers = 8
    with MessagesApi(closed(seconds, gap)) as api, Story(tmp_path, api.env, limit=240) as story:
        (tmp_path / "q.jsonl").write_text("".join(json.dumps({"text": f"Question {k}?"}) + "\n" for k in range(tasks)))
        run = f"batch run q.jsonl --answer --model sonnet --concurrency {workers} --time-limit {limit} --yes --json"
        *_, ran = story.tell("onepen init ws", f"onepen -C ws {run}", kill=range(9))
        assert (ran.json["counts"]["answered"], ran.json["failures"]) == (tasks, [])
        at = [seen.at - api.asked[0].at for seen in api.asked]
        first, later = [t for t in at if t < seconds], [t for t in at if t >= seconds]
        assert len(first) <= workers and max(first) < 1, f"once it is told, nobody asks before the server said so: {at}"
        assert len(at) <= workers + 1.5 * tasks, "as docs/explanation/orchestrator.md promises"
        assert max(sum(begin <= t < begin + gap for t in later) for begin in later) <= 3
        story.tell("onepen -C ws doctor", kill=range(9))


def test_a_batch_that_waits_for_long_says_so_once_and_can_be_stopped(tmp_path: Path) -> None:
    """Field case 54: a server that wants a quarter of an hour is told to the person, and not once for each task."""
    with MessagesApi([{"fault": {"status": 429, "retry_after": 900}}]) as api, Story(tmp_path, api.env) as story:
        (tmp_path / "q.jsonl").write_text("".join(json.dumps({"text": f"Question {k}?"}) + "\n" for k in range(9)))
        run = "onepen -C ws batch run q.jsonl --answer --model sonnet --concurrency 5 --yes"
        story.tell("onepen init ws", f"({run} >out 2>err; echo $? >code) >/dev/null 2>&1 &")
        err = tmp_path / "err"
        assert wait_until(lambda: err.is_file() and "waits 900 s" in err.read_text(), 60)
        assert err.read_text().count("waits 900 s") == 1, err.read_text()
        story.tell(Line("onepen -C ws batch status", says="5 running"), "onepen -C ws down --now")
        assert wait_until((tmp_path / "code").is_file)
        assert "onepen batch resume q-" in err.read_text() + (tmp_path / "out").read_text()
        story.tell(Line("onepen -C ws batch status --json", says='"running": 0'))
        api.say([{"reply": [{"tool": "report", "input": {"summary": "done", "answer": "hot"}}]}])
        story.tell(Line("onepen -C ws batch resume q", says="9 of 9 done"), "onepen -C ws doctor")


# -- many workers, one budget ------------------------------------------------------------------------------------------

CALL, REVIEW = 0.09, 0.015
EACH = {"input": 0, "output": 6_000}
SHORT = {"input": 0, "output": 1_000}
"""What a call and a review are said to have used: 9 cents, and less, at the nightshift's price of output."""


def dear(asked: Asked) -> Mapping[str, Any] | None:
    """The night's model at 9 cents a call; every third cup looks twice before it writes."""
    said = NightShift.rule(0.3, SHORT if asked.forced else EACH)(asked)
    found = re.search(r"cup (\d{5})", asked.words)
    if said is None or found is None or asked.forced or int(found[1]) % 3:
        return said
    if asked.turn <= 2:
        return {**said, "reply": [{"tool": "search", "input": {"query": f"cones {asked.turn}"}}]}
    return {**said, "reply": [reply(found[1], str(asked.turn - 2))]}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cups", [12, pytest.param(40, marks=pytest.mark.long)])
def test_a_batch_never_costs_more_than_its_budget_and_goes_on_with_more(tmp_path: Path, cups: int) -> None:
    """Field case 64: eight at a time, one dollar; rounds, reviews and calls that broke after they were paid count.

    What isn't begun for lack of money is no failure, and more money goes on where it ended.
    """
    assert PRICE["output"] * EACH["output"] / 1e6 == CALL
    cut = [{"nth": n, "fault": {"kind": "cut", "at": "delta"}, "reply": "…", "usage": EACH} for n in (3, 6)]
    with MessagesApi([*cut, dear]) as api, Story(tmp_path, api.env, limit=300) as story:
        shift = NightShift(story, api, cups)
        run = Line(shift.run("--budget 1.00 --concurrency 8 --json"), code=4)
        *_, ran = story.tell(*shift.begin(), run, kill=range(9))
        told = ran.json
        assert (told["state"], told["counts"]["failed"]) == ("over_budget", 0), told
        assert "the budget of batch" in told["reason"]
        assert 0.6 < billed(api) <= 1.0
        assert told["cost_usd"] == pytest.approx(billed(api), abs=1e-6)
        assert shift.booked() == pytest.approx(billed(api), abs=1e-6)

        count = len(api.asked)
        story.tell(Line(f"onepen -C ws batch resume {told['batch']}", code=4, says="--budget"), kill=range(9))
        assert len(api.asked) == count, "nothing is asked once the budget is reached"

        *_, done = story.tell(f"onepen -C ws batch resume {told['batch']} --budget 50 --json", kill=range(9))
        assert (done.json["counts"]["committed"], done.json["state"]) == (cups, "finished"), done
        needed = sum(5 if n % 3 == 0 else CALLS for n in range(cups))
        twice = [call for call, times in shift.calls().items() for _ in range(times - 1)]
        assert len(twice) == len(cut), f"what was paid for is used, and asked for once: {twice}"
        assert len(api.asked) == needed + len(cut)
        assert shift.booked() == pytest.approx(billed(api), abs=1e-6) == done.json["cost_usd"]
        story.tell("onepen -C ws doctor", kill=range(9))


def billed(api: MessagesApi) -> float:
    return sum(REVIEW if "tool_choice" in seen.body else CALL for seen in api.asked)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("cups", "kills"), [(12, 2), pytest.param(40, 5, marks=pytest.mark.long)])
def test_the_budget_of_a_batch_holds_over_kills(tmp_path: Path, cups: int, kills: int) -> None:
    """Field case 64 with kills in the middle: what was out counts with the most that it may have cost."""
    with MessagesApi([dear]) as api, Story(tmp_path, api.env, limit=300) as story:
        shift = NightShift(story, api, cups)
        *_, ran = story.tell(*shift.begin(), shift.run("--budget 3.00 --concurrency 8 --detach --json"))
        for kill in range(kills):
            reached = len(api.asked) + random.randint(1, 8)
            assert wait_until(lambda reached=reached: len(api.asked) >= reached or over(story), 60)  # type: ignore[misc]
            story.kill()
            if kill < kills - 1:
                story.run(f"onepen -C ws batch resume {ran.json['batch']} --detach --json")
        last = story.run(f"onepen -C ws batch resume {ran.json['batch']} --json")
        assert last.code == 4 and last.json["state"] == "over_budget", last
        assert billed(api) <= shift.booked() + 1e-6 <= 3.0 + 2e-6
        assert shift.booked() - billed(api) <= kills * 8 * MOST
        assert last.json["cost_usd"] == pytest.approx(shift.booked(), abs=1e-3)
        assert last.json["counts"]["failed"] == 0
        story.tell("onepen -C ws doctor", kill=range(9))


def over(story: Story) -> bool:
    return story.orchestrator() is None or story.run("onepen -C ws batch status --json").json["state"] != "running"


# -- workers that hang, die, give up, or speak too late ----------------------------------------------------------------

NOTE = "The kiln fires at 1220 degrees.\n"


def draft(word: str) -> str:
    title, place = f"It {word}", f"it-{word.replace(' ', '-')}"
    index = f"[{{section_id: what-i-found, keywords: [kiln, fires], summary: {NOTE.strip()}}}]"
    front = f"target: research/{place}.md\nedit: create\ntitle: {title}\nindex: {index}\nsources: ['inputs/n.md:1']"
    return f'---\n{front}\n---\n# {title}\n\n## What I found\n\n> "{NOTE.strip()}" (inputs/n.md:1)\n'


def writes(*words: str) -> list[Any]:
    files = [f"cat >{k}.md <<'END'\n{draft(word)}END\n" for k, word in enumerate(words)]
    return ["shell", "\n".join(files)]


WORKERS: dict[str, list[list[Any]]] = {
    "sleeps": [["hello"], ["sleep", 60]],
    "is deaf": [["hello"], ["deaf"], ["sleep", 60]],
    "has a child": [["hello"], ["shell", "sh -c 'sleep 61.5454'"]],
    "writes and hangs": [["hello"], writes("writes and hangs"), ["sleep", 60]],
    "dies": [["signal", "SIGSEGV"]],
    "gives up": [
        ["hello"],
        writes("gives up", "is a second one"),
        ["report", {"summary": "my turns are used up", "complete": False}],
    ],
    "works": [["hello"], writes("works"), ["report", {"summary": "done"}]],
}
PLACES = {
    "sleeps": "timeout", "is deaf": "timeout", "has a child": "timeout", "writes and hangs": "timeout", "dies": "bug",
    "gives up": "in_review", "works": "committed",
}  # fmt: skip


def rows(folder: Path, *words: str) -> str:
    lines = [{"text": f"It {word}", "target": f"research/it-{word.replace(' ', '-')}.md"} for word in words]
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "n.md").write_text(NOTE)
    return "onepen -C ws batch run rows.jsonl --input n.md --model offline --review auto --yes --json"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("limit", [3, pytest.param(5, marks=pytest.mark.long)])
def test_workers_that_hang_die_or_give_up_keep_no_other_row_from_its_end(
    install: Install, tmp_path: Path, limit: int
) -> None:
    """Field case 43 in a batch: each failure has its class, drafts of theirs wait, and no process stays."""
    with Story(tmp_path, install(WORKERS)) as story:
        run = Line(f"{rows(tmp_path, *WORKERS)} --concurrency 7 --time-limit {limit}", code=1)
        *_, ran = story.tell("onepen init ws", run, kill=range(9))
        counts = ran.json["counts"]
        assert (counts["failed"], counts["in_review"], counts["committed"]) == (5, 1, 1), ran.json
        came = ended(story)
        for word, place in PLACES.items():
            assert place in (came[word].get("kind"), came[word]["status"]), came[word]
            assert place == "timeout" or came[word]["seconds"] < limit, "none of them waited for one that hangs"
        assert came["dies"]["attempts"] == 3 and "SIGSEGV" in came["dies"]["reason"]
        drafts = story.run("onepen -C ws drafts --json").json["drafts"]
        assert Counter(d["target"] for d in drafts if d["status"] == "waiting") == {
            f"research/it-{name}.md": 1 for name in ("writes-and-hangs", "gives-up", "is-a-second-one")
        }
        assert not running("sleep 61.5454")
        story.tell(
            Line("onepen -C ws batch report", says="### timeout: 4"),
            Line(f"onepen -C ws batch retry {ran.json['batch']} --failed=bug", code=1, says="failed"),
            "onepen -C ws doctor",
            "test $(ls ws/research/*.md | grep -vc _index) = 1",
            kill=range(9),
        )


RULES = [{"reply": [{"text": "well"}], "usage": {"input": 100, "output": 10}}]
ASK: dict[str, Any] = {"delta": [{"role": "user", "content": [{"type": "text", "text": "what?"}]}]}
LATE: list[list[Any]] = [["late", 0.3, {"summary": "late"}], ["hello"], ["ask", ASK], ["sleep", 60]]


@pytest.mark.timeout(240)
def test_what_an_earlier_attempt_says_too_late_changes_nothing_of_a_batch(install: Install, tmp_path: Path) -> None:
    """Field case 46 in a batch: attempt 1 outlives its limit and reports then; tried again, it reports twice.

    There is one draft, and what each attempt was answered is in the books once.
    """
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    with Story(tmp_path, install({"is late": LATE})) as story:
        run = rows(tmp_path, "is late").replace("--model offline", "--model scripted:rules.json")
        *_, ran = story.tell("onepen init ws", Line(f"{run} --time-limit 3", code=1))
        batch, (task,) = ran.json["batch"], list((story.workspace / "staging").iterdir())
        assert [one["kind"] for one in ran.json["failures"]] == ["timeout"]
        assert "late" in (task / "1/worker.log").read_text() and not (task / "report.md").exists()
        done = ["report", {"summary": "done"}]
        install({"is late": [["hello"], ["ask", ASK], writes("is late"), done, ["report", {"summary": "again"}]]})
        *_, told = story.tell(f"onepen -C ws batch retry {batch} --failed=timeout --json", kill=range(9))
        assert (told.json["counts"]["in_review"], told.json["counts"]["failed"]) == (1, 0), told
        assert "it came late: the attempt was over" in (task / "2/worker.log").read_text()
        assert "again" not in (task / "report.md").read_text()
        assert [path.name for path in (story.workspace / "staging").iterdir()] == [task.name], "it is the same task"
        said = [json.loads(line) for path in task.glob("*/*.jsonl") for line in path.read_text().splitlines()]
        paid = [line for line in said if line["kind"] == "reply" and not line["reused"]]
        assert told.json["tokens"] == 110 * len(paid), "what was said before is used again, not paid again"
        story.tell("test $(ls ws/research/*.md | grep -vc _index) = 0", "onepen -C ws doctor", kill=range(9))


def ended(story: Story) -> dict[str, dict[str, Any]]:
    """The last line of the batch's journal about each task, by what it is about."""
    (folder,) = (story.workspace / "batches").iterdir()
    tasks = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    words = {task["key"]: task["text"].removeprefix("It ") for task in tasks}
    lines = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]
    return {words[line["key"]]: line for line in lines if line["event"] == "task_over"}


def running(command: str) -> list[str]:
    """The processes with this command."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            found.append((entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " "))
        except OSError:
            continue
    return [words for words in found if command in words and "onepen" not in words]
