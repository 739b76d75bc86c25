"""Cancelling: tasks at work, in the queue, cut off, decided on; what they left waits for a person."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.cancelled import CancelResult
from onepen.orchestrator.errors import NoSuchTask
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.stop import StopSign
from onepen.orchestrator.tasks.journal import Journal
from onepen.subagents.pool import Assignment, Ending, Failed, Host
from onepen.testing.clock import FixedClock
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]
DRAFT = "---\ntarget: research/{task}.md\nedit: create\nprovenance: agent\n---\n# Found\n\n## What\n\nHot.\n"


class Slow(InProcessPool):
    """Workers that leave a draft and then take for ever."""

    async def made(self, assignment: Assignment, host: Host) -> Ending:
        self.assignments.append(assignment)
        assignment.drafts_folder.mkdir(parents=True, exist_ok=True)
        (assignment.drafts_folder / "found.md").write_text(DRAFT.format(task=assignment.task))
        await anyio.sleep_forever()
        raise AssertionError


@pytest.fixture
def pen(root: Path, clock: FixedClock) -> Iterator[HeldPen]:
    with HeldPen.open(View(open_workspace(root)), clock, wait=0.05) as held:
        yield held


def cancelled_at_work(service: Service, texts: tuple[str, ...], *ids: str) -> tuple[DelegateResult, CancelResult]:
    """What `delegate` and `cancel` answer when the tasks are cancelled as soon as all of them wait."""
    delegated: list[DelegateResult] = []
    cancelled: list[CancelResult] = []

    async def work() -> None:
        delegated.append(await service.delegate(DelegateRequest(texts)))

    async def whole() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                await anyio.wait_all_tasks_blocked()
                cancelled.append(await service.cancel_shared(ids))

    anyio.run(whole)
    return delegated[0], cancelled[0]


def events(root: Path, task: str) -> list[str]:
    journal = Journal(root / "staging" / task / "run.jsonl", FixedClock("2026-11-29T09:30:00+01:00"))
    return [type(event).__name__ for event in journal.events()]


def test_a_task_at_work_is_ended_and_its_draft_waits(make_service: MakeService, pen: HeldPen, root: Path) -> None:
    pool = Slow()
    service = make_service(pool=pool, pens=pen)
    delegated, came = cancelled_at_work(service, ("one",), "t1")
    [task] = came.tasks
    assert (task.status, task.reason, came.exit_code) == ("cancelled", "cancelled by user:ana", 0)
    assert [(d.id, d.status) for d in task.drafts] == [("t1-1", "waiting")]
    assert delegated.tasks == came.tasks and delegated.exit_code == 1
    assert events(root, "t1") == ["TaskAdded", "AttemptStarted", "Cancelled", "AttemptLost"]
    assert service.status().tasks == () and service.status().drafts_waiting == 1
    assert "its attempt ended before it was done" in (root / "staging/t1/review.md").read_text()
    assert service.approve(["t1-1"], sha256=task.drafts[0].sha256).exit_code == 0
    assert (root / "research/t1.md").exists()


def test_one_that_waits_for_a_place_never_begins(make_service: MakeService, pen: HeldPen, root: Path) -> None:
    pool = Slow()
    service = make_service(pool=pool, pens=pen)
    service._workshop().slots.total_tokens = 1
    delegated, came = cancelled_at_work(service, ("one", "two", "three"), "t2", "t3", "t1")
    assert [t.status for t in came.tasks] == ["cancelled"] * 3
    assert [t.status for t in delegated.tasks] == ["cancelled"] * 3
    assert len(pool.assignments) == 1
    assert service._workshop().at_work == {} and service._workshop().slots.borrowed_tokens == 0


def test_only_the_one_that_is_named_is_ended(make_service: MakeService, pen: HeldPen) -> None:
    class Half(Slow):
        async def made(self, assignment: Assignment, host: Host) -> Ending:
            if assignment.text == "two":
                return await InProcessPool.made(self, assignment, host)
            return await super().made(assignment, host)

    delegated, came = cancelled_at_work(make_service(pool=Half(), pens=pen), ("one", "two"), "t1")
    assert [t.task for t in came.tasks] == ["t1"]
    assert [t.status for t in delegated.tasks] == ["cancelled", "in_review"]


def test_without_an_orchestrator_what_it_left_is_cancelled(make_service: MakeService, root: Path) -> None:
    """Its orchestrator died: the attempt is lost, booked, and not done again."""

    stop = StopSign()

    class Dies(Slow):
        async def made(self, assignment: Assignment, host: Host) -> Ending:
            stop.press()
            stop.press()
            return await super().made(assignment, host)

    anyio.run(partial(make_service(pool=Dies()).delegate, DelegateRequest(("one",)), stop=stop))
    journal = root / "staging/t1/run.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:2]))
    service = make_service()
    assert service.status().tasks[0].status == "interrupted"
    before = (root / "staging/t1/run.jsonl").read_bytes()
    assert service.cancel(["t1"], dry_run=True).tasks[0].status == "cancelled"
    assert (root / "staging/t1/run.jsonl").read_bytes() == before
    came = service.cancel(["t1"])
    assert [(t.status, t.attempts) for t in came.tasks] == [("cancelled", 1)]
    assert service.status().tasks == ()


def test_a_task_that_failed_is_put_away_and_can_be_resumed(make_service: MakeService) -> None:
    failing = make_service(pool=InProcessPool(instead=lambda a: Failed("crash", 1, None, 0.1)))
    anyio.run(partial(failing.delegate, DelegateRequest(("one",))))
    assert failing.status().tasks[0].status == "quarantined"
    assert failing.cancel(["t1"]).exit_code == 0
    assert failing.status().tasks == ()
    again = failing.cancel(["t1"])
    assert (again.exit_code, again.notices) == (0, ("t1: it was cancelled before",))
    [task] = anyio.run(partial(make_service().resume, "t1")).tasks
    assert task.status == "in_review"


def test_a_task_that_waits_for_a_person_is_at_nobody_s_work(make_service: MakeService, root: Path) -> None:
    service = make_service()
    anyio.run(partial(service.delegate, DelegateRequest(("one",))))
    before = (root / "staging/t1/run.jsonl").read_bytes()
    came = service.cancel(["t1"])
    assert (came.exit_code, came.tasks[0].status) == (1, "in_review")
    assert came.notices == ("t1: nobody is at work on it, it is in review (next: onepen reject t1-1 -m REASON)",)
    assert (root / "staging/t1/run.jsonl").read_bytes() == before


def test_one_that_is_not_there_keeps_all_as_they_are(make_service: MakeService, root: Path) -> None:
    failing = make_service(pool=InProcessPool(instead=lambda a: Failed("crash", 1, None, 0.1)))
    anyio.run(partial(failing.delegate, DelegateRequest(("one",))))
    with pytest.raises(NoSuchTask):
        failing.cancel(["t1", "nothere"])
    assert failing.status().tasks[0].status == "quarantined"
