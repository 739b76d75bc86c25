"""Reading a workspace without the pen, and without ever seeing half a commit.

A commit is durable once its redo record is; its files follow. A view reads a file together with the records that are
pending for it, and gives the file as it is going to be. The redo log is looked at again whenever it has changed, and
only what was added to it is parsed. A redo log that was made elsewhere is not believed: nothing of it is shown.

What parses text is imported where text is parsed: YAML alone costs as much as listing a thousand cards.
"""

import builtins
import os
import stat
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from .commit.identity import ACCEPTED, folder_name
from .commit.redo import ForeignRedo, check_origin, scan
from .commit.settle import Chains
from .errors import MemoryFault
from .files import read_all
from .ids import BadId, CardId
from .links import LinkLeadsOut, real_path, resolve
from .room import REDO_LOG, open_room_file, read_room_file
from .target import CardTarget, NoteTarget, Shelf
from .text.decode import NotText, decode
from .workspace import Space, Workspace

if TYPE_CHECKING:
    from .index.index import Index
    from .text.document import Document

HEADINGS: dict[Shelf, str] = {"projects": "Projects", "research": "Research"}


class UnreadableText(MemoryFault):
    """Raised when a file that should be text is none; the message names it."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}", hint="onepen doctor")
        self.path = path


@dataclass
class _Pending:
    """The redo log as far as it was read."""

    inode: int = 0
    size: int = 0
    written: int = 0
    copied: bool = False  # then its files are as old as the copying
    last: bytes = b""
    chains: Chains = field(default_factory=Chains)
    commits: frozenset[str] = frozenset()
    refused: ForeignRedo | None = None


class View:
    """What a workspace holds, as a reader may see it; paths are workspace paths, in posix form.

    Raises LinkLeadsOut for a path that a link leads away, RedoDamaged or RoomUnfit when the redo log
    can't be read.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pending = _Pending()
        self._indexes: dict[str, tuple[builtins.bytes | None, Index]] = {}  # as they were parsed last

    @property
    def workspace(self) -> Workspace:
        return self._workspace

    def bytes(self, path: str) -> builtins.bytes | None:
        """The content of a file, None if it is absent."""
        chains = self._chains()
        if path not in chains.by_path:
            return read_file(self._workspace.root, path)
        data, written = read_with_time(self._workspace.root, path)
        newer = not self._pending.copied and written > self._pending.written
        return chains.overlay(path, data, newer=newer)

    def text(self, path: str) -> str | None:
        """The content as text, line ends untouched; raises UnreadableText."""
        data = self.bytes(path)
        return None if data is None else as_text(data, path)

    def cards(self, space: Space, shelf: Shelf) -> tuple[CardId, ...]:
        """The ids that have a card on this shelf, sorted; names that are no id, or no file, are left to `doctor`."""
        folder = space.path(shelf)
        return card_ids(self._with_pending(folder, file_names(self._workspace.root, folder, only_files=True)))

    def document(self, space: Space, target: CardTarget | NoteTarget) -> "Document | None":
        """A card or note, None if it is absent; raises UnreadableText."""
        from .text.document import parse_document

        text = self.text(space.path(target))
        return None if text is None else parse_document(text)

    def index(self, space: Space, shelf: Shelf) -> "Index":
        """The index of a shelf, an empty one if there is none; raises UnreadableText."""
        from .index.index import empty_index, parse_index

        path = space.index_path(shelf)
        data = self.bytes(path)
        known = self._indexes.get(path)
        if known is None or known[0] != data:
            text = empty_index(HEADINGS[shelf]) if data is None else as_text(data, path)
            known = self._indexes[path] = data, parse_index(text)
        return known[1]

    def days(self, space: Space) -> tuple[date, ...]:
        """The days that have a day log, oldest first."""
        return log_days(self.names(space.path("memory")))

    def pending_paths(self) -> tuple[str, ...]:
        """The paths that commits of the redo log touch, whether or not their files are written."""
        return tuple(self._chains().by_path)

    def pending_commits(self) -> frozenset[str]:
        """The ids of the commits in the redo log."""
        self._chains()
        return self._pending.commits

    def refused(self) -> ForeignRedo | None:
        """Why the redo log is not believed, as the pen would say it; then no reader sees anything of it."""
        self._chains()
        return self._pending.refused

    def names(self, folder: str) -> set[str]:
        """The names in a folder, with those that pending commits make and without those that they remove."""
        return self._with_pending(folder, file_names(self._workspace.root, folder))

    def _with_pending(self, folder: str, names: set[str]) -> set[str]:
        chains = self._chains()
        touched = [path for path in chains.by_path if path.startswith(f"{folder}/")]
        gone = {path for path in touched if chains.ends(path) and self.bytes(path) is None}
        paths = {f"{folder}/{name}" for name in names}.union(touched) - gone
        return {path[len(folder) + 1 :] for path in paths}

    def _chains(self) -> Chains:
        if self._is_empty():
            if self._pending.size or self._pending.refused is not None:
                self._pending = _Pending()
            return self._pending.chains
        fd = open_room_file(self._workspace.root, REDO_LOG)
        if fd is None:
            self._pending = _Pending()
            return self._pending.chains
        try:
            if self._pending.refused is not None:
                self._pending = _Pending()  # what was refused is read anew each time: it may be accepted meanwhile
            found, known = os.fstat(fd), self._pending
            written = max(found.st_mtime_ns, found.st_ctime_ns)
            if found.st_ino == known.inode and found.st_size == known.size and self._still_there(fd):
                known.written = written
                return known.chains
            if found.st_ino != known.inode or found.st_size < known.size or not self._still_there(fd):
                known = self._pending = _Pending(inode=found.st_ino)
            known.written = written
            try:
                self._read_on(fd, known)
            except ForeignRedo as e:
                self._pending = known = _Pending(refused=e)
            return known.chains
        finally:
            os.close(fd)

    def _is_empty(self) -> bool:
        """Whether nothing stands in the redo log, which is so nearly always and is told without opening it."""
        try:
            found = os.lstat(f"{self._workspace.root}/{REDO_LOG}")
        except OSError:
            return False
        return found.st_size == 0 and stat.S_ISREG(found.st_mode)

    def _still_there(self, fd: int) -> bool:
        """Whether the last record that was read still ends where it did: the log may have been trimmed and refilled."""
        last = self._pending.last
        return os.pread(fd, len(last), self._pending.size - len(last)) == last

    def _read_on(self, fd: int, known: _Pending) -> None:
        with os.fdopen(os.dup(fd), "rb") as log:
            log.seek(known.size)
            data = log.read()
        found = scan(data, REDO_LOG, known.size)
        if found.records:
            root = self._workspace.root
            accepted = read_room_file(root, ACCEPTED).decode("utf-8", "replace").strip()
            for record in found.records:
                check_origin(record, self._workspace.settings.id, folder_name(root), accepted)
                known.chains.add(record)
                known.copied |= record.folder != folder_name(root)
            known.commits |= {commit for record in found.records for commit in record.commits}
        whole = data[: len(data) - len(found.torn_tail)]
        known.size += len(whole)
        if whole:
            known.last = whole[whole.rfind(b"\n", 0, -1) + 1 :]


