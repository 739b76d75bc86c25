"""Removes what is left of a client that has a tombstone: done under the pen, and again whenever something came back.

What lies outside the client's folder goes first and the folder last, so as long as the folder is there, it is known
that something is still to be done. The caller has trimmed the redo log, which holds text of the latest commits.
"""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .. import files, trash
from ..aside import ASIDE
from ..ids import ClientId
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..room import ROOM
from ..tombstone import Tombstone, tombstones
from .batched import forget_batches

_BOOKS = re.compile(r"(?:usage|events)-\d{4}-\d{2}\.jsonl")
_TORN = re.compile(r"torn-[0-9a-f]{8}")


@dataclass(frozen=True)
class Buried:
    """A client whose files were removed, and how much that was."""

    tombstone: Tombstone
    files: int
    size: int


def bury_all(root: Path, settle: Callable[[], None], disk: files.Disk) -> tuple[Problem, ...]:
    """Remove all clients that have a tombstone, and what a crash left of that; what is to be told of it.

    `settle` makes sure that the pen is ours and that the redo log holds nothing of them. What can't be removed stops
    nobody; raises what `settle` raises beyond OSError.
    """
    told: list[Problem] = []
    try:
        trash.empty(root, disk=disk)
        for tombstone in unburied(root):
            settle()
            buried = bury(root, tombstone, disk)
            went = f"{buried.files} {'file' if buried.files == 1 else 'files'} went"
            message = f"the client was removed on {tombstone.time[:10]}: {went}"
            told.append(Problem(f"clients/{tombstone.client}", 0, "client_buried", "info", message))
    except (LinkLeadsOut, OSError) as e:
        reason = f"{e.filename}: {e.strerror}" if isinstance(e, OSError) else e.message
        message = f"what is left of a removed client could not be removed ({reason}); the next write tries again"
        told.append(Problem("clients", 0, "not_buried", "warning", message))
    return tuple(told)


def unburied(root: Path) -> tuple[Tombstone, ...]:
    """The removed clients of which something is there all the same."""
    if (root / "clients").is_symlink():
        return ()  # whose they are can't be told: doctor names the link
    return tuple(stone for client, stone in tombstones(root).items() if os.path.lexists(root / "clients" / client))


def bury(root: Path, tombstone: Tombstone, disk: files.Disk) -> Buried:
    """Remove all of a client; raises LinkLeadsOut or an OSError, and can then be run again."""
    folder = root / "clients" / tombstone.client
    count, size = (1, 0) if folder.is_symlink() else trash.measure(folder)
    _forget(root, tombstone.client, disk)
    forget_batches(root, tombstone.client, disk)
    if not (root / ROOM / "cache").is_symlink():
        trash.discard(root, root / ROOM / "cache", disk=disk)
    if not (root / ASIDE).is_symlink() and not (root / ASIDE / "clients").is_symlink():
        trash.discard(root, root / ASIDE / "clients" / tombstone.client, disk=disk)
    trash.discard(root, folder, disk=disk)
    return Buried(tombstone, count, size)


def _forget(root: Path, client: ClientId, disk: files.Disk) -> None:
    """Take the client out of what the house itself keeps."""
    for path, data in _found(resolve(root, "logs"), _BOOKS):
        kept = b"".join(line for line in data.splitlines(keepends=True) if not _is_of(line, client))
        if not kept:
            files.remove(path, disk=disk)
        elif kept != data:
            files.replace(path, kept, sync=True, disk=disk)
    for path, data in _found(root / ROOM / "redo", _TORN):
        if f"clients/{client}/".encode() in data:
            files.remove(path, disk=disk)


def _found(folder: Path, names: re.Pattern[str]) -> Iterator[tuple[Path, bytes]]:
    try:
        found = sorted(path for path in folder.iterdir() if names.fullmatch(path.name))
    except (FileNotFoundError, NotADirectoryError):
        return
    for path in found:
        if not path.is_symlink() and path.is_file():
            yield path, path.read_bytes()


def _is_of(line: bytes, client: ClientId) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("client") == client
