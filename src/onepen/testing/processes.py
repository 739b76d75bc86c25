"""Processes as /proc shows them: who is alive, and who is below whom."""

import time
from collections.abc import Callable
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int) -> list[int]:
    """The children of a process with one thread."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def below(pid: int) -> list[int]:
    """All that descends from a process and is alive."""
    found: list[int] = []
    for child in children(pid):
        found += [child, *below(child)] if alive(child) else below(child)
    return found


def marked(mark: str) -> list[int]:
    """The processes that were started with this in their environment, such as HOME=/x, and are alive."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0") and alive(int(entry.name)):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Look again and again until it is so; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.005)
