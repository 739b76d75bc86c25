"""One task in several hands of one process: its journal is the truth that all of them share."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from onepen.memory.ids import AgentId, TaskId
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.commit import Scribe
from onepen.orchestrator.gateway.account import Account, Caps
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.review.judge import REVIEWER, Appointed
from onepen.orchestrator.settings.models import Resolver
from onepen.orchestrator.stop import StopSign
from onepen.orchestrator.tasks.desk import Desk
from onepen.orchestrator.tasks.dossier import Dossier, open_dossier
from onepen.orchestrator.tasks.driver import Driver
from onepen.orchestrator.tasks.events import AttemptStarted, Cancelled, Shown
from onepen.orchestrator.tasks.workshop import Workshop
from onepen.staging.folder import TaskSheet
from onepen.staging.verdict import Bound
from onepen.subagents.definition import AgentDefinition, parse_definition
from onepen.subagents.pool import Assignment, Ending, Host
from onepen.testing.clock import FixedClock
from onepen.testing.pool import InProcessPool

RESEARCHER = AgentId("researcher")


@dataclass
class Office:
    """A workspace, its pen and one workshop; each call of `drive` is another command's driver."""

    root: Path
    clock: FixedClock
    meanwhile: Callable[[Dossier], Awaitable[None]] | None = None
    stop: StopSign = field(default_factory=StopSign)
    started: int = 0

    def __post_init__(self) -> None:
        self.view = View(open_workspace(self.root))
        self.desk = Desk(self.view, self.clock)
        self.space = self.view.workspace.space(None)
        self.workshop = Workshop(_Pool(self), Gateway())

    def task(self, id_: str) -> Dossier:
        sheet = TaskSheet(
            task=TaskId(id_),
            agent=RESEARCHER,
            client=None,
            project=None,
            target="research/when.md",
            text="When?",
            created="2026-11-29T09:30:00+01:00",
        )
        return self.desk.make(self.space, sheet, ())[0]

    def reopened(self, dossier: Dossier) -> Dossier:
        return open_dossier(dossier.space, dossier.task, self.clock)

    async def drive(self, tasks: Sequence[Dossier], scribe: Scribe, stop: StopSign | None = None) -> Sequence[Dossier]:
        driver = Driver(
            self.view.workspace,
            self.view,
            self.clock,
            self.workshop,
            Resolver(),
            lambda dossier, agent: Account(None, dossier.task, agent, Caps()),
            lambda dossier: Appointed(self._agent(REVIEWER), dossier.sheet.model),
            self._agent,
            scribe,
            lambda dossier, text, lasting=False, ended=False: None,
            stop or self.stop,
        )
        return await driver.run(tasks)

    def _agent(self, agent: AgentId) -> AgentDefinition:
        text = self.view.text(f"agents/{agent}.md")
        assert text is not None
        return parse_definition(agent, text)


class _Pool(InProcessPool):
    def __init__(self, office: Office) -> None:
        super().__init__()
        self._office = office

    async def run(self, assignment: Assignment, host: Host) -> Ending:
        self._office.started += 1
        if self._office.meanwhile is not None:
            await self._office.meanwhile(open_dossier(self._office.space, assignment.task, self._office.clock))
        return await super().run(assignment, host)


def test_a_dossier_learns_what_others_have_journalled(root: Path, clock: FixedClock) -> None:
    office = Office(root, clock)
    one = office.task("t1").refreshed()
    assert one.refreshed() is one
    other = office.reopened(one).happened(AttemptStarted(1))
    assert (one.state.phase, one.refreshed().state.phase) == ("queued", "running")
    after = one.happened(Cancelled("enough"))
    assert (after.state.phase, after.state.attempt) == ("cancelled", 1)
    assert after.refreshed() is after
    assert other.refreshed().state == after.state == office.reopened(one).state


def test_a_journal_that_was_swapped_meanwhile_takes_nothing_away(root: Path, clock: FixedClock) -> None:
    office = Office(root, clock)
    one = office.task("t1").happened(AttemptStarted(1))
    journal = root / "staging/t1/run.jsonl"
    added, _ = journal.read_text().splitlines()
    journal.write_text(added + "\n" + " " * 4_000 + "\n")
    assert one.refreshed().state == one.state
    journal.unlink()
    assert one.refreshed().state == one.state


def test_the_driver_reads_the_journal_before_each_decision(root: Path, clock: FixedClock) -> None:
    """Cancelled while its worker runs: its drafts are there, and nothing more is done with the task."""

    async def cancel(dossier: Dossier) -> None:
        dossier.happened(Cancelled("enough"))

    office = Office(root, clock, cancel)

    async def whole() -> Sequence[Dossier]:
        with office.desk.scribe() as scribe:
            return await office.drive([office.task("t1")], scribe)

    [done] = anyio.run(whole)
    assert (done.state.phase, done.state.alive) == ("cancelled", 0)
    assert office.reopened(done).state == done.state


def test_a_task_is_seen_through_by_one_driver_and_the_other_waits_for_it(root: Path, clock: FixedClock) -> None:
    waits = anyio.Event()

    async def hold(dossier: Dossier) -> None:
        with anyio.fail_after(5):
            await waits.wait()

    office = Office(root, clock, hold)
    ends: list[Sequence[Dossier]] = []

    async def drive(tasks: Sequence[Dossier], scribe: Scribe) -> None:
        ends.append(await office.drive(tasks, scribe))

    async def whole() -> None:
        task = office.task("t1")
        with office.desk.scribe() as scribe:
            async with anyio.create_task_group() as group:
                group.start_soon(drive, [task], scribe)
                await anyio.wait_all_tasks_blocked()
                group.start_soon(drive, [office.reopened(task)], scribe)
                await anyio.wait_all_tasks_blocked()
                assert ends == []
                waits.set()

    anyio.run(whole)
    assert office.started == 1
    assert [d.state.attempt for [d] in ends] == [1, 1]
    assert ends[0][0].state == ends[1][0].state
    assert office.workshop.at_work == {}


def test_who_waits_for_another_s_work_may_leave(root: Path, clock: FixedClock) -> None:
    async def hold(dossier: Dossier) -> None:
        await anyio.sleep_forever()

    office, mine = Office(root, clock, hold), StopSign()

    async def whole() -> None:
        task = office.task("t1")
        with office.desk.scribe() as scribe:
            async with anyio.create_task_group() as group:
                group.start_soon(office.drive, [task], scribe)
                await anyio.wait_all_tasks_blocked()
                mine.press()
                with anyio.fail_after(5):
                    [left] = await office.drive([office.reopened(task)], scribe, mine)
                assert left.state.phase == "running"
                office.stop.press()
                office.stop.press()

    anyio.run(whole)


def test_what_a_person_is_shown_meanwhile_is_not_lost(root: Path, clock: FixedClock) -> None:
    office = Office(root, clock)

    async def whole() -> Sequence[Dossier]:
        with office.desk.scribe() as scribe:
            return await office.drive([office.task("t1")], scribe)

    [done] = anyio.run(whole)
    [draft] = done.state.drafts
    seen = Bound("e" * 64, "")
    office.reopened(done).happened(Shown(draft.id, seen))
    after = done.happened(Cancelled("enough")).state.draft(draft.id)
    assert after is not None and after.shown == seen
