"""A program tried as a worker, with a scripted orchestrator at the other end of the wire: plain blocking calls.

It runs as it would work: in a folder of its own, with the environment that every worker has, and confined where this
system can confine it.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ...memory import files
from ...memory.snapshot import SNAPSHOT_FILES
from ...staging.folder import TaskFolder
from ...subagents import wire
from ...subagents.assignment import Assignment, hello
from ...subagents.environment import child_environment
from ...subagents.process.forkserver import OWN
from ...subagents.process.order import Order
from ...subagents.sandbox.confinement import confinement_of
from ...subagents.sandbox.level import Level
from ...subagents.sandbox.wrapping import wrapped
from ...subagents.splitter import Noise

_PART = 1 << 16
_WORDS = 2_000
INPUT = "Notes of the third firing\ncone 6 was reached at 1222 degrees\nthe kiln was cold again at noon\n"


class Silent(Exception):
    """Raised inside when a program says nothing for too long."""


class Trial:
    """One run of a program; end it with `close`, or use it as a context manager.

    `noise` is what it printed on stdout that is no message, `stderr` the end of what it printed there.
    """

    def __init__(self, command: Sequence[str], assignment: Assignment, level: Level) -> None:
        self.assignment = assignment
        self.noise: list[Noise] = []
        self.stderr = b""
        self._splitter = wire.LineSplitter(wire.FROM_WORKER)
        self._waiting: list[wire.FromWorker] = []
        self._process = subprocess.Popen(
            _confined(tuple(command), assignment, level),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(os.environ),
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin = self._process.stdin.fileno()
        self._open = [self._process.stdout.fileno(), self._process.stderr.fileno()]
        os.set_blocking(self._stdin, False)

    def begin(self) -> None:
        """The assignment, in three pieces."""
        line = wire.encode(hello(self.assignment))
        for start in range(0, len(line), third := len(line) // 3 + 1):
            self.say(line[start : start + third])
            time.sleep(0.02)

    def say(self, message: "wire.ToWorker | bytes", seconds: float = 10.0) -> bool:
        """Whether the program took a message; one that has ended or doesn't read does not."""
        data = memoryview(message if isinstance(message, bytes) else wire.encode(message))
        deadline = time.monotonic() + seconds
        while data:
            try:
                data = data[os.write(self._stdin, data) :]
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
                self._look(0.02, writes=True)
            except (BrokenPipeError, ConnectionResetError):
                return False
        return True

    def hear(self, seconds: float) -> "wire.FromWorker | None":
        """The next message, None when there will be none; raises Silent when none comes in time."""
        deadline = time.monotonic() + seconds
        while not self._waiting:
            if not self._open:
                return None
            if time.monotonic() > deadline:
                raise Silent
            self._look(min(0.2, deadline - time.monotonic()))
        return self._waiting.pop(0)

    def ended(self, seconds: float) -> int | None:
        """How the program ended (negative: by a signal), None when it still runs after so long."""
        deadline = time.monotonic() + seconds
        while self._process.poll() is None and time.monotonic() < deadline:
            if not self._look(0.02):
                time.sleep(0.01)
        return self._process.poll()

    def rest(self) -> list[wire.FromWorker]:
        """What it said besides, once it has ended."""
        deadline = time.monotonic() + 0.5
        while self._open and time.monotonic() < deadline:
            self._look(0.05)
        return self._waiting

    def close(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass  # it is gone, with all that it had started
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert file is not None
            file.close()

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _look(self, seconds: float, *, writes: bool = False) -> bool:
        """Read what is there; whether there was anything."""
        ready, _, _ = select.select(self._open, [self._stdin] if writes else [], [], max(seconds, 0.0))
        for pipe in ready:
            data = os.read(pipe, _PART)
            if not data:
                self._open.remove(pipe)
            if self._process.stderr is not None and pipe == self._process.stderr.fileno():
                self.stderr = (self.stderr + data)[-_WORDS:]
                continue
            for one in self._splitter.feed(data) if data else self._splitter.finish():
                if isinstance(one, Noise):
                    self.noise.append(one)
                else:
                    self._waiting.append(one)
        return bool(ready)


def _confined(command: tuple[str, ...], assignment: Assignment, level: Level) -> tuple[str, ...]:
    """The command line that starts the program as the pool would; the program's own where nothing confines it."""
    if not level.confines:
        return command
    confinement = confinement_of(replace(assignment, program=command))
    order = Order(child_environment(os.environ), command, confinement.as_dict())
    return tuple(wrapped((*OWN, "--order", order.encode().decode()), confinement, level))


def scene(folder: Path) -> TaskFolder:
    """A small workspace to be tried in: a snapshot, a space with one card, a task with one input; its task's folder."""
    task = TaskFolder(folder / "space/staging/t0trial")
    texts = {
        "space/projects/kiln.md": "---\ntitle: Kiln\n---\n# Kiln\n\n## Firing\n\n- fire at 1200\n",
        "space/research/cones.md": "---\ntitle: Cones\n---\n# Cones\n\n## Heat\n\nNot known.\n",
        "space/staging/t0trial/inputs/firing notes.md": INPUT,
        **{f"snapshot/{name}": f"# {name}\n\nDates as 2026-11-29.\n" for name in SNAPSHOT_FILES},
    }
    for name, text in texts.items():
        files.make_folder((folder / name).parent, within=folder)
        files.create_exclusive(folder / name, text.encode())
    files.make_folder(task.drafts(1), within=folder)
    files.make_folder(task.attempt(1) / "work", within=folder)
    return task
