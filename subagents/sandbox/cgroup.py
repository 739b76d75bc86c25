"""How many processes root's worker may have: a limit of its user doesn't bind root, but one of a control group does.

An ordinary user has no right to make a group, and needs none: RLIMIT_NPROC binds. See cgroups(7); the older hierarchy
of groups has a folder for each kind of limit, the newer one has one folder for all.
"""

import os
from contextlib import suppress
from pathlib import Path

_OLD = Path("/sys/fs/cgroup/pids")
_NEW = Path("/sys/fs/cgroup")
_PREFIX = "onepen-"


def enclose(processes: int) -> bool:
    """Put this process into a group of its own with at most so many; False where none can be made.

    Groups of workers that are gone are removed on the way: nobody is left who could.
    """
    for above in (_OLD, _NEW):
        with suppress(OSError):
            if above is _NEW and "pids" not in (above / "cgroup.subtree_control").read_text().split():
                continue
            _sweep(above)
            group = above / f"{_PREFIX}{os.getpid()}"
            group.mkdir(exist_ok=True)
            _write(group / "pids.max", processes)
            _write(group / "cgroup.procs", os.getpid())
            return True
    return False


def _sweep(above: Path) -> None:
    for group in above.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody is in it still
            group.rmdir()


def _write(path: Path, number: int) -> None:
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, b"%d" % number)
    finally:
        os.close(fd)
