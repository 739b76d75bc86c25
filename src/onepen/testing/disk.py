"""A disk that breaks at the n-th operation, as is asked for: to stage crashes instead of waiting for them."""

import os
from pathlib import Path

from onepen.memory.files import Disk


class Stopped(BaseException):
    """Raised where the process is said to have been killed, and at every operation after that."""


class BreakingDisk(Disk):
    """A real disk whose operations are counted, and which breaks at operation `at` (from 1; None: never).

    Without `error` the process "dies" there: Stopped is raised now and ever after, so that no cleaning up reaches the
    disk. With an errno that operation fails with it, once or, with `for_good`, from then on. A write that breaks leaves
    half of its data. Syncs are counted and not done: what a process has written outlives it without them.
    """

    def __init__(self, at: int | None = None, *, error: int | None = None, for_good: bool = False) -> None:
        self.count = 0
        self.log: list[str] = []
        self._at = at
        self._error = error
        self._for_good = for_good
        self._dead = False

    @property
    def broke(self) -> bool:
        """Whether the operation at which it breaks was reached."""
        return self._at is not None and self.count >= self._at

    def arm(self, after: int, *, error: int | None = None, for_good: bool = False) -> None:
        """Break at the `after`-th operation from now on (from 1)."""
        self._at, self._error, self._for_good = self.count + after, error, for_good

    def _step(self, what: str) -> None:
        if self._breaks(what):
            self._break(what)

    def _breaks(self, what: str) -> bool:
        self.count += 1
        self.log.append(what)
        return self._dead or self.count == self._at or (self._for_good and self.broke)

    def _break(self, what: str) -> None:
        if self._error is None:
            self._dead = True
            raise Stopped(what)
        raise OSError(self._error, os.strerror(self._error))

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        self._step(f"open {path.name}")
        return super().open(path, flags, mode)

    def write(self, fd: int, data: memoryview) -> int:
        if self._breaks("write"):
            if not self._dead:
                super().write(fd, data[: len(data) // 2])
            self._break("write")
        return super().write(fd, data)

    def sync(self, fd: int) -> None:
        self._step("sync")

    def sync_folder(self, fd: int) -> None:
        self._step("sync folder")

    def truncate(self, fd: int, size: int) -> None:
        self._step("truncate")
        super().truncate(fd, size)

    def chmod(self, fd: int, mode: int) -> None:
        self._step("chmod")
        super().chmod(fd, mode)

    def chown(self, fd: int, user: int, group: int) -> None:
        self._step("chown")
        super().chown(fd, user, group)

    def rename(self, source: Path, target: Path) -> None:
        self._step(f"rename {target.name}")
        super().rename(source, target)

    def exchange(self, one: Path, other: Path) -> bool:
        self._step(f"exchange {other.name}")
        return super().exchange(one, other)

    def rename_new(self, source: Path, target: Path) -> bool:
        self._step(f"rename {target.name}")
        return super().rename_new(source, target)

    def unlink(self, path: Path) -> None:
        self._step(f"unlink {path.name}")
        super().unlink(path)

    def mkdir(self, path: Path) -> None:
        self._step(f"mkdir {path.name}")
        super().mkdir(path)

    def rmdir(self, path: Path) -> None:
        self._step(f"rmdir {path.name}")
        super().rmdir(path)
