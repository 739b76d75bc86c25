"""Who holds the pen, for messages and for `status`: read without waiting, and without taking the lock for long."""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from .errors import MemoryFault
from .room import LOCK, NOTE, open_room_file, read_room_file

if TYPE_CHECKING:
    from .files import Disk


@dataclass(frozen=True)
class Holder:
    """The process that holds the pen; `since` is ISO 8601. Without a readable note, `pid` is 0.

    `socket` is where it takes requests, `version` what it runs and `durability` when its commits count as made, for an
    orchestrator that takes any.
    """

    pid: int
    host: str
    since: str
    socket: str = ""
    version: str = ""
    durability: str = "full"

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}" if self.pid else "another process"


class PenHeld(MemoryFault):
    """Raised when another process holds the pen and didn't put it down in time."""

    exit_code: ClassVar[int] = 5

    def __init__(self, path: str, holder: Holder) -> None:
        super().__init__(f"{path}: the pen is held by {holder}", hint="onepen status")
        self.holder = holder


def holder(root: Path) -> Holder | None:
    """Who holds the pen of the workspace in `root` now; None when it is free. Raises RoomUnfit or PermissionError."""
    fd = open_room_file(root, LOCK)
    if fd is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return noted_holder(root)
    finally:
        os.close(fd)
    return None


def noted_holder(root: Path) -> Holder:
    """What the holder wrote about itself; a note that makes no sense names nobody. Raises RoomUnfit."""
    try:
        found = json.loads(read_room_file(root, NOTE))
        usual = {"socket": "", "version": "", "durability": "full"}
        told = [str(found.get(name, value)) for name, value in usual.items()]
        return Holder(int(found["pid"]), str(found["host"]), str(found["since"]), *told)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return Holder(0, "", "")


def note_holder(root: Path, note: Holder, disk: "Disk | None" = None) -> None:
    """Write down who holds the pen, for others to read."""
    from . import files

    data = json.dumps(asdict(note)).encode() + b"\n"
    files.replace(root / NOTE, data, tmp=".pen.json.new.tmp", disk=disk or files.DISK)
