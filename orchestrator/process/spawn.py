"""Start an orchestrator in the background, as a process that belongs to no terminal.

It says over a pipe how it went, in one line: "ready", "held" (another orchestrator has the pen), or for which error it
ended.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...memory.room import ORCHESTRATOR_LOG
from .environment import background_environment
from .errors import NotStarted, Told, error_line, told_by
from .log import open_log
from .protocol import Garbled, Line, decode, encode

if TYPE_CHECKING:
    import subprocess

_MOST = 1 << 16


@dataclass(frozen=True)
class Report:
    """What a started process said of its start: "starting" as long as it said nothing."""

    state: Literal["starting", "ready", "held", "failed"]
    error: Told | NotStarted | None = None


class Started:
    """A process that was started and may still be on its way."""

    def __init__(self, process: "subprocess.Popen[bytes]", pipe: int) -> None:
        self._process = process
        self._pipe = pipe
        self._said = bytearray()
        self.pid = process.pid

    def report(self) -> Report:
        """What it has said until now; nobody is waited for."""
        import select

        while select.select([self._pipe], [], [], 0)[0]:
            part = os.read(self._pipe, _MOST)
            self._said += part
            if not part:
                break
        if b"\n" in self._said:
            return _read(bytes(self._said))
        if self._process.poll() is None:
            return Report("starting")
        return Report("failed", NotStarted(f"it ended with {self._process.returncode}", ORCHESTRATOR_LOG))

    def leave(self) -> None:
        """Let it go its own way."""
        os.close(self._pipe)
        self._process.returncode = self._process.poll() or 0  # or Popen would complain that it still runs


def start(root: Path, env: Mapping[str, str], *, idle_seconds: float | None = None) -> Started:
    """Start an orchestrator for the workspace in `root`; raises RoomUnfit or an OSError."""
    import subprocess

    idle = [] if idle_seconds is None else ["--idle", f"{idle_seconds:g}"]
    ours, theirs = os.pipe()
    log = open_log(root)
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "onepen", "-C", root, "up", "--foreground", "--ready-fd", str(theirs), *idle],
            cwd="/", env=background_environment(env), start_new_session=True, pass_fds=[theirs],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(log)
        os.close(theirs)
    return Started(process, ours)


def say(fd: int, line: Line) -> None:
    """The started process's one word; who started it may be gone."""
    try:
        os.write(fd, encode(line))
        os.close(fd)
    except OSError:
        return


def say_ready(fd: int) -> None:
    say(fd, {"state": "ready"})


def say_held(fd: int) -> None:
    say(fd, {"state": "held"})


def say_failed(fd: int, kind: str, message: str, hint: str | None, exit_code: int) -> None:
    say(fd, {"state": "failed", **error_line(kind, message, hint, exit_code)})


def _read(data: bytes) -> Report:
    try:
        line = decode(data.partition(b"\n")[0])
    except Garbled:
        line = {}
    match line.get("state"):
        case "ready":
            return Report("ready")
        case "held":
            return Report("held")
    return Report("failed", told_by(line) or NotStarted("it said nothing that makes sense", ORCHESTRATOR_LOG))
