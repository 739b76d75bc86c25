"""What a process and all that it started use: processor time and memory that is nobody else's, as Linux tells it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def children(pid: int) -> list[int]:
    """The processes that a process has started and not waited for yet."""
    found: list[int] = []
    try:
        for thread in (PROC / str(pid) / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    except OSError:
        pass  # it ended meanwhile
    return found


def descendants(pid: int) -> Iterator[int]:
    """The same, and what those have started, and so on."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def processor_seconds(pid: int) -> float:
    """Processor time of a process, of what it started, and of those among them that it has waited for.

    Of this process the time is exact, of the others in the system's ticks.
    """
    own = time.process_time() + _waited_for(os.getpid()) if pid == os.getpid() else _ticks(pid)
    return own + sum(map(_ticks, descendants(pid)))


def private_bytes(pid: int) -> int:
    """Memory of a process that it shares with no other; 0 if it has ended."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))


def available_bytes() -> int:
    """Memory that new processes can have."""
    for line in (PROC / "meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    return 0


def _stat(pid: int) -> list[str]:
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


def _ticks(pid: int) -> float:
    """utime, stime, cutime and cstime (proc(5)), which are fields 14 to 17."""
    return sum(map(int, _stat(pid)[11:15])) / TICK


def _waited_for(pid: int) -> float:
    return sum(map(int, _stat(pid)[13:15])) / TICK
