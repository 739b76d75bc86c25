"""Where what a chat reads comes from: whether a card holds text from outside, by the history of its space.

A commit names its sources. A card that ever got text from an input or a page is external from then on, whoever
approved it: text from outside stays data. A sub-agent's draft that names no source is taken for external, too.
"""

from collections.abc import Iterable

from ...memory.history import Commit
from ...memory.workspace import SHELVES, Space

_SHELVES = tuple(f"{shelf}/" for shelf in SHELVES)
_OUTSIDE = ("inputs/", "http://", "https://")


def from_outside(sources: Iterable[str]) -> bool:
    """Whether one of these sources is an input or a page."""
    return any(source.startswith(_OUTSIDE) for source in sources)


class Origins:
    """The cards of a space that hold text from outside."""

    def __init__(self, space: Space, commits: Iterable[Commit]) -> None:
        self._external = _external(space, commits)

    def external(self, path: str) -> bool:
        """Whether what stands at a path of the space (`projects/kiln.md`) is, or may be, from outside."""
        return path in self._external


def _external(space: Space, commits: Iterable[Commit]) -> frozenset[str]:
    known: set[str] = set()
    for commit in commits:
        outside = from_outside(commit.sources) or any(_path(source) in known for source in commit.sources)
        if outside or (commit.draft is not None and not commit.sources):
            own = (path.removeprefix(space.prefix) for path in commit.paths if path.startswith(space.prefix))
            known.update(path for path in own if path.startswith(_SHELVES) and not path.endswith("/_index.md"))
    return frozenset(known)


def _path(source: str) -> str:
    """The path of a source, which may name a line."""
    path, _, number = source.rpartition(":")
    return path if path and number.isdecimal() else source
