"""Cancelling tasks: it is journalled, who is at work on them is told, and what was left waits for a person."""

from collections.abc import Sequence

from ..cancelled import CancelResult
from ..cashbook import Cashbook
from ..results import TaskView
from ..views import draft_view, task_view
from .atwork import AtWork
from .desk import Desk
from .dossier import Dossier
from .events import Cancelled
from .recover import found_again
from .workshop import Workshop


class Cancelling:
    """Cancels tasks in the name of `user`; `workshop` is that of the process which holds the pen for longer."""

    def __init__(self, desk: Desk, workshop: Workshop | None, user: str) -> None:
        self._desk = desk
        self._at_work = {} if workshop is None else workshop.at_work
        self._user = user

    async def cancel(self, ids: Sequence[str]) -> CancelResult:
        """Waits until the workers have ended; raises NoSuchTask or AmbiguousId before anything is done."""
        found = {dossier.task: dossier for dossier in map(self._desk.find_task, ids)}
        told: list[str] = []
        undone = False
        with self._desk.scribe() as scribe:
            ending: list[AtWork] = []
            for dossier in found.values():
                at_work = self._at_work.get(dossier.task)
                if at_work is None:
                    dossier, rebuilt = found_again(self._desk, dossier.refreshed())
                    told += rebuilt
                notice = _nothing_to_cancel(dossier, at_work is not None)
                if notice is None:
                    dossier = dossier.happened(Cancelled(f"cancelled by {self._user}"))
                    ending += [] if at_work is None else [at_work]
                else:
                    told.append(notice)
                    undone = undone or dossier.state.phase != "cancelled"
                found[dossier.task] = dossier
            for at_work in ending:
                at_work.call_off()
            for at_work in ending:
                await at_work.done.wait()
            views = [self._view_of(dossier.refreshed()) for dossier in found.values()]
            return CancelResult(tuple(views), (*told, *scribe.notices()), undone, dry_run=self._desk.rehearsed)

    def _view_of(self, dossier: Dossier) -> TaskView:
        reviewer = self._desk.reviewer(dossier.space)
        drafts = tuple(draft_view(dossier, d, reviewer.examine(dossier, d)) for d in dossier.state.drafts)
        booked = Cashbook(dossier.space).totals_of(dossier.task, dossier.sheet.created)
        return task_view(dossier, drafts, booked, alive=dossier.task in self._at_work)


def _nothing_to_cancel(dossier: Dossier, at_work: bool) -> str | None:
    """Why a task can't be cancelled; None when it can. A model that judges its drafts is at work on it, too."""
    state = dossier.state
    if state.phase == "cancelled":
        return f"{dossier.task}: it was cancelled before"
    if state.phase != "settled" or at_work:
        return None
    waiting = [d.id for d in state.drafts if d.status in {"waiting", "conflict"}]
    then = f" (next: onepen reject {waiting[0]} -m REASON)" if waiting else ""
    return f"{dossier.task}: nobody is at work on it, it is {state.status.replace('_', ' ')}{then}"
