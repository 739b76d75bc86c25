"""What a new orchestrator finds of the last one: attempts and turns of chats that nobody saw end when it died.

They are booked by their transcripts and journalled as lost, so that `status` and what the day has cost are right. A
review that was cut short is booked, too; what its model had said is used again when the task goes on.
"""

from datetime import timedelta
from typing import get_args

from ...memory.links import LinkLeadsOut
from ...memory.view import View
from ...memory.workspace import Space
from ..chat.booking import end_cut_turns
from ..review.reviewer import facts_of
from .cutoff import book_cut_off
from .desk import Desk
from .dossier import NOT_OPENED, Dossier, added, open_dossier, task_ids
from .events import AttemptEvent, AttemptLost, AttemptStarted, Judged, Rebuilt
from .journal import mark_of
from .rebuild import rebuild
from .settle import Settled, settle

_START = mark_of(AttemptStarted)
_ENDS = tuple(mark_of(kind) for kind in (*get_args(AttemptEvent), Rebuilt) if kind is not AttemptStarted)
_VERDICT = mark_of(Judged)
_DRAFT = b'"name": '  # each draft's facts have it

RECENT = timedelta(days=2)
"""How far back a task may have been touched to be looked at; an older one is found when it is resumed."""


def recover(desk: Desk, view: View) -> tuple[str, ...]:
    """Journals what the last orchestrator left unsaid, and says which tasks it is. Call it with the pen held."""
    spaces = view.workspace.spaces()
    settle(view, desk.clock, spaces)
    found = [*book_cut_off(view.workspace, desk.clock)]
    for space in spaces:
        found += [
            f"chat {chat} was cut off and keeps what was said (next: onepen chat --resume {chat})"
            for chat in end_cut_turns(space, desk.clock, RECENT)
        ]
        for dossier in _touched(desk, space):
            task = dossier.task
            told = f"{task} was interrupted and keeps what it has (next: onepen resume {task})"
            try:
                _book_reviews(desk, dossier)
                if not dossier.state.alive or dossier.damage:
                    continue
                lost(desk, dossier)
            except (OSError, LinkLeadsOut) as e:  # one task that can't be written keeps no other from going on
                reason = e.message if isinstance(e, LinkLeadsOut) else e.strerror or str(e)
                told = f"{task} was interrupted, but that could not be noted: {reason} (next: onepen doctor)"
            found.append(told)
    return tuple(found)


def _book_reviews(desk: Desk, dossier: Dossier) -> None:
    """Books what reviews cost whose verdict nobody saw."""
    open_ones = (d for d in dossier.state.drafts if d.status == "waiting" and not d.reviewed)
    for attempt in sorted({draft.attempt for draft in open_ones}):
        desk.book_reviews(dossier, attempt)


def lost(desk: Desk, dossier: Dossier) -> Dossier:
    """The dossier whose attempt, if one is alive by its journal, is lost: booked, and journalled as such.

    What it had left is looked at only if it was cancelled: else it is done again.
    """
    alive, state = dossier.state.alive, dossier.state
    if not alive:
        return dossier
    desk.book(dossier, alive)
    left = facts_of(desk.view, dossier, alive, len(state.drafts)) if state.phase == "cancelled" else ()
    return dossier.happened(AttemptLost(alive, drafts=left))


def found_again(desk: Desk, dossier: Dossier) -> tuple[Dossier, tuple[str, ...]]:
    """A task that nobody is at work on, as it can go on, and what a person should know.

    A damaged journal is rebuilt; an attempt that was alive when its orchestrator died is lost.
    """
    dossier, notices = rebuild(desk.view, dossier, rehearsed=desk.rehearsed)
    dossier = Settled(desk.view).journal(dossier)
    if not dossier.entries:
        dossier.journal.append(added(dossier.sheet))
    return lost(desk, dossier), notices


def _touched(desk: Desk, space: Space) -> list[Dossier]:
    """The tasks of a space that can be read, and whose journal was written lately and doesn't say that all is done."""
    since = (desk.clock.now() - RECENT).timestamp()
    found = []
    for task in task_ids(space):
        try:
            journal = space.staging(task) / "run.jsonl"
            if journal.lstat().st_mtime >= since and _unfinished(journal.read_bytes()):
                found.append(open_dossier(space, task, desk.clock))
        except (*NOT_OPENED, LinkLeadsOut, OSError):
            continue  # one task that can't be read keeps no orchestrator from beginning; doctor names it
    return found


def _unfinished(journal: bytes) -> bool:
    """Whether an attempt was started after the last that ended, or fewer verdicts were given than there are drafts.

    By the bare words, since thousands of tasks are looked at.
    """
    if journal.rfind(_START) > max(map(journal.rfind, _ENDS)):
        return True
    return journal.count(_VERDICT) < journal.count(_DRAFT)
