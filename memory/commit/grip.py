"""What whoever holds the pen has in hand: the lock, the epoch and the redo log, and whether a commit is in doubt."""

from contextlib import suppress

from .. import files
from ..room import REDO_LOG
from ..workspace import Workspace
from . import machine
from .doubt import RecoveryNeeded
from .ledger import Ledger
from .lock import PenLock, PenLost
from .machine import Counters
from .recovery import Rollforward
from .redo_log import RedoLog, SyncInDoubt


class Grip:
    """The hold on a workspace's pen.

    `machine` and `epoch` are known once the pen is opened (opening.py); `done` is what was brought into files since the
    last checkpoint, and what is to be told. With a `doubt` the pen takes no more.
    """

    def __init__(self, workspace: Workspace, lock: PenLock, disk: files.Disk) -> None:
        self.workspace = workspace
        self.lock = lock
        self.disk = disk
        self.redo = RedoLog(workspace.root, workspace.settings.id, disk)
        self.ledger = Ledger(workspace.root)
        self.done = Rollforward()
        self.doubt: RecoveryNeeded | None = None
        self.epoch = 0
        self.machine = ""
        self.closed = False

    def fence(self) -> None:
        """Make sure that the pen is still ours; raises PenLost or RecoveryNeeded."""
        if self.closed:
            raise PenLost(str(self.workspace.root), "it was put down")
        if self.doubt is not None:
            raise RecoveryNeeded(self.doubt.what, self.doubt.reason)
        self.lock.check()
        counters = machine.read_counters(self.workspace.machine_room)
        if counters is None or counters.epoch != self.epoch:
            raise PenLost(str(self.workspace.root), "another process took it")
        if not self.redo.stands():
            raise PenLost(REDO_LOG, "the redo log was removed or replaced")

    def record(self, commit: str, line: bytes, *, sync: bool) -> None:
        """Append a record to the redo log; with `sync` that is the commit point.

        The commit is in doubt until the caller says otherwise. Raises PenLost or an OSError, and then nothing is in
        doubt; or RecoveryNeeded.
        """
        self.doubt = RecoveryNeeded(commit, "it was broken off")
        try:
            self.redo.append(line, sync=sync)
        except SyncInDoubt as e:
            self.doubt = RecoveryNeeded(commit, e.message)
            raise self.doubt from e
        except files.FileMovedOn as e:
            self.doubt = None
            raise PenLost(REDO_LOG, "another process wrote the redo log") from e
        except OSError:
            self.doubt = None
            raise

    def checkpoint(self) -> None:
        """Wait until all files are on the disk, then trim the redo log; raises PenLost or an OSError."""
        if not self.redo.size:
            return
        self.fence()
        self.doubt = RecoveryNeeded(REDO_LOG, "a checkpoint was broken off")  # a sync that failed is not tried again
        root = self.workspace.root
        for path in sorted(self.done.touched):
            with suppress(FileNotFoundError):  # a person removed it since
                files.sync_file(path, disk=self.disk)
        folders = {folder for path in self.done.touched for folder in path.parents if folder.is_relative_to(root)}
        for folder in sorted(folders):
            with suppress(FileNotFoundError):
                files.sync_folder(folder, disk=self.disk)
        self.count()
        self.redo.trim()
        self.done.touched.clear()
        self.doubt = None

    def count(self) -> None:
        """Keep the epoch and the highest number that was given out."""
        counters = Counters(self.epoch, self.ledger.highest)
        if machine.read_counters(self.workspace.machine_room) != counters:
            machine.write_counters(self.workspace.machine_room, counters, self.disk)

    def let_go(self) -> None:
        """Put the pen down."""
        self.closed = True
        self.redo.close()
        self.lock.release()
