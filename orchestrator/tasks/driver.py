"""Carries out what the plan says: attempts, reviews and commits of several tasks side by side.

The driver decides nothing. It takes the first instruction that is due, does it, journals the event that came of it,
and asks the plan again. Whatever goes wrong in one attempt ends that attempt only; a pen that is lost ends the run.

A task is seen through by one driver at a time. Whoever wants it to go on meanwhile journals what they want and waits:
the driver at work reads the journal before each decision.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import anyio

from ...memory.clock import Clock
from ...memory.errors import OnepenError
from ...memory.ids import AgentId, DraftId
from ...memory.links import LinkLeadsOut
from ...memory.snapshot import Snapshot
from ...memory.view import View
from ...memory.workspace import Space, Workspace
from ...staging.verdict import Escalated, moved_on
from ...subagents.definition import AgentDefinition
from ..commit import Scribe, Written
from ..errors import Parked, PutOff
from ..gateway.account import Account
from ..gateway.ledger import OverBudget
from ..premises import Lines
from ..results import TaskStatus
from ..review.judge import Appointed, Judge, judged_by
from ..review.reviewer import CHECKS, Examined, Reviewer
from ..review.reviewfile import write_review
from ..review.ruling import Opinion, ruling
from ..settings.models import Models
from ..stop import StopSign
from .attempt import Attempt
from .atwork import AtWork
from .booked import attempt_bookings, review_bookings
from .dossier import Dossier
from .events import AttemptEvent, AttemptFailed, AttemptLost, AttemptStarted, Event, Judged
from .plan import AskPerson, Commit, DraftState, Instruction, Review, Spawn, Stop, due
from .taskstate import TaskState
from .transcript import Spent
from .waiting import Say
from .workshop import Workshop

T = TypeVar("T")
Accounts = Callable[[Dossier, AgentId], Account]
"""On whose account an agent works for a task."""
Judging = Callable[[Dossier], Appointed]
"""Who judges the drafts of a task."""
Pinned = Callable[[Dossier], Snapshot | None]
"""What the workers of a task start from, where that is not what memory is at the moment."""


@dataclass
class _Running:
    """A task that is worked on; `dossier` is replaced at each event."""

    dossier: Dossier
    at_work: AtWork = field(default_factory=AtWork)
    judged: dict[DraftId, Examined] = field(default_factory=dict)
    """Drafts as they were when they were judged, as long as nothing else was done since."""

    async def happened(self, event: Event, first: Lines = ()) -> None:
        with anyio.CancelScope(shield=True):  # what is told to the journal is known here, whoever gives up meanwhile
            self.dossier = await self.dossier.happened_aside(event, first)

    def refresh(self) -> None:
        self.dossier = self.dossier.refreshed()

    def stands(self) -> tuple[TaskStatus, str]:
        return self.dossier.state.status, self.dossier.state.reason

    def draft(self, id_: str) -> DraftState:
        draft = self.dossier.state.draft(id_)
        assert draft is not None, "an instruction names a draft of its task"
        return draft


class Driver:
    """Works on tasks, with the pen held, until nothing is left to do without a person.

    `notices` say what failed after a commit stood, `short` which cap that a batch's tasks share paid for no review.
    """

    def __init__(
        self,
        workspace: Workspace,
        view: View,
        clock: Clock,
        workshop: Workshop,
        models: Models,
        accounts: Accounts,
        judging: Judging,
        agents: Callable[[AgentId], AgentDefinition],
        scribe: Scribe,
        say: Say,
        stop: StopSign,
        reviewer: Callable[[Space], Reviewer] | None = None,
        pinned: Pinned = lambda dossier: None,
    ) -> None:
        self._pinned = pinned
        self._workspace = workspace
        self._view = view
        self._clock = clock
        self._workshop = workshop
        self._models = models
        self._accounts = accounts
        self._judging = judging
        self._agents = agents
        self._scribe = scribe
        self._stop = stop

        def heard(dossier: Dossier, text: str, *, lasting: bool = False, ended: bool = False) -> None:
            if not ended:
                workshop.roster.says(dossier.task, text)
            say(dossier, text, lasting=lasting, ended=ended)

        self._say: Say = heard
        self._new_reviewer = reviewer or (lambda space: Reviewer(view, space, lambda: clock.now().date()))
        self._reviewers: dict[str, Reviewer] = {}
        self._told: set[str] = set()
        self.notices: tuple[str, ...] = ()
        self.short = ""

    async def run(self, tasks: Sequence[Dossier]) -> tuple[Dossier, ...]:
        """The dossiers after all that could be done; those of a stopped run are interrupted and can be resumed.

        Raises RecoveryNeeded, PenLost or an OSError: what was journalled until then stands.
        """
        running = [_Running(dossier) for dossier in tasks]
        over: list[_Running] = []

        async def see_through(task: _Running) -> None:
            await self._see_through(task)
            over.append(task)
            told_by_the_answer = len(over) == len(running)  # the last one, and one alone
            if not told_by_the_answer and not self._stop.presses:
                self._say(task.dossier, _became(task.dossier.state, len(over), len(running)), lasting=True, ended=True)

        with (
            anyio.CancelScope() as scope,
            self._stop.heard_by(lambda: scope.cancel() if self._stop.presses > 1 else None),
        ):
            try:
                async with anyio.create_task_group() as group:
                    for task in running:
                        group.start_soon(see_through, task)
            except BaseExceptionGroup as several:
                raise _first_of(several) from several
        return tuple(task.dossier for task in running)

    def over(self, dossier: Dossier) -> None:
        """Nobody will ask for this task again: what its drafts were examined by need not be kept."""
        self._reviewer(dossier).over(dossier)

    async def _see_through(self, task: _Running) -> None:
        """The task to its end here, or, while another driver is at it, to the end that it comes to there."""
        at_work, id_ = self._workshop.at_work, task.dossier.task
        while (other := at_work.get(id_)) is not None:
            with anyio.CancelScope() as patience, self._stop.heard_by(patience.cancel):
                if self._stop.presses:
                    patience.cancel()
                await other.done.wait()
            if patience.cancelled_caught:
                task.refresh()
                return
        task.refresh()
        task.at_work = at_work[id_] = AtWork()
        try:
            await self._work(task)
        finally:
            at_work.pop(id_).done.set()

    async def _work(self, task: _Running) -> None:
        async with self._place(task) as given:
            while given:
                task.refresh()
                instruction = _first(due(task.dossier.state))
                if instruction is None or (isinstance(instruction, Spawn) and self._stop.presses):
                    break
                before = task.dossier.state
                try:
                    await self._carry_out(task, instruction)
                except Parked:  # a review whose answer is to come: the task goes on with it
                    break
                except PutOff as e:
                    self.short = e.message
                    break
                except LinkLeadsOut as e:  # put there while the task ran: its end, and no other task's
                    self.notices += (e.message,)
                    return
                turned_back = isinstance(instruction, Spawn) and self._stop.presses
                assert turned_back or task.dossier.state != before, f"{instruction} led to nothing"
        if task.dossier.state.drafts:
            reviewer = self._reviewer(task.dossier)
            self.notices += write_review(task.dossier, reviewer, self._clock.now(), task.judged)

    @asynccontextmanager
    async def _place(self, task: _Running) -> AsyncIterator[bool]:
        """One of the places to work at, for as long as it lasts; False for a task that was cancelled meanwhile."""
        given = False
        with task.at_work.broken_off():
            await self._workshop.slots.acquire()
            given = True
        if not given:
            yield False
            return
        try:
            with self._workshop.roster.at_work(task.dossier, self._now(), task.stands):
                yield True
        finally:
            self._workshop.slots.release()

    async def _carry_out(self, task: _Running, instruction: Instruction) -> None:
        match instruction:
            case Spawn():
                task.judged.clear()
                if await self._may_start(task):
                    try:
                        await self._attempt(task, instruction)
                    finally:
                        self._workshop.gate.ended(task.dossier.task, crashed=None)
            case Review(draft=id_):
                with task.at_work.broken_off():
                    await self._review(task, id_)
                task.refresh()  # broken off, it leaves what broke it off
            case Commit(draft=id_, verdict=verdict):
                task.judged.clear()
                draft = task.draft(id_)
                reviewer = self._reviewer(task.dossier)
                examined = reviewer.examine(task.dossier, draft)
                event, came = await self._scribe.carry_out_shared(task.dossier, draft, verdict, examined)
                reviewer.forget(examined.draft.target if isinstance(came, Written) and examined.draft else None)
                if isinstance(came, Written):
                    task.dossier, failure = task.dossier.happened_already(event, came.commit)
                    self.notices += failure
                else:
                    await task.happened(event)
            case Stop(attempt=attempt):
                await task.happened(AttemptLost(attempt, "it was cancelled"))
            case AskPerson():
                raise AssertionError("a person is asked by commands, never by the driver")

    async def _review(self, task: _Running, id_: DraftId) -> None:
        """Checks, policy and, where the policy asks for it, a model; what a person decided meanwhile stands."""
        draft, reviewer = task.draft(id_), self._reviewer(task.dossier)
        examined = reviewer.examine(task.dossier, draft)
        verdict = ruling(examined)
        if verdict is None:
            verdict = ruling(examined, await self._opinion(task.dossier, draft, examined))
            assert verdict is not None, "with an opinion there is a verdict"
            task.refresh()
            draft = task.draft(id_)
            if draft.reviewed or draft.status != "waiting":
                return
            now = reviewer.examine(task.dossier, draft)
            if (moved := moved_on(examined.bound, now.bound)) is not None:
                examined, verdict = now, Escalated(CHECKS, now.bound, f"a person decides: {moved} to a model")
        by = "the checks" if verdict.reviewer == CHECKS else verdict.reviewer
        self._say(task.dossier, f"{draft.id}: {verdict.word.replace('_', ' ')} by {by}")
        task.judged[draft.id] = examined
        await task.happened(Judged(draft.id, verdict, examined.findings))

    async def _opinion(self, dossier: Dossier, draft: DraftState, examined: Examined) -> Opinion:
        """What the reviewing model says; whatever keeps it from speaking is no consent."""
        self._say(dossier, f"{draft.id}: a model is asked to judge it")
        try:
            return await _within(
                self._asked(dossier, draft, examined),
                lambda e: Opinion(judged_by(dossier.sheet.model), "none", _told(e)),
            )
        finally:
            with anyio.CancelScope(shield=True):
                booked = tuple(review_bookings(dossier, draft.attempt))
                cashbook = self._workshop.cashbook(dossier.space)
                await cashbook.add(booked, self._clock.now(), dossier.sheet.created)

    async def _asked(self, dossier: Dossier, draft: DraftState, examined: Examined) -> Opinion:
        appointed = self._judging(dossier)
        definition = appointed.definition
        served = self._models(appointed.model, definition, dossier.space.client)
        account = self._accounts(dossier, definition.id)
        judge = Judge(self._view, self._workshop, self._say, self._pinned)
        try:
            return await judge.opinion(dossier, draft.attempt, examined, appointed, served, account)
        except OverBudget as e:
            if account.shared is not None and e.short.cap != "task":
                raise PutOff(e.message) from e
            raise

    async def _attempt(self, task: _Running, spawn: Spawn) -> None:
        """One attempt from its start in the journal to its end there, however it ends."""
        dossier = task.dossier
        definition = self._agents(dossier.sheet.agent)
        served = self._models(dossier.sheet.model, definition, dossier.space.client)
        account = self._accounts(dossier, definition.id)
        await task.happened(AttemptStarted(spawn.attempt))
        self._workshop.roster.begins(dossier.task, spawn.attempt, self._now())
        self._say(dossier, f"attempt {spawn.attempt} started")
        attempt = Attempt(
            self._workspace,
            self._view,
            self._workshop,
            definition,
            served,
            account,
            dossier,
            self._clock,
            partial(self._say, dossier),
            self._pinned(dossier),
        )
        stop = partial(self._workshop.pool.stop, dossier.task, spawn.attempt)
        try:
            with task.at_work.ended_by(stop):
                event = await _within(attempt.run(spawn), lambda e: AttemptFailed(spawn.attempt, _told(e), again=False))
        except anyio.get_cancelled_exc_class():
            await self._ended(task, AttemptLost(spawn.attempt, "it was stopped"), attempt.spent)
            raise
        await self._ended(task, event, attempt.spent)

    async def _may_start(self, task: _Running) -> bool:
        """Waits while workers crash one after the other; False where it was cancelled or stopped meanwhile."""

        def say(words: str) -> None:
            if words in self._told:  # a person hears it once for all tasks of a request
                self._workshop.roster.says(task.dossier.task, words)
            else:
                self._told.add(words)
                self._say(task.dossier, words, lasting=True)

        gate, id_ = self._workshop.gate, task.dossier.task
        if gate.passed(id_):
            return True
        passed = False
        with (
            task.at_work.broken_off(),
            anyio.CancelScope() as patience,
            self._stop.heard_by(patience.cancel),
        ):
            await gate.pass_by(id_, say)
            passed = True
        task.refresh()
        return passed

    async def _ended(self, task: _Running, event: AttemptEvent, spent: Spent | None) -> None:
        """What it cost is on the disk before its end is journalled, so that it is never forgotten."""
        crashed = None if isinstance(event, AttemptLost) else isinstance(event, AttemptFailed) and event.again
        self._workshop.gate.ended(task.dossier.task, crashed=crashed, reason=getattr(event, "reason", ""))
        booked = attempt_bookings(task.dossier, event.attempt, getattr(event, "seconds", 0.0), spent)
        cashbook = self._workshop.cashbook(task.dossier.space)
        await task.happened(event, cashbook.due(booked, self._clock.now(), task.dossier.sheet.created))
        if isinstance(event, AttemptFailed):
            self._say(task.dossier, f"attempt {event.attempt} failed: {event.reason}")

    def _now(self) -> str:
        return self._clock.now().isoformat(timespec="seconds")

    def _reviewer(self, dossier: Dossier) -> Reviewer:
        space = dossier.space
        if space.prefix not in self._reviewers:
            self._reviewers[space.prefix] = self._new_reviewer(space)
        return self._reviewers[space.prefix]


async def _within(work: Awaitable[T], otherwise: Callable[[Exception], T]) -> T:
    """What `work` comes to, and what its failure does: that of one task, of whatever kind, is not another's."""
    try:
        return await work
    except (Parked, PutOff):
        raise
    except Exception as e:  # noqa: BLE001
        return otherwise(e)


def _told(error: Exception) -> str:
    """Why an attempt failed, in one line for people, with the next command where there is one."""
    if isinstance(error, OnepenError):
        return str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"the disk or system refused it: {place}{error.strerror or 'no reason given'}"
    reason = str(error).splitlines()[0] if str(error) else "no reason given"
    return f"a bug of onepen or its model ({type(error).__name__}: {reason})"


def _first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error that ended the run, out of the groups that task groups put around it."""
    first = several.exceptions[0]
    return _first_of(first) if isinstance(first, BaseExceptionGroup) else first


def _first(instructions: Sequence[Instruction]) -> Instruction | None:
    return next((i for i in instructions if not isinstance(i, AskPerson)), None)


def _became(state: TaskState, over: int, of: int) -> str:
    """What became of one of several tasks, and how many of them are over."""
    drafts = f", {len(state.drafts)} draft{'s' * (len(state.drafts) > 1)}" if state.drafts else ""
    reason = f": {state.reason}" if state.reason else ""
    return f"{state.status}{drafts}{reason} ({over} of {of} done)"
