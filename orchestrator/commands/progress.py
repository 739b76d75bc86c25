"""What a person sees on stderr while work runs.

On a terminal one line that is redrawn; else a line when a task starts, one when it ends, and in between one each
thirty seconds, so that a log stays short and yet shows life.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .streams import tell
from .tasks import summary
from .terminal import Terminal
from .text import cut, one_line

if TYPE_CHECKING:
    from rich.status import Status

    from ..results import TaskView
    from ..service import ProgressLine

_QUIET_SECONDS = 30.0


class PlainProgress:
    """Whole lines, for logs and plain terminals. `seconds` is a clock that only goes forward."""

    def __init__(self, tell: Callable[[str], None] = tell, seconds: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._seconds = seconds
        self._said: dict[str, float] = {}
        self._ended: set[str] = set()

    def line(self, line: "ProgressLine") -> None:
        """Say it if the task is new or was quiet for thirty seconds, and a lasting line at once."""
        if line.ended:
            self._ended.add(line.task)
        if line.lasting:
            self._tell(f"{line.task} {line.agent}: {one_line(line.text)}\n")
            return
        now = self._seconds()
        if now - self._said.get(line.task, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            self._said[line.task] = now
            self._tell(f"{line.task} {line.agent}: {one_line(line.text)}\n")

    def end(self, tasks: Sequence["TaskView"]) -> None:
        """What became of each task, where that wasn't told as it ended."""
        for task in tasks:
            if task.task not in self._ended:
                self._tell(summary(task) + "\n")


class LiveProgress:
    """One line that is redrawn, by rich; it is gone when the work is done."""

    def __init__(self, status: "Status", columns: int) -> None:
        self._status = status
        self._columns = columns
        self._running: set[str] = set()

    def line(self, line: "ProgressLine") -> None:
        from rich.text import Text

        if line.ended:
            self._running.discard(line.task)
        if line.lasting:  # above the line that is redrawn
            self._status.console.print(Text(f"{line.task} {line.agent}: {one_line(line.text)}"), soft_wrap=False)
            return
        self._running.add(line.task)
        many = f"{len(self._running)} tasks, " if len(self._running) > 1 else ""
        text = f"{many}{line.task} {line.agent}: {one_line(line.text)}"
        self._status.update(Text(cut(text, self._columns - 4)))

    def end(self, tasks: Sequence["TaskView"]) -> None:
        self._status.stop()


@contextmanager
def display(terminal: Terminal) -> Iterator[PlainProgress | LiveProgress]:
    """The progress that suits the terminal; rich is imported only for a line that is redrawn."""
    if not terminal.live:
        yield PlainProgress()
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("starting") as status:
        yield LiveProgress(status, min(console.width, terminal.columns))
