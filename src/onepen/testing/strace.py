"""Faults put into a running process from outside, by strace: the program that is tried has no hook for it.

`strace --inject` kills a process as it enters its n-th call of a kind, or makes that call fail; see strace(1). It is
attached to while it waits, so what it did to get ready (a Python imports a hundred files) isn't counted.
"""

import os
import re
import shutil
import subprocess
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CALLS = (
    "open", "openat", "openat2", "write", "pwrite64", "fsync", "fdatasync", "syncfs", "ftruncate", "fchmod", "fchown",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "mkdir", "mkdirat", "link", "linkat", "flock",
)  # fmt: skip
"""What changes a file system, and `open`; which of two names a machine uses depends on its kind."""

_LIMIT = 20.0
_CALL = re.compile(r"(?:\d+ +)?(\w+)\((.*)")


@dataclass(frozen=True)
class Point:
    """A place at which a process can be hit: its `nth` call (from 1) of a kind; `shown` is how strace tells it."""

    call: str
    nth: int
    shown: str = ""

    def __str__(self) -> str:
        return f"{self.call}#{self.nth} {self.shown[:150]}"


@dataclass(frozen=True)
class Fault:
    """What is to happen there: killed, or with `error` ("EIO") the call fails, once or, with `for_good`, from then on.

    With `delay` (microseconds) the call is carried out, and comes back that much later.
    """

    point: Point
    error: str | None = None
    for_good: bool = False
    delay: int = 0

    def __str__(self) -> str:
        done = self.error or (f"late by {self.delay} µs" if self.delay else "killed")
        return f"{done}{' for good' if self.for_good else ''} at {self.point}"

    @property
    def option(self) -> str:
        what = f"error={self.error}" if self.error else f"delay_exit={self.delay}" if self.delay else "signal=SIGKILL"
        return f"inject={self.point.call}:{what}:when={self.point.nth}{'+' if self.for_good else ''}"


@cache
def missing() -> str | None:
    """Why strace can't be used here; None if it can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1", "true"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return f"strace can't trace here: {tried.stderr.strip()[-200:]}" if tried.returncode else None


class Strace:
    """strace on a process that waits; leave the context when the process has ended.

    `out` is where it writes what it saw, with the paths behind descriptors.
    """

    def __init__(self, pid: int, out: Path, fault: Fault | None = None) -> None:
        self._pid = pid
        calls = ",".join(f"?{call}" for call in CALLS) if fault is None else fault.point.call
        injected = () if fault is None else ("-e", fault.option)
        command = ["strace", "-qq", "-y", "-s", "80", "-e", f"trace={calls}", "-e", "signal=none", *injected]
        self._command = [*command, "-o", str(out), "-p", str(pid)]

    def __enter__(self) -> "Strace":
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + _LIMIT
        while not _traced(self._pid):
            assert self._process.poll() is None, self._process.stderr and self._process.stderr.read()
            assert time.monotonic() < deadline, "strace did not attach"
            time.sleep(0.0005)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.wait(_LIMIT)
        except subprocess.TimeoutExpired:  # whoever ran the process has given it up
            self._process.kill()
            self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()


def points(seen: str, below: Path) -> tuple[Point, ...]:
    """The calls in what strace wrote that touch a file below a folder, each with its number among those of its kind."""
    counts: Counter[str] = Counter()
    found = []
    for line in seen.splitlines():
        call = _CALL.match(line)
        if call is None:
            continue
        counts[call[1]] += 1
        if f"{below}/" in call[2] or f"{below}>" in call[2] or f'{below}"' in call[2]:
            found.append(Point(call[1], counts[call[1]], line.replace(f"{below}/", "")))
    return tuple(found)


def _traced(pid: int) -> bool:
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 - asked very often
        return any(line.startswith("TracerPid:") and int(line.split()[1]) for line in status)


def alive(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
