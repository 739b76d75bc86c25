"""The system calls by which files.py changes a file system, in one place, so that tests can make any of them fail."""

import fcntl
import os
import sys
from contextlib import suppress
from pathlib import Path

from .renameat2 import EXCHANGE, NO_REPLACE, renameat2


class Disk:
    """The system calls that change a file system; a subclass can make any of them fail, as tests do."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def write(self, fd: int, data: memoryview) -> int:
        return os.write(fd, data)

    def sync(self, fd: int) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)  # fsync alone leaves the data in the drive's cache
        else:
            os.fdatasync(fd)

    def begin_sync(self, fd: int) -> None:
        """Let the system start to write, so that what is synced together waits for the disk once; no promise."""
        if sys.platform == "linux":
            with suppress(OSError):
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def sync_folder(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size: int) -> None:
        os.ftruncate(fd, size)

    def chmod(self, fd: int, mode: int) -> None:
        os.fchmod(fd, mode)

    def open_up(self, folder: Path) -> None:
        """Let its owner list and empty a folder, whatever its maker thought of that."""
        folder.chmod(0o700)

    def chown(self, fd: int, user: int, group: int) -> None:
        os.fchown(fd, user, group)

    def keep_time(self, path: Path, like: os.stat_result) -> None:
        os.utime(path, ns=(like.st_atime_ns, like.st_mtime_ns))

    def rename(self, source: Path, target: Path) -> None:
        source.replace(target)

    def exchange(self, one: Path, other: Path) -> bool:
        """Swap two names at one moment; False where the system can't."""
        return renameat2(one, other, EXCHANGE)

    def rename_new(self, source: Path, target: Path) -> bool:
        """Rename unless `target` exists (FileExistsError); False where the system can't."""
        return renameat2(source, target, NO_REPLACE)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def mkdir(self, path: Path) -> None:
        path.mkdir(mode=0o700)

    def rmdir(self, path: Path) -> None:
        path.rmdir()


class NoLinks(Disk):
    """Opens no file by a link, also when it was put there a moment ago."""

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        return super().open(path, flags | os.O_NOFOLLOW, mode)


DISK = Disk()
NO_LINKS = NoLinks()
