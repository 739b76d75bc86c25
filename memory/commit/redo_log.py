"""The file of the redo log, `.onepen/redo/log`: read at the opening, added to at each commit, then trimmed."""

import os
from pathlib import Path

from .. import files
from ..errors import MemoryFault
from ..problem import Problem
from ..room import REDO_LOG, open_room_file, read_room_file
from .identity import ACCEPTED, folder_name
from .redo import Scan, check_origin, scan


class SyncInDoubt(MemoryFault):
    """Raised when nobody can tell whether a record is on the disk."""


class RedoLog:
    """The open redo log of a workspace; `size` is that of its good records.

    `written` is the nanosecond at which it was last written when it was read; None where that says nothing.
    """

    def __init__(self, root: Path, workspace: str, disk: files.Disk) -> None:
        self._root = root
        self._path = root / REDO_LOG
        self._workspace = workspace
        self._disk = disk
        self._fd: int | None = None  # kept open, so that no other file gets its inode
        self.size = 0
        self.synced = 0
        self.written: int | None = None

    def read(self) -> Scan:
        """The records that are pending; changes nothing. Raises RedoDamaged, ForeignRedo or RoomUnfit."""
        fd = open_room_file(self._root, REDO_LOG)
        data = b""
        if fd is not None:
            with os.fdopen(fd, "rb") as file:
                data = file.read()
                times = os.fstat(fd)
                self.written = max(times.st_mtime_ns, times.st_ctime_ns)
        found = scan(data, REDO_LOG)
        accepted = read_room_file(self._root, ACCEPTED).decode("utf-8", "replace").strip()
        for record in found.records:
            check_origin(record, self._workspace, folder_name(self._root), accepted, REDO_LOG)
            if record.folder != folder_name(self._root):
                self.written = None  # a copy: its files are as old as the copying
        self.size = self.synced = len(data) - len(found.torn_tail)
        return found

    def prepare(self, found: Scan) -> Problem | None:
        """Make the log end with a good record, and be there at all; what was torn is kept aside."""
        if not self._path.exists():
            files.create_exclusive(self._path, b"", sync=True, disk=self._disk)
            files.sync_folder(self._path.parent.parent, disk=self._disk)
        self._fd = open_room_file(self._root, REDO_LOG)
        if not found.torn_tail:
            return None
        name = f"torn-{files.sha256(found.torn_tail)[:8]}"
        beside = self._path.with_name(name)
        files.replace(beside, found.torn_tail, tmp=f".{name}.new.tmp", sync=True, disk=self._disk)
        files.truncate(self._path, self.size, disk=self._disk)
        lazy = b'"synced":' in found.torn_tail
        message = f"its last record was torn and had never been acknowledged; it was cut, a copy is in {name}"
        if lazy:
            message = f"its last records were not on the disk when the power failed; they were cut, a copy is in {name}"
        return Problem(REDO_LOG, 0, "redo_torn", "warning", message)

    def stands(self) -> bool:
        """Whether the log is still the file that was prepared: a new one in its place would not outlast a power cut."""
        return self._fd is not None and files.same_file(self._fd, self._path)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def append(self, line: bytes, *, sync: bool = True) -> None:
        """Add a record's line and, with `sync`, wait until it is on the disk.

        Raises FileMovedOn when another process wrote the log, or an OSError: nothing of it is left; SyncInDoubt.
        """
        try:
            files.append(self._path, line, sync=sync, expect_size=self.size, disk=self._disk)
        except OSError as e:
            if self._path.stat().st_size != self.size:  # it was not cut off again: the sync failed, or the cut
                raise SyncInDoubt(str(e)) from e
            raise
        self.size += len(line)
        if sync:
            self.synced = self.size

    def sync(self) -> None:
        """Wait until all records are on the disk; raises SyncInDoubt."""
        try:
            files.sync_file(self._path, disk=self._disk)
        except OSError as e:
            raise SyncInDoubt(str(e)) from e
        self.synced = self.size

    def trim(self) -> None:
        """Empty the log: everything in it is in files that are on the disk."""
        files.truncate(self._path, 0, disk=self._disk)
        if (self._root / ACCEPTED).exists():
            files.remove(self._root / ACCEPTED, disk=self._disk)
        self.size = self.synced = 0
