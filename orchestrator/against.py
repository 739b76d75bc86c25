"""Drafts that wait for the same target, one set against the other.

What is compared is what the target would be with the one draft and with the other, each by itself and as things are
now. Once one of them is committed, the other is examined anew, as after any change of memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ..memory.clock import Clock
from ..memory.ids import DraftId
from ..memory.view import View
from ..memory.workspace import Space
from ..staging.checks import Ground, after_text
from ..staging.diff import between, describe_bytes
from ..staging.draft import Draft, file_bytes
from .beside import same_place
from .results import Beside
from .review.reviewer import read_draft
from .tasks.dossier import OPEN, dossiers
from .tasks.settle import Settled

MOST_LINES = 400
MOST_SHOWN = 3
"""How many others a draft is set against; further ones are only named."""


@dataclass(frozen=True)
class Waits:
    """A draft that waits, as far as its file could be read."""

    id: DraftId
    agent: str
    draft: Draft


def waiting(view: View, space: Space, clock: Clock) -> tuple[Waits, ...]:
    """The drafts of a space that wait for a person, oldest first."""
    tasks = map(Settled(view).overlay, dossiers((space,), clock, undecided=True))
    every = ((task, state) for task in tasks for state in task.state.drafts if state.status in OPEN)
    read = ((task, state, read_draft(task, state).draft) for task, state in every)
    return tuple(Waits(state.id, task.sheet.agent, draft) for task, state, draft in read if draft is not None)


def set_against(view: View, space: Space, today: date, id_: DraftId, every: Sequence[Waits]) -> tuple[Beside, ...]:
    """The other drafts for the same target as draft `id_`; the first that can't stand beside it are set against it."""
    one = next((waits for waits in every if waits.id == id_), None)
    if one is None:
        return ()
    others = [waits for waits in every if waits.id != id_ and waits.draft.target == one.draft.target]
    if not others:
        return ()
    before = view.bytes(space.path(one.draft.target))
    made = _made(one.draft, before, today)
    found: list[Beside] = []
    shown = 0
    for other in others:
        draft, diff = other.draft, None
        same = same_place(one.draft.section, draft.section)
        if same != "elsewhere" and shown < MOST_SHOWN:
            shown += 1
            names = (f"{one.draft.target} with {one.id}", f"{one.draft.target} with {other.id}")
            diff = between(names[0], made, names[1], _made(draft, before, today), MOST_LINES)
        found.append(Beside(other.id, other.agent, draft.edit, draft.section, same, diff))
    return tuple(found)


def _made(draft: Draft, before: bytes | None, today: date) -> str:
    """The target as the draft would leave it; its own text where that can't be done now, or is no text."""
    try:
        text = None if before is None else before.decode()
    except UnicodeDecodeError:
        text = None
    ground = Ground(read=lambda path: None, card_text=text, today=today, file_sha=None if before is None else "present")
    after = after_text(draft, ground)
    if after is not None:
        return after
    return draft.body if draft.file is None else describe_bytes(file_bytes(draft))