def open_file(root: Path, path: str) -> int | None:
    """A descriptor for reading a file as it stands on the disk, None if it is absent or a folder.

    Raises LinkLeadsOut, UnreadableText or OSError.
    """
    found = _open(root, path)
    return None if found is None else found[0]


def _open(root: Path, path: str) -> tuple[int, os.stat_result] | None:
    try:
        fd = os.open(real_path(root, path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    found = os.fstat(fd)
    if stat.S_ISREG(found.st_mode):
        return fd, found
    os.close(fd)
    if stat.S_ISDIR(found.st_mode):
        return None
    raise UnreadableText(path, "is no regular file")  # a FIFO would keep the reader waiting for ever


def read_file(root: Path, path: str) -> bytes | None:
    """The bytes of a file as it stands on the disk; absent and refused as with `open_file`."""
    return read_with_time(root, path)[0]


def read_with_time(root: Path, path: str) -> tuple[bytes | None, int]:
    """The same, with the nanosecond at which the file was written (0 for none): the earlier of its two times.

    The one can be set at will, and the other changes with the file's name.
    """
    opened = _open(root, path)
    if opened is None:
        return None, 0
    fd, found = opened
    try:
        return read_all(fd, found.st_size), min(found.st_mtime_ns, found.st_ctime_ns)
    finally:
        os.close(fd)


def file_names(root: Path, folder: str, *, only_files: bool = False) -> set[str]:
    """The names in a folder of the workspace, none if it is absent; raises LinkLeadsOut or an OSError.

    With `only_files`, those of regular files and of links to one within the workspace.
    """
    try:
        with os.scandir(resolve(root, folder)) as entries:
            return {entry.name for entry in entries if not only_files or _is_file(root, folder, entry)}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _is_file(root: Path, folder: str, entry: os.DirEntry[str]) -> bool:
    if not entry.is_symlink():
        return entry.is_file(follow_symlinks=False)
    try:
        return resolve(root, f"{folder}/{entry.name}").is_file()
    except LinkLeadsOut:
        return False


def as_text(data: bytes, path: str) -> str:
    """The bytes of a file as text; raises UnreadableText with its path."""
    try:
        return decode(data)
    except NotText as e:
        raise UnreadableText(path, e.reason) from e


def card_ids(names: set[str]) -> tuple[CardId, ...]:
    """The card ids among file names of a shelf, sorted."""
    found: list[CardId] = []
    for name in names:
        if name.endswith(".md"):
            try:
                found.append(CardId(name[: -len(".md")]))
            except BadId:
                continue
    return tuple(sorted(found))


def log_days(names: set[str]) -> tuple[date, ...]:
    """The days among file names of a memory/ folder, oldest first."""
    found: list[date] = []
    for name in names:
        stem, dot, ending = name.partition(".")
        if (dot, ending) == (".", "md") and len(stem) == len("2026-11-29"):
            try:
                found.append(date.fromisoformat(stem))
            except ValueError:
                continue
    return tuple(sorted(found))
