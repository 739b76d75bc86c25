"""The machine's room of a workspace, `.onepen/`: its small files, opened as if a stranger had made them.

The folder never travels, but a clone or an archive can hold one all the same, with a FIFO in it that would keep every
command waiting, or a link to somewhere else.
"""

import os
from pathlib import Path
from typing import ClassVar

from .errors import MemoryFault
from .guard import UnsafeFile, open_beneath

ROOM = ".onepen"
REDO_LOG = f"{ROOM}/redo/log"
LOCK = f"{ROOM}/pen.lock"
NOTE = f"{ROOM}/pen.json"
MACHINE = f"{ROOM}/machine"
COUNTERS = f"{ROOM}/epoch"
FENCE = f"{ROOM}/fence"
ORCHESTRATOR_LOG = f"{ROOM}/orchestrator.log"
_MAX_BYTES = 1 << 20


class RoomUnfit(MemoryFault):
    """Raised when something else stands where a file of `.onepen/` should be; nothing was changed."""

    exit_code: ClassVar[int] = 6

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was changed. Move it away to go on: onepen makes it anew")
        self.path = path


def open_room_file(root: Path, path: str) -> int | None:
    """A descriptor for reading a file of the room, given as workspace path; None if it is absent.

    Raises RoomUnfit or PermissionError.
    """
    try:
        return open_beneath(root, path)
    except UnsafeFile as e:
        if e.kind == "missing":
            return None
        if e.kind == "unreadable":
            raise PermissionError(e.__cause__.errno if isinstance(e.__cause__, OSError) else 0, path) from e
        raise RoomUnfit(path, e.message.partition(": ")[2]) from e


def read_room_file(root: Path, path: str) -> bytes:
    """The content of a small file of the room, given as workspace path, empty if it is absent.

    Raises RoomUnfit or PermissionError.
    """
    fd = open_room_file(root, path)
    if fd is None:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(_MAX_BYTES)


def inspect_room(root: Path) -> None:
    """Look at the room and all its files before any is written; raises RoomUnfit or PermissionError."""
    for name in (ROOM, REDO_LOG.rpartition("/")[0]):
        folder = root / name
        if folder.is_symlink():
            raise RoomUnfit(name, "is a link, and a folder of this machine's own is needed here")
        if folder.exists() and not folder.is_dir():
            raise RoomUnfit(name, "is a file, and a folder is needed here")
    for path in (LOCK, NOTE, MACHINE, COUNTERS, FENCE, REDO_LOG):
        fd = open_room_file(root, path)
        if fd is not None:
            os.close(fd)
