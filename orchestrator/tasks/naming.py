"""New names: a task's id, and where a result goes when nobody said so, a finding named by the task's own words."""

import os
import unicodedata
from collections.abc import Iterable
from typing import Protocol

from ...memory.clock import Clock
from ...memory.ids import BadId, CardId, TaskId, id_from_title
from ...memory.target import CardTarget
from ...memory.view import View
from ...memory.workspace import SHELVES, Space
from ..extractive.findings import heading_of
from .dossier import Dossier, dossiers

_LONGEST = 48


class Ids(Protocol):
    """Gives new ids."""

    def task(self) -> TaskId: ...


def free_task(spaces: Iterable[Space], ids: Ids) -> TaskId:
    """An id that no task of these spaces has, which are all that there are."""
    staging = [f"{space.folder}/staging" for space in spaces]
    while True:
        task = ids.task()
        if not any(os.path.lexists(f"{folder}/{task}") for folder in staging):
            return task


def free_target(view: View, space: Space, clock: Clock, text: str, also: Iterable[Dossier] = ()) -> CardTarget:
    """research/<slug of the text>.md; with a number behind it when a card, a task or a draft that waits has that id.

    `also` are tasks that are not in staging/ yet.
    """
    taken: set[str] = {card for shelf in SHELVES for card in view.cards(space, shelf)}
    for dossier in (*dossiers((space,), clock), *also):
        places = (dossier.sheet.target or "", *(draft.facts.target for draft in dossier.state.drafts))
        taken.update(place.rpartition("/")[2].removesuffix(".md") for place in places)
    slug = slug_of(text)
    names = (slug, *(f"{slug}-{n}" for n in range(2, len(taken) + 3)))
    return CardTarget("research", CardId(next(name for name in names if name not in taken)))


def slug_of(text: str) -> str:
    """The id of a text's first line, at most 48 characters, not cut inside a word if it can be helped."""
    line = heading_of(text)
    plain = "".join(c for c in line if unicodedata.category(c) not in {"Cc", "Cs", "Co", "Zl", "Zp"}).strip()
    slug = id_from_title(plain or "task")
    if len(slug) <= _LONGEST:
        return slug
    cut = slug[:_LONGEST].rpartition("-")[0] or slug[:_LONGEST]
    try:
        return CardId(cut)
    except BadId:
        return slug[:_LONGEST]
