"""The real `onepen` program as a child process, with pipes or on a terminal of its own, as a shell would start it."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .processes import alive, below

PROGRAM = Path(sys.executable).parent / "onepen"
LIMIT = 30.0


@dataclass(frozen=True)
class Ran:
    """How a run ended; `screen` is what a terminal was sent, empty without one."""

    code: int
    out: str = ""
    err: str = ""
    screen: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """onepen in an environment that holds nothing but PATH, HOME and LANG; `home` is also the folder it starts in."""

    def __init__(self, home: Path) -> None:
        self.home = home.resolve()
        self.env = {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": str(self.home), "LANG": "C.UTF-8"}

    def __call__(
        self, *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str | bytes = ""
    ) -> Ran:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run(
            [PROGRAM, *map(str, args)],
            cwd=cwd or self.home, env={**self.env, **(env or {})}, input=data, capture_output=True, timeout=LIMIT,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def ok(
        self, *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, stdin: str = ""
    ) -> Ran:
        ran = self(*args, cwd=cwd, env=env, stdin=stdin)
        assert ran.code == 0, ran
        return ran

    def json(self, *args: str | Path, cwd: Path | None = None) -> Any:
        return self.ok(*args, "--json", cwd=cwd).json

    def shell(self, script: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Ran:
        """A line of bash; pipefail is off, as it is at a prompt."""
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=cwd or self.home, env={**self.env, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=LIMIT,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def down(self) -> None:
        """End every orchestrator of a workspace below `home`, whatever it is at work on."""
        end_orchestrators(self.home)

    def terminal(
        self, *args: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None, types: bytes = b""
    ) -> Ran:
        """All three streams on a terminal; what is typed arrives once a question stands there."""
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            [PROGRAM, *map(str, args)],
            cwd=cwd or self.home, env={**self.env, "TERM": "xterm-256color", **(env or {})},
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        try:
            screen = _watch(ours, types)
            code = child.wait(LIMIT)
        finally:
            child.kill()
            child.wait()
            os.close(ours)
        return Ran(code, screen=screen.decode(errors="replace"))


def orchestrators(folder: Path) -> dict[int, str]:
    """The orchestrators in the background that work for a workspace in `folder` or below: process and command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
            except OSError:
                continue
            if "--ready-fd" in words and (f" {folder}/" in words or f" {folder} " in words):
                found[int(entry.name)] = words
    return found


def end_orchestrators(folder: Path) -> dict[int, str]:
    """Kill those orchestrators and wait until they and their workers are gone; gives which there were."""
    found = orchestrators(folder)
    under = [one for pid in found for one in below(pid)]  # the warden has the log open for a moment longer
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + LIMIT
    while orchestrators(folder) or any(map(alive, under)):
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


def _watch(terminal: int, types: bytes) -> bytes:
    """Everything on the screen until the program ends; answers the first question ("] " or "? ") with `types`."""
    seen, deadline = b"", time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.2)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is closed: the program ended
            return seen
        if not part:
            return seen
        seen += part
        if types and seen.endswith((b"] ", b"? ")):
            os.write(terminal, types)
            types = b""
    raise AssertionError(f"still running after {LIMIT} s: {seen!r}")
