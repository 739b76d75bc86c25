"""The folder in which an agent's commands run: what lies in it, and what state that is.

Programs of a model made it, so it is read as a stranger's: beneath the folder, nothing followed. Two names in it are
onepen's own and belong to no state: `.tmp`, the programs' private folder for temporary files, and `.drafted`, what was
taken as a draft, under its hash, so that an attempt which goes on drafts the same bytes.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...memory import files
from ...memory.guard import UnsafeFile, list_beneath, open_beneath, read_beneath
from ...memory.ids import shown
from ...staging.draft import MAX_BYTES
from ..hoard import CLOSED
from .toolinput import ToolRefused

TMP, DRAFTED = ".tmp", ".drafted"
MOST_FILES = 10_000
"""The most files that a work folder may hold, temporary ones included."""
MOST_BYTES = 256 << 20
"""The most bytes in all of them."""

_CHUNK = 1 << 20
_SHA = 16
_NAMED = 20
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}")


@dataclass(frozen=True)
class Content:
    """One thing in a work folder: `sha256` of a plain file, "" for anything else."""

    name: str
    size: int
    sha256: str
    runs: bool = False


@dataclass(frozen=True)
class Contents:
    """All that lies in a work folder, sorted by name."""

    entries: tuple[Content, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether all of it are plain files, which can be copied."""
        return all(entry.sha256 for entry in self.entries)

    @property
    def state(self) -> str:
        """16 hex digits that name this state."""
        lines = (f"{entry.name}\0{entry.size}\0{entry.sha256}\0{entry.runs}\n" for entry in self.entries)
        return short_sha("".join(lines).encode("utf-8", "surrogateescape"))

    def told(self, before: "Contents") -> str:
        """What is new or has changed since `before`, in one line; hidden files and all others by number only."""
        old = {entry.name: entry for entry in before.entries}
        fresh = [entry for entry in self.entries if old.get(entry.name) != entry]
        gone = sorted(old.keys() - {entry.name for entry in self.entries})
        if not fresh and not gone:
            return f"as before, {len(self.entries):,} in all" if self.entries else "empty"
        named = [entry for entry in fresh if not _hidden(entry.name)][:_NAMED]
        parts = [_told(entry, "changed" if entry.name in old else "new") for entry in named]
        lost = [_name(name) for name in gone if not _hidden(name)][:_NAMED]
        more = len(self.entries) - len(named)
        parts += [f"{more:,} more"] if more else []
        parts += [f"gone: {', '.join(lost) or f'{len(gone):,} hidden ones'}"] if gone else []
        return "; ".join(parts)


def short_sha(data: bytes) -> str:
    """The first 16 hex digits of the sha256 of `data`."""
    return files.sha256(data)[:_SHA]


class WorkFolder:
    """A work folder at `path`; making one touches nothing on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def tmp(self) -> Path:
        return self.path / TMP

    def make(self) -> None:
        """Make what is missing of the folder and of its own parts."""
        for folder in (self.path, self.tmp, self.path / DRAFTED):
            files.make_folder(folder, within=self.path.parent)

    def contents(self) -> Contents:
        """What lies there now, () when there is no folder; raises UnsafeFile when it is too much or is no folder."""
        try:
            names = list_beneath(self.path, max_files=MOST_FILES)
        except FileNotFoundError:
            return Contents()
        return Contents(tuple(self._content(name) for name in names if not _own(name)))

    def overfull(self) -> str | None:
        """What there is too much of, counted without opening a file; None while there is room."""
        count = size = 0
        for found in self._stats():
            if found is None:
                return "a folder that can't be looked into"
            count, size = count + 1, size + found.st_blocks * 512
            if count > MOST_FILES:
                return f"more than {MOST_FILES:,} files"
            if size > MOST_BYTES:
                return f"more than {MOST_BYTES >> 20} MiB"
        return None

    def take(self, name: str) -> bytes:
        """The bytes of a text file in it, for a draft, of which a copy is kept; raises ToolRefused with the reason."""
        plain = name.strip().removeprefix("./").removeprefix("work/").removeprefix(f"{self.path}/")
        try:
            data = read_beneath(self.path, plain, max_bytes=MAX_BYTES)
        except UnsafeFile as e:
            if e.kind == "too_large":
                raise ToolRefused(
                    f"file {shown(plain)}: it has more than {MAX_BYTES:,} bytes, a draft has at most that; "
                    "draft the part that matters, or the program that makes it"
                ) from e
            there = f"; there are: {self._names()}" if e.kind in ("missing", "outside") else ""
            raise ToolRefused(f"file {shown(plain)}: {e.message.rpartition(': ')[2]}{there}") from e
        _check_text(plain, data)
        kept = self.path / DRAFTED / short_sha(data)
        if not os.path.lexists(kept):
            files.make_folder(kept.parent, within=self.path)
            files.replace(kept, data)
        return data

    def drafted(self, sha: str) -> bytes | None:
        """What was taken as a draft before, by its hash; None if it isn't there as it was."""
        try:
            data = read_beneath(self.path, f"{DRAFTED}/{sha}", max_bytes=MAX_BYTES)
        except (UnsafeFile, OSError):
            return None
        return data if short_sha(data) == sha else None

    def _names(self) -> str:
        return ", ".join(_name(entry.name) for entry in self.contents().entries[:_NAMED]) or "none"

    def _content(self, name: str) -> Content:
        try:
            fd = open_beneath(self.path, name)
        except UnsafeFile:
            return Content(name, 0, "")
        try:
            found = os.fstat(fd)
            sha = hashlib.sha256()
            while data := os.read(fd, _CHUNK):
                sha.update(data)
        finally:
            os.close(fd)
        single = found.st_nlink == 1
        return Content(name, found.st_size, sha.hexdigest() if single else "", bool(found.st_mode & stat.S_IXUSR))

    def _stats(self) -> Iterator[os.stat_result | None]:
        """Of everything below the folder, None for a folder too deep or closed to us; what vanishes is passed over."""
        folders = [self.path]
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        try:
                            if entry.is_dir(follow_symlinks=False):
                                folders.append(Path(entry.path))
                            yield entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as e:
                if e.errno not in CLOSED:
                    raise
                yield None


def _own(name: str) -> bool:
    return name.partition("/")[0] in (TMP, DRAFTED)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") for part in name.split("/"))


def _check_text(name: str, data: bytes) -> None:
    """Raise ToolRefused for what a person could not review as a text."""
    try:
        binary = "\0" in data.decode()
    except UnicodeDecodeError:
        binary = True
    if binary:
        raise ToolRefused(
            f"file {shown(name)}: it is no text (UTF-8), and nobody could review it; draft the program that makes it"
        )


def _told(entry: Content, mark: str) -> str:
    return f"{_name(entry.name)} ({mark}, {f'{entry.size:,} bytes' if entry.sha256 else 'no plain file'})"


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else shown(name)
