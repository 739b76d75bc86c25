"""An orchestrator in another time: `python -m onepen.testing.elsewhen WORKSPACE FILE`, where FILE says what time it is.

All but the clock is as in the background of a workspace: the pen, the socket, the workers, the models. So a day of
talking takes a minute, and yet each line in a chat, a day log and a booking has the time that it would have had.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType

from ..orchestrator.commands.failure import told
from ..orchestrator.process.life import Life

LIMIT = 60.0


class FileClock:
    """The time that stands in a file; each look reads it anew."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def now(self) -> datetime:
        return datetime.fromisoformat(self._file.read_text())

    def set(self, at: datetime) -> None:
        """Whoever looks meanwhile sees the time before or after."""
        new = self._file.with_suffix(".new")
        new.write_text(at.isoformat())
        new.replace(self._file)

    def move(self, by: timedelta) -> None:
        self.set(self.now() + by)


class Elsewhen:
    """The orchestrator of a workspace, as a process of its own with an environment of its own, in `clock`'s time."""

    def __init__(self, workspace: Path, clock: Path, env: Mapping[str, str]) -> None:
        self._command = [sys.executable, "-P", "-m", "onepen.testing.elsewhen", str(workspace), str(clock)]
        self._env = env

    def __enter__(self) -> "Elsewhen":
        self._process = subprocess.Popen(
            self._command, env=dict(self._env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise RuntimeError(f"the orchestrator ended with {self._process.wait(LIMIT)} before it was ready")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=LIMIT)


def _live(workspace: Path, clock: Path) -> None:
    def ready(_: object) -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    Life(workspace, os.environ, told, idle_seconds=None, on_ready=ready, clock=FileClock(clock)).run()


if __name__ == "__main__":
    _live(Path(sys.argv[1]), Path(sys.argv[2]))
