"""Drafts that wait for the same target: which of those that are listed know of each other. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .results import Beside, DraftView, Place


def marked(views: Iterable[DraftView]) -> tuple[DraftView, ...]:
    """The same drafts; each one that waits knows of the others among them for the same target."""
    views = tuple(views)
    there: dict[tuple[str | None, str], list[DraftView]] = {}
    for view in views:
        if view.undecided and view.target:
            there.setdefault((view.client, view.target), []).append(view)
    return tuple(replace(view, beside=_named(view, there.get((view.client, view.target), ()))) for view in views)


def _named(view: DraftView, there: Sequence[DraftView]) -> tuple[Beside, ...]:
    if not view.undecided:
        return ()
    others = (other for other in there if other.id != view.id)
    return tuple(Beside(o.id, o.agent, o.edit, o.section, same_place(view.section, o.section)) for o in others)


def same_place(section: str | None, other: str | None) -> Place:
    """How near two drafts of one target come to each other; a draft without a section may touch any."""
    if section is None or other is None:
        return "target"
    return "section" if section == other else "elsewhere"
