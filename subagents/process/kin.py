"""Who descends from this process, by /proc, and ending all of it.

A subreaper gets the children of its descendants that end, however far they ran (`setsid`, double forks): whoever a
worker started is at any moment below the worker or, once its parent has ended, a child of the subreaper. So to end all
that is left is to end one's children again and again until there are none: Linux prctl(2), PR_SET_CHILD_SUBREAPER.
"""

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress

from ..libc import libc

LAST_SECONDS = 60.0
"""How long the last processes may take to end: what hangs in the kernel is not waited for for ever."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PIECE = 1 << 16  # bytes of a file of /proc that are read at once


def take_in_orphans() -> None:
    """Make this process the parent of all its descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when the thread that forked it ends; `parent` is that thread's process."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the kernel was told
        os._exit(1)


def children(pid: int) -> tuple[int, ...]:
    """The children of a process, ended ones too as long as nobody has waited for them; none if it is gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a name is all it takes
            found += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())
    except (FileNotFoundError, ProcessLookupError):
        return tuple(_children_by_search(pid))  # a thread has ended meanwhile, or the kernel keeps no such list
    return tuple(found)


def descendants(pid: int) -> Iterator[int]:
    """All below a process, from the top down, as they are when they are looked at."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def strike(spared: Collection[int]) -> int:
    """Kill each child of this process that isn't spared, with all below it; how many children that were.

    What was forked meanwhile is left: call it again, after waiting for the dead, until it says 0.
    """
    strangers = [child for child in children(os.getpid()) if child not in spared]
    for stranger in strangers:
        below = list(descendants(stranger))
        _kill(stranger)
        for one in below:
            _kill(one)
    return len(strangers)


def end_all(seconds: float = LAST_SECONDS) -> bool:
    """Kill all descendants of this process, which takes in orphans; whether none is left after `seconds` at most."""
    deadline = time.monotonic() + seconds
    pause = 0.0005
    while strike(()):
        while _reaped():
            pass
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return True


def _children_by_search(parent: int) -> Iterator[int]:
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, by the hundred
        if name.isdecimal():
            with suppress(FileNotFoundError, ProcessLookupError):
                if int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[1]) == parent:
                    yield int(name)


def _reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    libc().prctl(option, value, 0, 0, 0)


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while part := os.read(fd, _PIECE):
            data += part
        return data
    finally:
        os.close(fd)
