"""A long batch whose orchestrator is killed again and again at random moments: nothing twice, nothing lost.

The model is a real server; it knows what it was asked for. A kill may lose what was out at that moment, and no more.
"""

import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable, Container
from pathlib import Path

import anyio
import pytest

from onepen.orchestrator.batch.request import BatchRequest, GoOn
from onepen.orchestrator.service import Service
from onepen.testing import evidence
from onepen.testing.messages_api import MessagesApi
from onepen.testing.nightshift import CALLS, EACH, MOST, Call, NightShift
from onepen.testing.processes import marked
from onepen.testing.story import Story, wait_until
from onepen.testing.tally import Tally

DELAY = 0.1
LONG = [pytest.mark.long, pytest.mark.timeout(3_600)]


@pytest.mark.parametrize(
    ("cups", "kills", "at_once", "via"),
    [
        pytest.param(60, 4, 10, "messages", marks=pytest.mark.timeout(400)),
        pytest.param(60, 4, 10, "message-batches", marks=pytest.mark.timeout(400)),
        pytest.param(500, 20, 10, "messages", marks=LONG),
        pytest.param(500, 20, 10, "message-batches", marks=LONG),
        pytest.param(10_000, 20, 50, "messages", marks=LONG),
    ],
)
def test_a_batch_killed_at_random_moments_is_done_once(
    tmp_path: Path, cups: int, kills: int, at_once: int, via: str, record_property: Callable[[str, object], None]
) -> None:
    """F31, and field case 49 with kills at any moment: in the middle of work, and while the process begins."""
    budget = 2 * cups * CALLS * EACH + kills * at_once * MOST
    with (
        MessagesApi([NightShift.rule(DELAY)], batches={"takes": 3.0}) as api,
        Story(tmp_path, api.env, limit=1_800) as s,
    ):
        shift = NightShift(s, api, cups)
        begun = shift.run(f"--budget {budget:.2f} --concurrency {at_once} --via {via} --detach --json")
        *_, ran = s.tell(*shift.begin(), begun)
        batch, home = ran.json["batch"], f"HOME={s.home}"
        assert ran.json["counts"]["total"] == cups
        before = evidence.state(s.workspace)
        finished: list[tuple[Counter[Call], set[str]]] = []
        with Tally(f"kills of a batch by {via}", kills, record_property) as tally:
            for kill in range(kills):
                with tally.point(f"kill {kill}"):
                    if kill:
                        s.tell(f"onepen -C ws batch resume {batch} --detach --json")
                        adds_up(s, cups, {"running"})
                    moment(shift, cups * CALLS, kills - kill, via)
                    assert s.kill(), "the batch was over before its last kill"
                    finished.append((shift.calls(), set(shift.commits()) | shift.over()))
                    assert wait_until(lambda: not marked(home), 5), f"still alive: {marked(home)}"
                    adds_up(s, cups, {"stopped"})
                if tally.harmed:
                    break
        (done,) = s.tell(f"onepen -C ws batch resume {batch} --json")
        counts = done.json["counts"]
        assert (counts["committed"], counts["total"], counts["done"]) == (cups, cups, cups)
        assert done.json["state"] == "finished" == adds_up(s, cups, {"finished"})["state"]

        s.tell("onepen -C ws doctor", "onepen -C ws down")
        assert wait_until(lambda: not marked(home), 5)
        assert evidence.told(s.workspace, before) == []
        each = {f"{n:05}": 1 for n in range(cups)}
        assert shift.commits() == each and shift.cards() == each and shift.entries() == each
        assert len(shift.day_lines()) == 1, "a line for the batch, not one for each task"

        calls = shift.calls()
        assert set(calls) == {(cup, what) for cup in each for what in ("1", "2", "review")}
        again = sum(calls.values()) - len(calls)
        print(
            f"{via}: {cups} tasks, {kills} kills at {[len(over) for _, over in finished]} finished tasks; "
            f"{sum(calls.values())} requests, {again} again; ${shift.billed():.2f} billed, ${shift.booked():.2f} booked"
        )
        assert again <= (kills * at_once if via == "messages" else 0)
        for asked, over in finished:
            late = [call for call in calls - asked if call[0] in over]
            assert late == [], "what is finished is asked for no more"
        assert shift.billed() <= shift.booked() + 1e-6 <= budget + 2e-6
        assert done.json["cost_usd"] == pytest.approx(shift.booked(), abs=1e-3)
        assert done.json["paid_again"] >= again


