"""Several people at one orchestrator: requests side by side in one event loop, with one held pen and one workshop."""

import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from onepen.memory.commit.pen import PenLost
from onepen.memory.errors import MemoryFault
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.compose import build_orchestrator, build_service
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult, TaskView
from onepen.orchestrator.service import Service
from onepen.orchestrator.stop import StopSign
from onepen.subagents.pool import Assignment, Ending, Host, Reported
from onepen.testing.clock import FixedClock
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]


class Held(InProcessPool):
    """Workers that leave one finding for each attempt, and wait to be let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = anyio.Event()

    async def run(self, assignment: Assignment, host: Host) -> Ending:
        self.assignments.append(assignment)
        with anyio.fail_after(20):
            await self.go.wait()
        assignment.drafts_folder.mkdir(parents=True, exist_ok=True)
        target = f"research/{assignment.task}-{assignment.attempt}.md"
        text = f"---\ntarget: {target}\nedit: create\nprovenance: agent\n---\n# Found\n\n## What\n\nHot.\n"
        (assignment.drafts_folder / "found.md").write_text(text)
        return Reported("done", None, True, 0.1)


@pytest.fixture
def broken() -> list[MemoryFault]:
    return []


@pytest.fixture
def pen(root: Path, clock: FixedClock, broken: list[MemoryFault]) -> Iterator[HeldPen]:
    with HeldPen.open(View(open_workspace(root)), clock, wait=0.05, on_broken=broken.append) as held:
        yield held


@pytest.fixture
def pool() -> Held:
    return Held()


@pytest.fixture
def service(make_service: MakeService, pen: HeldPen, pool: Held) -> Service:
    return make_service(pens=pen, pool=pool, script=[])


def side_by_side(
    *jobs: Callable[[], Awaitable[DelegateResult]], meanwhile: Callable[[], None], pool: Held
) -> list[DelegateResult]:
    """What the jobs come to; `meanwhile` is called when all of them wait for their workers."""
    ends: dict[int, DelegateResult] = {}

    async def one(number: int, job: Callable[[], Awaitable[DelegateResult]]) -> None:
        ends[number] = await job()

    async def whole() -> None:
        async with anyio.create_task_group() as group:
            for number, job in enumerate(jobs):
                group.start_soon(one, number, job)
                await anyio.wait_all_tasks_blocked()
            meanwhile()
            for _ in range(20):  # what it set off gets its turn
                await anyio.lowlevel.checkpoint()
            pool.go.set()

    anyio.run(whole)
    return [ends[number] for number in range(len(jobs))]


def asked(service: Service, *texts: str, **options: object) -> Callable[[], Awaitable[DelegateResult]]:
    return partial(service.delegate, DelegateRequest(texts), **options)  # type: ignore[arg-type]


def commits(service: Service) -> list[int]:
    return [int(c.id.partition("-")[0].removeprefix("c")) for c in service.history().commits]


def test_people_work_write_and_decide_side_by_side(service: Service, pool: Held, root: Path) -> None:
    pool.go.set()
    [first] = side_by_side(asked(service, "one"), meanwhile=lambda: None, pool=pool)
    pool.go = anyio.Event()
    waiting = first.tasks[0].drafts[0].id

    def meanwhile() -> None:
        service.log("called Ana")
        service.add_project("Kiln")
        assert service.approve([waiting]).exit_code == 0

    results = side_by_side(asked(service, "two", "three"), asked(service, "four"), meanwhile=meanwhile, pool=pool)
    assert [t.status for result in results for t in result.tasks] == ["in_review"] * 3
    assert service.approve([d.id for d in service.drafts().drafts]).exit_code == 0
    assert len(list((root / "research").glob("t*.md"))) == 4
    assert commits(service) == sorted(set(commits(service)), reverse=True)
    assert not [p for p in service.doctor().problems if p.level != "info"]


def test_tasks_are_told_as_soon_as_they_are_on_the_disk(service: Service, pool: Held, root: Path) -> None:
    told: list[tuple[TaskView, ...]] = []

    def made(tasks: tuple[TaskView, ...]) -> None:
        assert not pool.assignments
        assert all((root / "staging" / task.task / "task.md").exists() for task in tasks)
        told.append(tasks)

    side_by_side(asked(service, "one", "two", on_made=made), meanwhile=lambda: None, pool=pool)
    [tasks] = told
    assert [(t.task, t.status, t.attempts) for t in tasks] == [("t1", "queued", 0), ("t2", "queued", 0)]


def test_resuming_a_task_at_work_waits_for_it(service: Service, pool: Held) -> None:
    one, other = side_by_side(asked(service, "one"), partial(service.resume, "t1"), meanwhile=lambda: None, pool=pool)
    assert len(pool.assignments) == 1
    assert one.tasks == other.tasks
    assert other.tasks[0].status == "in_review"


def test_a_draft_that_is_sent_back_while_another_round_runs_gets_its_own_round(service: Service, pool: Held) -> None:
    pool.go.set()
    side_by_side(asked(service, "one"), meanwhile=lambda: None, pool=pool)
    pool.go = anyio.Event()
    again = partial(service.send_back, ["t1-1"], "hotter, please")
    cooler = partial(service.send_back, ["t1-1"], "cooler, please")
    results = side_by_side(again, cooler, meanwhile=lambda: None, pool=pool)
    assert {result.tasks[0].attempts for result in results} == {2}
    assert [d.status for d in results[1].tasks[0].drafts] == ["sent_back", "waiting"]


def test_a_draft_may_be_approved_after_all_while_it_is_done_anew(service: Service, pool: Held, root: Path) -> None:
    pool.go.set()
    side_by_side(asked(service, "one"), meanwhile=lambda: None, pool=pool)
    pool.go = anyio.Event()

    def approve() -> None:
        assert service.approve(["t1-1"]).decisions[0].outcome == "committed"

    [result] = side_by_side(partial(service.send_back, ["t1-1"], "hotter"), meanwhile=approve, pool=pool)
    assert [d.status for d in result.tasks[0].drafts] == ["committed", "waiting"]
    assert (root / "research/t1-1.md").exists()


def test_who_only_waits_may_leave_and_the_work_goes_on(service: Service, pool: Held) -> None:
    stop = StopSign()
    one, left = side_by_side(
        asked(service, "one"), partial(service.resume, "t1", stop=stop), meanwhile=stop.press, pool=pool
    )
    assert (one.tasks[0].status, left.tasks[0].status) == ("in_review", "running")


def test_a_pen_that_is_lost_ends_every_request_and_is_told_once(
    make_service: MakeService, pen: HeldPen, root: Path, tmp_path: Path, broken: list[MemoryFault]
) -> None:
    pool = _Quoting()
    service = make_service(pens=pen, pool=pool)
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at 1222 degrees.\nCone 10 was reached at 1285 degrees.\n")

    async def one(text: str) -> None:
        with pytest.raises(PenLost):
            await service.delegate(DelegateRequest((text,), inputs=(source,), review="auto"))

    async def whole() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(one, "At how many degrees was cone 6 reached?")
            group.start_soon(one, "At how many degrees was cone 10 reached?")
            await anyio.wait_all_tasks_blocked()
            (root / ".onepen/pen.lock").unlink()
            pool.go.set()

    anyio.run(whole)
    assert len(broken) == 1


class _Quoting(Held):
    """The worker's own loop, held until it is let go."""

    async def run(self, assignment: Assignment, host: Host) -> Ending:
        await self.go.wait()
        return await InProcessPool.run(self, assignment, host)


