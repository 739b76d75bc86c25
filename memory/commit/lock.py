"""The lock by which one process at a time holds the pen.

`flock` on `.onepen/pen.lock`: the kernel frees it with its holder, however that ends, and nothing has to be cleaned up.
Two facts need care. The lock is on the *file*, so whoever deletes the name lets a second holder in: before each commit
the descriptor is compared with the name, and the epoch, which every new holder counts up, with our own. And network
file systems promise less than they do; they are refused.
"""

import os
import socket
import sys
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from filelock import FileLock, Timeout

from ..errors import MemoryFault
from ..files import Disk, same_file
from ..holder import Holder, PenHeld, holder, note_holder, noted_holder
from ..room import LOCK
from ..workspace import Workspace

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "smb2", "afs"})
_POLL = 0.02  # seconds between two tries


class PenLost(MemoryFault):
    """Raised when the lock was taken away from its holder, so that another process may write; nothing was written."""

    exit_code: ClassVar[int] = 5

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: this process lost the pen: {reason}; nothing was written", hint="onepen status")


class NetworkFileSystem(MemoryFault):
    """Raised when a workspace lies where a lock can't be trusted."""

    exit_code: ClassVar[int] = 2

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(
            f"{path}: lies on a network file system ({kind}), where locks can't be trusted; copy it to a disk"
        )


class PenLock:
    """The held lock of a workspace."""

    def __init__(self, workspace: Workspace, lock: FileLock, fd: int) -> None:
        self._path = workspace.root / LOCK
        self._lock = lock
        self._fd = fd

    @classmethod
    def acquire(cls, workspace: Workspace, wait: float) -> "PenLock":
        """Take the lock within `wait` seconds; raises PenHeld, NetworkFileSystem, or an OSError that names the lock."""
        path = workspace.root / LOCK
        kind = network_file_system(path.parent)
        if kind is not None:
            raise NetworkFileSystem(str(workspace.root), kind)
        fds: list[int] = []
        lock = FileLock(path, mode=0o600, thread_local=False, fallback_to_soft=False, on_acquired=fds.append)
        for patience in (max(wait, 0.0), 0.1):
            try:
                lock.acquire(timeout=patience, poll_interval=_POLL)
                return cls(workspace, lock, fds[-1])
            except Timeout:
                found = holder(workspace.root)
                if found is not None:
                    raise PenHeld(str(workspace.root), found) from None
                # Somebody only looked who holds the lock, for a moment, or has just put it down.
            except OSError as e:
                if e.filename is None and e.errno is not None:
                    raise OSError(e.errno, os.strerror(e.errno), str(path)) from e
                raise
        raise PenHeld(str(workspace.root), noted_holder(workspace.root))

    def note(self, workspace: Workspace, since: datetime, disk: Disk) -> None:
        """Tell others who holds the pen."""
        note = Holder(os.getpid(), socket.gethostname(), since.isoformat(timespec="seconds"))
        note_holder(workspace.root, note, disk)

    def check(self) -> None:
        """Raise PenLost when the lock file is no longer the one that is locked."""
        if not same_file(self._fd, self._path):
            raise PenLost(str(self._path), "the lock file was removed or replaced")

    def release(self) -> None:
        self._lock.release()


def network_file_system(folder: Path) -> str | None:
    """The type of the network file system that a folder lies on; None for a local one or where it can't be told."""
    if sys.platform != "linux":
        return None
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    device = folder.stat().st_dev
    return network_kind(mounts, f"{os.major(device)}:{os.minor(device)}")


def network_kind(mounts: str, device: str) -> str | None:
    """The type of a device in the text of mountinfo (see proc_pid_mountinfo(5)) if it is one of a network."""
    for line in mounts.splitlines():
        head, _, tail = line.partition(" - ")
        if head.split()[2:3] == [device]:
            kind = tail.split(" ", 1)[0]
            return kind if kind in _NETWORK else None
    return None
