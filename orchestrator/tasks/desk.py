"""Where a command finds its tasks, and where it notes in staging/ what became of them.

Commands decide against a desk. What they do to memory goes through its scribe, what they do to staging/ through its
methods; so a rehearsal (`--dry-run`) is the same command at a desk that keeps everything to itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...memory import files
from ...memory.clock import Clock
from ...memory.follow import Followed
from ...memory.view import View
from ...memory.workspace import Space
from ...staging.folder import TaskFolder, TaskSheet, copy_inputs, put_inputs, render_sheet
from ...staging.secret import Held
from ..book import book_all
from ..commit import Scribe
from ..pens import WAIT, OwnPen, Pens
from ..premises import own, sync_aside
from ..review.reviewer import Reviewer
from ..review.reviewfile import write_review
from ..settings.redact import Known
from ..witness import Witness
from .booked import attempt_bookings, review_bookings
from .dossier import EVERYWHERE, Dossier, Scope, added, find_draft, find_task
from .journal import Entry, Journal
from .plan import DraftState, replay


class Desk:
    """The real one: everything is written."""

    rehearsed = False

    def __init__(
        self,
        view: View,
        clock: Clock,
        scope: Scope = EVERYWHERE,
        *,
        pens: Pens | None = None,
        wait: float = WAIT,
        known: Known | None = None,
        witness: Callable[[], Witness | None] | None = None,
    ) -> None:
        self.view = view
        self.clock = clock
        self._scope = scope
        self._pens = pens or OwnPen(view, clock, wait=wait, witness=witness)
        self._known = known or Known()

    def scribe(self) -> Scribe:
        """Takes the pen; raises what `Pens.take` raises."""
        return self._pens.take(self._known)

    @property
    def held(self) -> Held:
        """The credentials that may get into no file."""
        return self._known.held

    def find_task(self, prefix: str) -> Dossier:
        """Raises NoSuchTask, AmbiguousId or NoSuchClient."""
        return find_task(self.view.workspace, prefix, self.clock, self._scope)

    def find_draft(self, prefix: str) -> tuple[Dossier, DraftState]:
        """Raises NoSuchDraft, AmbiguousId or NoSuchClient."""
        return find_draft(self.view.workspace, prefix, self.clock, self._scope)

    def reviewer(self, space: Space, history: Followed | None = None) -> Reviewer:
        return Reviewer(self.view, space, lambda: self.clock.now().date(), self.held, history)

    def make(
        self, space: Space, sheet: TaskSheet, inputs: Sequence[Path], papers: Sequence[tuple[str, str]] = ()
    ) -> tuple[Dossier, tuple[str, ...]]:
        """A new task's folder: inputs first, then the sheet, then the journal; the sheet makes it a task. See `keep`.

        Gives the dossier and a message for each input left out; raises NoSuchInput, LinkLeadsOut or an OSError.
        """
        folder = TaskFolder(own(space, f"staging/{sheet.task}"))
        files.make_folder(folder.path, within=space.root)
        copied, left_out = copy_inputs(folder, inputs)
        sheet = replace(sheet, inputs=(*copied, *put_inputs(folder, papers)))
        files.create_exclusive(folder.sheet_file, render_sheet(sheet).encode())
        journal = Journal(folder.run_journal, self.clock, space.path(f"staging/{sheet.task}/run.jsonl"))
        event = added(sheet)
        size = journal.append(event, sync=False)
        entries = (Entry(sheet.created, event),)
        return Dossier(space, sheet, folder, replay([event]), entries, (), journal, size=size), left_out

    async def keep(self, made: Sequence[Dossier]) -> None:
        """Waits until new tasks are on the disk."""
        await sync_aside(
            path for one in made for path in (one.folder.sheet_file, one.folder.run_journal, one.folder.path)
        )

    def book(self, dossier: Dossier, attempt: int) -> None:
        """Books what an attempt cost whose end nobody saw."""
        booked = attempt_bookings(dossier, attempt, 0.0)
        book_all(dossier.space, booked, self.clock.now(), dossier.sheet.created)

    def book_reviews(self, dossier: Dossier, attempt: int) -> None:
        """Books what reviews of its drafts cost whose end nobody saw."""
        booked = review_bookings(dossier, attempt)
        book_all(dossier.space, booked, self.clock.now(), dossier.sheet.created)

    def note_review(self, dossier: Dossier) -> tuple[str, ...]:
        """Writes the task's review.md anew; a notice when that failed."""
        return write_review(dossier, self.reviewer(dossier.space), self.clock.now())