# -- beginning ---------------------------------------------------------------------------------------------------------


def interrupted(make_service: MakeService, root: Path) -> None:
    """A task whose orchestrator died while an attempt ran: its last line says that it started, and a call was paid."""
    pool = Held()
    pool.go.set()
    anyio.run(make_service(pool=pool, script=[]).delegate, DelegateRequest(("one",)))
    journal = root / "staging/t1/run.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    assert '"attempt_started"' in lines[1]
    journal.write_text("".join(lines[:2]))
    reply = {"kind": "reply", "request": "x", "reused": False, "stop_reason": "end_turn", "content": [], "model": "m"}
    usage = {"input": 700, "cache_write": 0, "cache_read": 0, "output": 30}
    transcript = root / "staging/t1/1/transcript.jsonl"
    with transcript.open("a") as file:
        file.write(json.dumps({"v": 1, **reply, "usage": usage, "cost_usd": 0.25}) + "\n")
    for log in (root / "logs").glob("usage-*"):
        log.unlink()


def test_what_died_with_the_last_orchestrator_is_booked_and_told_when_the_next_begins(
    make_service: MakeService, root: Path, clock: FixedClock
) -> None:
    interrupted(make_service, root)
    assert make_service().status().spend_today_usd == 0

    async def begin() -> tuple[str, ...]:
        async with build_orchestrator(root, clock=clock) as orchestrator:
            [task] = orchestrator.service.status().tasks
            assert (task.status, task.cost_usd) == ("interrupted", 0.25)
            return orchestrator.notices

    assert anyio.run(begin) == ("t1 was interrupted and keeps what it has (next: onepen resume t1)",)
    assert make_service().status().spend_today_usd == 0.25
    assert anyio.run(begin) == ()


def test_one_task_that_can_not_be_written_keeps_no_orchestrator_from_beginning(
    make_service: MakeService, root: Path, clock: FixedClock
) -> None:
    interrupted(make_service, root)
    (root / "logs").rename(root / "elsewhere")
    (root / "logs").write_text("in the way\n")

    async def begin() -> tuple[str, ...]:
        async with build_orchestrator(root, clock=clock) as orchestrator:
            return orchestrator.notices

    [told] = anyio.run(begin)
    assert told.startswith("t1 was interrupted, but that could not be noted")


def test_a_command_that_is_the_orchestrator_itself_does_the_same(make_service: MakeService, root: Path) -> None:
    interrupted(make_service, root)
    pool = Held()
    pool.go.set()
    anyio.run(make_service(pool=pool, script=[]).delegate, DelegateRequest(("two",)))
    assert make_service().status().spend_today_usd == 0.25
    assert '"attempt_lost"' in (root / "staging/t1/run.jsonl").read_text()


def test_an_attempt_of_an_earlier_orchestrator_does_not_run(
    make_service: MakeService, root: Path, clock: FixedClock
) -> None:
    """Also where it is too old to be looked at when the next one begins."""
    interrupted(make_service, root)
    clock.move(timedelta(seconds=60))
    with HeldPen.open(View(open_workspace(root)), clock):
        assert [t.status for t in make_service().status().tasks] == ["interrupted"]


def test_an_orchestrator_has_the_pen_and_puts_it_down(root: Path) -> None:
    async def whole() -> None:
        async with build_orchestrator(root) as orchestrator:
            orchestrator.service.log("one")
            assert build_service(root).status().orchestrator is not None

    anyio.run(whole)
    assert build_service(root).status().orchestrator is None
