"""One command of a model, from its start to the end of all that it started.

It runs in a session of its own, and where the kernel can hold it there nothing of it leaves that: one signal ends it
with everything it began. A process that has ended is looked at without reaping it, until its group is killed: its
number can't be a stranger's before that.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Literal

from ..process.kin import die_with_parent
from ..sandbox import landlock, seccomp
from ..sandbox.filter import Kernel, packed
from ..sandbox.filter import together as keeps_together
from .printed import Printed

SHELL = "/bin/sh"
MOST_PRINTED = 64 << 20
"""Bytes that a command may print before it is ended."""

_CHUNK = 65_536
_POLL = 0.05  # seconds between two looks whether it has ended, where something else still holds its pipes
_LOOK = 0.5  # seconds between two looks at how full its folder is

Cut = Literal["", "time", "output", "space"]
"""Why a command was ended before it had ended by itself."""


@dataclass
class Ran:
    """What came of a command: `status` is its exit code, negative for a signal; `full` says what there is too much of.

    `held` says that something it had started was still at work when it ended, and was ended with it.
    """

    stdout: Printed = field(default_factory=Printed)
    stderr: Printed = field(default_factory=Printed)
    status: int = 0
    cut: Cut = ""
    full: str = ""
    held: bool = False


def run_command(
    command: str,
    folder: Path,
    environment: Mapping[str, str],
    *,
    seconds: float,
    overfull: Callable[[], str | None],
    alive: Callable[[], None],
) -> Ran:
    """Run a line of shell in `folder` for at most `seconds`; raises an OSError if it can't be started.

    `overfull` is asked now and then what there is too much of, `alive` is told now and then that it goes on.
    """
    child = subprocess.Popen(
        [SHELL, "-c", command],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        preexec_fn=partial(_hold, os.getpid(), together(), landlock.version()),
    )
    assert child.stdout is not None and child.stderr is not None
    ran = Ran()
    try:
        with selectors.DefaultSelector() as pipes, child.stdout, child.stderr:
            for pipe, printed in ((child.stdout, ran.stdout), (child.stderr, ran.stderr)):
                os.set_blocking(pipe.fileno(), False)
                pipes.register(pipe.fileno(), selectors.EVENT_READ, printed)
            ran.cut = _listen(child, pipes, ran, time.monotonic() + seconds, overfull, alive)
            _drain(pipes)
            ran.held = not ran.cut and bool(pipes.get_map())
            _kill_group(child.pid)
            _drain(pipes)
    finally:
        _kill_group(child.pid)
        ran.status = child.wait()
    return ran


def _listen(
    child: "subprocess.Popen[bytes]",
    pipes: selectors.BaseSelector,
    ran: Ran,
    deadline: float,
    overfull: Callable[[], str | None],
    alive: Callable[[], None],
) -> Cut:
    """Read what it prints until it has ended, or has to be; why it has to be."""
    looked = time.monotonic()
    while not _has_ended(child):
        now = time.monotonic()
        if now >= deadline:
            return "time"
        if ran.stdout.size + ran.stderr.size > MOST_PRINTED:
            return "output"
        if now - looked >= _LOOK:
            looked = now
            alive()
            if (full := overfull()) is not None:
                ran.full = full
                return "space"
        if pipes.get_map():
            _read(pipes, min(_POLL, deadline - now))
        else:
            time.sleep(_POLL / 10)  # it has closed its pipes, and is about to end
    return ""


def _read(pipes: selectors.BaseSelector, wait: float) -> bool:
    """Take what has come on the pipes; False if nothing has. One that has come to its end is let go."""
    events = pipes.select(max(wait, 0.0))
    for key, _ in events:
        data = os.read(key.fd, _CHUNK)
        if data:
            key.data.add(data)
        else:
            pipes.unregister(key.fd)
    return bool(events)


def _drain(pipes: selectors.BaseSelector) -> None:
    """Read until the pipes are empty: something that still holds them may print for ever."""
    enough = time.monotonic() + _LOOK
    while pipes.get_map() and _read(pipes, 0.0) and time.monotonic() < enough:
        pass


def _has_ended(child: "subprocess.Popen[bytes]") -> bool:
    """Whether it has ended; where the system can, it is left a zombie, whose number nobody gets."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return child.poll() is not None


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # nobody is left, or (macOS) only one that has ended and waits to be reaped


@cache
def together() -> bytes:
    """The filter that keeps what a command starts in its group; b"" where there are none."""
    kernel = Kernel(os.uname().machine, 0)
    can = sys.platform == "linux" and kernel.can and seccomp.offered()
    return packed(keeps_together(kernel)) if can else b""


def _hold(parent: int, group: bytes, scopes: int) -> None:
    """In the child: whatever ends the worker ends its command, which can't end the worker, and can't get away from it.

    See landlock(7). This is on top of what the worker itself is held to.
    """
    if sys.platform == "linux":
        die_with_parent(parent)
    if group:
        seccomp.no_new_privileges()
        landlock.set_apart(scopes)
        seccomp.install(group)
