"""What reconciling last saw of the shelves, so that a pen reads again only what changed since.

A card is taken to be as it was when inode, size and both times of its file are, and the clock can tell (memory/stamp.py
says why). Any other is read again the next time, and so is whatever is no plain file. An index is known by its content,
since the pen itself writes it with every card.

It is kept in `.onepen/cache/looked` from one pen to the next, and says of itself what it holds for: an index of this
content agreed with cards of these stamps. So one that is old, lost or damaged costs a look at every card, and no more.
Where the index has another content by now, that still holds for the cards whose blocks are what they were: a pen that
was killed leaves a cache of some seconds before.
Cards that the pen wrote itself get into it once the clock can tell, if they still hold what it wrote: a pen that comes
after a night of thousands need not read them.
"""

import json
import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import MemoryFault
from ..files import Disk, make_folder, replace, sha256
from ..guard import UnsafeFile, read_beneath
from ..index.one_block import same_blocks
from ..links import LinkLeadsOut, look, resolve
from ..room import ROOM
from ..stamp import Stamp, settled, stamp_of
from ..view import read_file
from ..workspace import SHELVES, Space
from .record import FileChange, Rewrite

_Kept = tuple[dict[str, Stamp], dict[str, str | None]]
"""Stamps of cards, and hashes of indexes."""
CACHE = f"{ROOM}/cache/looked"
_VERSION = 2
_MOST = 64 << 20


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
        self._own: dict[str, str] = {}  # the hashes of cards as the pen wrote them, still without a stamp
        self._kept: _Kept | None = None  # as it lies in the cache; None: not looked at yet
        self._texts: dict[str, str] = {}  # of indexes, as they lay in the cache at first
        self._saved = 0

    def look(self, space: Space, read: Callable[[str], bytes | None] | None = None) -> Glance:
        """What changed since the last look that was kept; raises LinkLeadsOut, UnreadableText or an OSError.

        `read` gives an index that is not in its file yet.
        """
        if self._kept is None:
            self._kept, self._texts = _read(self._root)
            self._stamps, self._indexes = dict(self._kept[0]), dict(self._kept[1])
        glance = Glance()
        wanted: list[str] = []
        for shelf in SHELVES:
            path = space.index_path(shelf)
            data = read_file(self._root, path) if read is None else read(path)
            glance.indexes[path] = None if data is None else sha256(data)
            same = path in self._indexes and self._indexes[path] == glance.indexes[path]
            text = self._texts.pop(path, None)  # holds for the first look; the pen's own changes are known from then on
            alike = frozenset[str]() if same or text is None or data is None else _alike(text, data)
            for name, stamp in self._cards(space.path(shelf)):
                card = space.path(f"{shelf}/{name}")
                if stamp is not None:
                    glance.stamps[card] = stamp
                known = same or name.removesuffix(".md") in alike
                if not known or stamp is None or self._stamps.get(card) != stamp:
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
        self._own.pop(path, None)
        self._indexes.pop(path, None)

    def forget_space(self, space: Space) -> None:
        for shelf in SHELVES:
            self.forget(space.index_path(shelf))

    def written(self, changes: Iterable[FileChange]) -> None:
        """Takes in what the pen wrote: an index that was as it was known is known as it is now, and cards are ours."""
        for change in changes:
            if not isinstance(change, Rewrite):
                continue
            if change.path in self._indexes:
                if self._indexes[change.path] == change.before:
                    self._indexes[change.path] = change.after
                else:
                    del self._indexes[change.path]
            elif _is_card(change.path):
                self._own[change.path] = change.after

    def save(self, disk: Disk, *, every: float = 0.0) -> None:
        """Keeps what is known for the next pen, unless that was done less than `every` seconds ago; never raises.

        Call it when nothing that was looked at is still to be brought into line.
        """
        if self._kept is None or self._now() - self._saved < every * 1e9:
            return
        self._stamp_own()
        known = (self._stamps, self._indexes)
        if known == self._kept:
            return
        with suppress(OSError, LinkLeadsOut):
            _write(self._root, known, self._texts_of(known[1]), disk)
            self._kept = (dict(self._stamps), dict(self._indexes))
            self._saved = self._now()

    def _texts_of(self, indexes: Mapping[str, str | None]) -> dict[str, str]:
        """The indexes as they are known, as far as they still are so."""
        texts: dict[str, str] = {}
        for path, hash_ in indexes.items():
            with suppress(OSError, MemoryFault, UnicodeDecodeError):
                data = read_file(self._root, path)
                if data is not None and sha256(data) == hash_:
                    texts[path] = data.decode()
        return texts

    def _stamp_own(self) -> None:
        """Cards that the pen wrote are known, as long as they are what it wrote and the clock can tell of a change."""
        for path, hash_ in tuple(self._own.items()):
            moment = self._now()
            try:
                found = look(self._root, path)[1]
                if found is None or not stat.S_ISREG(found.st_mode):
                    del self._own[path]
                elif settled(stamp := stamp_of(found), moment):
                    del self._own[path]
                    data = read_file(self._root, path)
                    if data is not None and sha256(data) == hash_:
                        self._stamps[path] = stamp
            except (OSError, MemoryFault):
                self._own.pop(path, None)

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


def _is_card(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] in SHELVES and name.endswith(".md") and name != "_index.md"


def _alike(text: str, data: bytes) -> frozenset[str]:
    """The cards whose blocks in an index are what they were; none where it is no text any more."""
    try:
        return same_blocks(text, data.decode())
    except UnicodeDecodeError:
        return frozenset()


def _read(root: Path) -> tuple[_Kept, dict[str, str]]:
    """What an earlier pen kept, with the indexes' texts; nothing where there is none, or one that makes no sense."""
    try:
        found = json.loads(read_beneath(root, CACHE, max_bytes=_MOST))
        if found["v"] != _VERSION:
            return ({}, {}), {}
        stamps = {str(path): tuple(map(int, stamp)) for path, stamp in found["cards"].items()}
        indexes = {str(path): None if hash_ is None else str(hash_) for path, hash_ in found["indexes"].items()}
        texts = {str(path): str(text) for path, text in found["texts"].items()}
    except (UnsafeFile, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ({}, {}), {}
    right = {path: text for path, text in texts.items() if sha256(text.encode()) == indexes.get(path)}
    return ({path: stamp for path, stamp in stamps.items() if len(stamp) == 4}, indexes), right


def _write(root: Path, known: _Kept, texts: Mapping[str, str], disk: Disk) -> None:
    """Raises LinkLeadsOut where the cache is a link, or an OSError."""
    path = root / CACHE
    for folder in (path.parent, path):
        if folder.is_symlink():
            raise LinkLeadsOut(CACHE, str(folder), "and a cache is no link")
    make_folder(path.parent, within=root, disk=disk)
    stamps, indexes = known
    record = {"v": _VERSION, "cards": stamps, "indexes": indexes, "texts": texts}
    replace(path, json.dumps(record).encode(), tmp=f".{path.name}.new.tmp", disk=disk)


def _stamp(entry: "os.DirEntry[str]", moment: int) -> Stamp | None:
    if not entry.is_file(follow_symlinks=False):
        return None
    now = stamp_of(entry.stat(follow_symlinks=False))
    return now if settled(now, moment) else None
