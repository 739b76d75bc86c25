"""`--dry-run`: a command carried out at a desk that writes nothing, and its result told as what would happen.

Every check, every choice and every text comes from the code of the real run. What a model would answer is not asked,
so a task is told up to the point where its worker would start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...memory.clock import Clock
from ...memory.ids import CardId, TaskId
from ...memory.target import CardTarget, parse_target
from ...memory.workspace import Space, Workspace
from ...staging.folder import TaskFolder, TaskSheet, look_at_inputs
from ...staging.policy import Stage, stages
from ..commit import Foreseen, Scribe
from ..premises import Lines
from ..results import TaskView
from ..settings.models import judges
from ..settings.redact import Known
from .desk import Desk
from .dossier import EVERYWHERE, Dossier, Scope, added
from .events import Event
from .journal import Entry, Journal
from .plan import AskPerson, Commit, DraftState, Review, Spawn, due, replay, step

_SOME_CARD = CardId("card")  # where the model chooses the place, the policy is asked for a new finding


class Unwritten(Journal):
    """A task's journal whose new events are kept in memory."""

    def __init__(self, path: Path, clock: Clock) -> None:
        super().__init__(path, clock)
        self.added: list[Event] = []

    def append(self, event: Event, *, sync: bool = True) -> int:
        self.added.append(event)
        return 0

    async def append_aside(self, event: Event, first: Lines = ()) -> int:
        return self.append(event)

    def grown(self, size: int) -> bool:
        return False


class RehearsalDesk(Desk):
    """Takes no pen and writes nothing; what happened at it is remembered as long as it stands."""

    rehearsed = True

    def __init__(
        self, workspace: Workspace, clock: Clock, scope: Scope = EVERYWHERE, *, known: Known | None = None
    ) -> None:
        self._foreseen = Foreseen(workspace)
        super().__init__(self._foreseen, clock, scope, known=known)
        self._journals: dict[TaskId, Unwritten] = {}

    def scribe(self) -> Scribe:
        return Scribe.rehearse(self._foreseen, self.clock, known=self._known)

    def find_task(self, prefix: str) -> Dossier:
        return self._remembered(super().find_task(prefix))

    def find_draft(self, prefix: str) -> tuple[Dossier, DraftState]:
        found, draft = super().find_draft(prefix)
        dossier = self._remembered(found)
        return dossier, dossier.state.draft(draft.id) or draft

    def make(
        self, space: Space, sheet: TaskSheet, inputs: Sequence[Path], papers: Sequence[tuple[str, str]] = ()
    ) -> tuple[Dossier, tuple[str, ...]]:
        copied, left_out = look_at_inputs(inputs)
        names = (*copied, *(name for name, _ in papers))
        folder = TaskFolder(space.staging(sheet.task))
        event = added(sheet)
        entries = (Entry(sheet.created, event),)
        journal = Unwritten(folder.run_journal, self.clock)
        return Dossier(space, replace(sheet, inputs=names), folder, replay([event]), entries, (), journal), left_out

    async def keep(self, made: Sequence[Dossier]) -> None:
        """Nothing is on its way to the disk."""

    def book(self, dossier: Dossier, attempt: int) -> None:
        """What it cost is booked by the real run."""

    def note_review(self, dossier: Dossier) -> tuple[str, ...]:
        """review.md stays as it is."""
        return ()

    def _remembered(self, dossier: Dossier) -> Dossier:
        journal = self._journals.setdefault(dossier.task, Unwritten(dossier.journal.path, self.clock))
        state = dossier.state
        for event in journal.added:
            state = step(state, event)[0]
        return replace(dossier, journal=journal, state=state)


def foretold(dossier: Dossier, task: TaskView) -> TaskView:
    """A task as it would go on: what is due, where its result may go and who would have to agree.

    A task that is not made yet has no id: the one it would get is only known when it is made.
    """
    steps = [i for i in due(dossier.state) if not isinstance(i, AskPerson)]
    lines: list[str] = []
    for one in steps:
        match one:
            case Spawn(attempt=attempt):
                lines += [f"attempt {attempt} would start", *_terms(dossier.sheet)]
            case Review(draft=draft):
                lines.append(f"{draft} would be reviewed")
            case Commit(draft=draft):
                lines.append(f"{draft} would be committed: it was accepted before")
    new = not dossier.folder.path.exists()
    status = task.status if task.status == "sent_back" or not steps else "queued"
    return replace(
        task,
        task="" if new else task.task,
        status=status,
        reason="" if steps else task.reason,
        stages=_needed(dossier.sheet, least=False),
        notices=(*task.notices, *lines),
    )


def _terms(sheet: TaskSheet) -> Iterator[str]:
    yield f"model {sheet.model}, at most {sheet.turns} turns and {sheet.seconds} s an attempt"
    yield f"inputs: {', '.join(sheet.inputs)}" if sheet.inputs else "no inputs"
    if sheet.answer:
        yield "the answer is printed, no draft is filed"
        return
    yield f"result: {sheet.target or 'where the model puts it'}"
    most, least = _needed(sheet, least=False), _needed(sheet, least=True)
    also = f"; {', '.join(least)} if it is quoted word for word" if least != most else ""
    yield f"has to pass: {', '.join(most)}{also}"


def _needed(sheet: TaskSheet, *, least: bool) -> tuple[Stage, ...]:
    """Who has to agree to the task's draft by the policy: at the most, or when all of it is quoted."""
    if sheet.answer:
        return ()
    target = parse_target(sheet.target) if sheet.target else CardTarget("research", _SOME_CARD)
    return stages(
        origin="batch" if sheet.batch else "delegate",
        target=target,
        provenance="external" if sheet.inputs else "agent",
        cited=least,
        verbatim=least,
        auto=sheet.review == "auto",
        model=judges(sheet.model),
    )
