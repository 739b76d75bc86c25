"""What reconciling last saw of the shelves, so that a pen that is held for long reads again only what changed since.

A card is taken to be as it was when inode, size and both times of its file are. The kernel stamps files by a clock that
ticks, so a file that changed about when it was looked at could change once more and look the same: such a one is read
again the next time, and so is whatever is no plain file. An index is known by its content, since the pen itself writes
it with every card.
"""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ..files import sha256
from ..links import resolve
from ..view import read_file
from ..workspace import SHELVES, Space
from .record import FileChange, Rewrite

_TICK = 20_000_000  # nanoseconds; the slowest kernels tick a hundred times a second
_COARSE = 2_500_000_000  # some file systems keep whole or even seconds

Stamp = tuple[int, int, int, int]


@dataclass
class Glance:
    """A look at the shelves of a space: `cards` are the paths within it that have to be read; empty: all is known."""

    cards: frozenset[str] = frozenset()
    stamps: dict[str, Stamp] = field(default_factory=dict)
    indexes: dict[str, str | None] = field(default_factory=dict)


class Looked:
    """What is known of all shelves; paths are workspace paths."""

    def __init__(self, root: Path, now: Callable[[], int] = time.time_ns) -> None:
        self._root = root
        self._now = now
        self._stamps: dict[str, Stamp] = {}
        self._indexes: dict[str, str | None] = {}

    def look(self, space: Space) -> Glance:
        """What changed since the last look that was kept; raises LinkLeadsOut, UnreadableText or an OSError."""
        glance = Glance()
        wanted: list[str] = []
        for shelf in SHELVES:
            path = space.index_path(shelf)
            data = read_file(self._root, path)
            glance.indexes[path] = None if data is None else sha256(data)
            same = path in self._indexes and self._indexes[path] == glance.indexes[path]
            for name, stamp in self._cards(space.path(shelf)):
                card = space.path(f"{shelf}/{name}")
                if stamp is not None:
                    glance.stamps[card] = stamp
                if not same or stamp is None or self._stamps.get(card) != stamp:
                    wanted.append(f"{shelf}/{name}")
            if not same and not wanted:
                wanted.append(f"{shelf}/")  # no card, but an index that was not seen yet
        glance.cards = frozenset(wanted)
        return glance

    def keep(self, glance: Glance) -> None:
        """Takes in what a glance saw: the indexes are about to say the same."""
        self._stamps.update(glance.stamps)
        self._indexes.update(glance.indexes)

    def forget(self, path: str) -> None:
        """Looks at a card, or at all of an index's shelf, anew the next time: it could not be brought into line."""
        self._stamps.pop(path, None)
        self._indexes.pop(path, None)

    def forget_space(self, space: Space) -> None:
        for shelf in SHELVES:
            self.forget(space.index_path(shelf))

    def written(self, changes: Iterable[FileChange]) -> None:
        """Takes in what the pen wrote: an index that was as it was known is known as it is now."""
        for change in changes:
            if isinstance(change, Rewrite) and change.path in self._indexes:
                if self._indexes[change.path] == change.before:
                    self._indexes[change.path] = change.after
                else:
                    del self._indexes[change.path]

    def _cards(self, folder: str) -> Iterable[tuple[str, Stamp | None]]:
        """The cards of a folder, each with its stamp; None for one that has to be read in any case."""
        moment = self._now()
        try:
            with os.scandir(resolve(self._root, folder)) as entries:
                for entry in entries:
                    if entry.name.endswith(".md") and entry.name != "_index.md":
                        yield entry.name, _stamp(entry, moment)
        except (FileNotFoundError, NotADirectoryError):
            return


def _stamp(entry: "os.DirEntry[str]", moment: int) -> Stamp | None:
    if not entry.is_file(follow_symlinks=False):
        return None
    found = entry.stat(follow_symlinks=False)
    for at in (found.st_mtime_ns, found.st_ctime_ns):
        if at >= moment - (_TICK if at % 10_000_000 else _COARSE):
            return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
