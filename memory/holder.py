"""Who holds the pen, for messages and for `status`: read without waiting, and without taking the lock for long."""

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import ClassVar

from . import files
from .errors import MemoryFault
from .room import LOCK, NOTE, open_room_file, read_room_file
from .workspace import Workspace


@dataclass(frozen=True)
class Holder:
    """The process that holds the pen; `since` is ISO 8601. Without a readable note, `pid` is 0."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}" if self.pid else "another process"


class PenHeld(MemoryFault):
    """Raised when another process holds the pen and didn't put it down in time."""

    exit_code: ClassVar[int] = 5

    def __init__(self, path: str, holder: Holder) -> None:
        super().__init__(f"{path}: the pen is held by {holder}", hint="onepen status")
        self.holder = holder


def holder(workspace: Workspace) -> Holder | None:
    """Who holds the pen of a workspace now; None when it is free. Raises RoomUnfit or PermissionError."""
    fd = open_room_file(workspace.root, LOCK)
    if fd is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return noted_holder(workspace)
    finally:
        os.close(fd)
    return None


def noted_holder(workspace: Workspace) -> Holder:
    """What the holder wrote about itself; a note that makes no sense names nobody. Raises RoomUnfit."""
    try:
        found = json.loads(read_room_file(workspace.root, NOTE))
        return Holder(int(found["pid"]), str(found["host"]), str(found["since"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Holder(0, "", "")


def note_holder(workspace: Workspace, pid: int, host: str, since: datetime, disk: files.Disk) -> None:
    """Write down who holds the pen, for others to read."""
    note = asdict(Holder(pid, host, since.isoformat(timespec="seconds")))
    files.replace(workspace.root / NOTE, json.dumps(note).encode() + b"\n", tmp=".pen.json.new.tmp", disk=disk)
