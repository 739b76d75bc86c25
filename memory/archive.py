"""Cards at rest: the index keeps their title and status, prompts leave them out, and search still finds them.

A card is archived when its front matter says `status: archived`, whoever wrote that. Where onepen archives it, the
lines of its sections leave the index, too; bringing it back takes them from the commit that took them out, so that a
summary that somebody thought about isn't replaced by a heading.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .history import Commit, TextChange
from .index.entry import IndexEntry, entry_key, parse_entry
from .index.index import ARCHIVED
from .target import CardTarget
from .workspace import Space

_STATUS = re.compile(r"^[ \t]*status[ \t]*:[ \t]*([\w-]+)", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Rested:
    """What archiving took from a card: its status until then, and its entries in the index."""

    status: str
    entries: tuple[IndexEntry, ...]


def rested(commits: Sequence[Commit], space: Space, target: CardTarget) -> Rested | None:
    """What the latest archiving of a card took, by the history; None where it doesn't tell (any more)."""
    card, index = space.path(target), space.index_path(target.shelf)
    for commit in reversed(commits):
        own = [change for change in commit.changes if change.path == card]
        if not any(_last_status(change.new) == ARCHIVED for change in own):
            continue
        status = next((found for change in own if (found := _last_status(change.old))), "active")
        lines = [change for change in commit.changes if change.path == index]
        return Rested(status, tuple(_gone(lines, target.card)))
    return None


def _gone(changes: Sequence[TextChange], card: str) -> Iterator[IndexEntry]:
    """The entries of a card in the text that went."""
    for change in changes:
        for line in change.old.splitlines():
            key = entry_key(line)
            found = parse_entry(line) if key is not None and key[0] == card else None
            if found is not None and found[1] is None:
                yield found[0]


def _last_status(text: str) -> str | None:
    return next(reversed(_STATUS.findall(text)), None)