def moment(shift: NightShift, needed: int, left: int, via: str) -> None:
    """A random moment of what is left to do; one of four comes while the process begins."""
    if random.random() < 0.25:
        time.sleep(random.uniform(0.0, 1.0))
        return
    if via != "messages":  # what goes on there goes on by the clock, and half of it is over in the last second
        some = random.randint(1, shift.cups // 2)
        seconds = random.uniform(0.0, 30.0 * shift.cups / 500 + 8.0)
        wait_until(lambda: len(shift.over()) >= some, seconds if left > 1 else 300)
        return
    asked = len(shift.api.asked)
    share = max(2, (needed - asked) // (left + 1))
    reached = min(asked + random.randint(1, share * 3 // 2), needed - 3 * left)
    assert wait_until(lambda: len(shift.api.asked) >= reached, 120 + needed / 50)
    time.sleep(random.uniform(0.0, 2 * DELAY))


def adds_up(story: Story, cups: int, states: Container[str]) -> dict[str, object]:
    """The batch's status, whose counts add up."""
    told = story.run("onepen -C ws batch status --json").json
    counts = told["counts"]
    assert counts["total"] == cups == counts["done"] + counts["failed"] + counts["pending"] + counts["running"], told
    parts = ("in_review", "committed", "answered", "refused", "duplicate")
    assert counts["done"] == sum(counts[part] for part in parts) and counts["failed"] == 0, told
    assert told["state"] in states, told
    return dict(told)


# -- the moments that chance hardly meets ------------------------------------------------------------------------------

SCRIPT: list[dict[str, object]] = [{"reply": [{"tool": "report", "input": {"summary": "s", "answer": "1222"}}]}]


def half_made(task: Path, stage: str) -> None:
    """A task's folder as a kill leaves it that comes while it is made: inputs first, then sheet, then journal."""
    for attempt in task.glob("[0-9]*"):
        shutil.rmtree(attempt)
    for name in ("report.md", "review.md", "run.jsonl"):
        (task / name).unlink(missing_ok=True)
    if stage != "no journal":
        (task / "task.md").unlink()
    if stage == "half a sheet":
        (task / "task.md").write_text("---\ntask: ")
    if stage == "half an input":
        (task / "inputs/cones.md").write_text("# Co")
    if stage == "no input":
        shutil.rmtree(task / "inputs")


@pytest.mark.parametrize("stage", ["no journal", "half a sheet", "no sheet", "half an input", "no input"])
def test_a_task_that_was_being_made_is_made_anew(
    make_service: Callable[..., Service], root: Path, tmp_path: Path, stage: str
) -> None:
    source = tmp_path / "cones.md"
    source.write_text("# Cones\n\nCone 6 was reached at 1222 degrees.\n")
    rows = BatchRequest("q.jsonl", data='{"text": "How hot?"}\n{"text": "How long?"}\n', agent="writer",
                        inputs=(source,), answer=True, model="sonnet")  # fmt: skip
    done = anyio.run(make_service(script=SCRIPT).batch_run, rows)
    assert done.counts.answered == 2
    journal = root / f"batches/{done.batch}/run.jsonl"
    lines = [line for line in journal.read_text().splitlines(keepends=True) if '"task_over"' not in line]
    journal.write_text("".join(lines[: 2 if stage == "no journal" else 1]))
    for task in (root / "staging").iterdir():
        half_made(task, stage)
    again = anyio.run(make_service(script=SCRIPT).batch_go_on, GoOn(done.batch))
    assert (again.counts.answered, again.failures) == (2, ())
    for task in (root / "staging").iterdir():
        assert (task / "inputs/cones.md").read_text() == source.read_text()
        assert (task / "run.jsonl").is_file()


@pytest.mark.parametrize("left", ["the last task is over", "the day log has its line", "the run has ended"])
def test_a_kill_after_the_last_task_leaves_a_batch_that_tells_its_end(
    make_service: Callable[..., Service], root: Path, left: str
) -> None:
    rows = BatchRequest("q.jsonl", data='{"text": "How hot?"}\n', agent="writer", answer=True, model="sonnet")
    done = anyio.run(make_service(script=SCRIPT).batch_run, rows)
    folder = root / f"batches/{done.batch}"
    written = {name: (folder / name).read_bytes() for name in ("report.md", "progress.svg")}
    for name in written:
        (folder / name).unlink()
    journal = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    kinds = [json.loads(line)["event"] for line in journal]
    assert kinds == ["run_started", "task_made", "task_over", "day_told", "run_ended"]
    if left != "the run has ended":
        (folder / "run.jsonl").write_text("".join(journal[: 3 if left == "the last task is over" else 4]))
        assert make_service().batch_status(done.batch).state == "stopped"
    again = anyio.run(make_service(script=SCRIPT).batch_go_on, GoOn(done.batch))
    assert (again.state, again.counts.answered, again.exit_code) == ("finished", 1, 0)
    assert make_service().batch_status(done.batch).state == "finished"
    assert (folder / "report.md").is_file() and (folder / "progress.svg").is_file()
    (log,) = (root / "memory").glob("2*.md")
    assert log.read_text().count("[batch]") == 1
