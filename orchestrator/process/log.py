"""The orchestrator's own log, `.onepen/orchestrator.log`: one JSON object a line, for the person and nobody else.

It says what was asked for and what came of it, never with which words: a request's arguments and its settings are not
in it. Tracebacks come without the values of variables, and everything passes through `mask` before it is written. A log
that has grown to a mebibyte becomes `orchestrator.log.1` and a new one begins, so there are two at most. What a library
prints lands in it, too, since the two standard streams of a background process lead here.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...memory import files
from ...memory.clock import Clock
from ...memory.room import ORCHESTRATOR_LOG, inspect_room

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger, Processor

MOST = 1 << 20


def open_log(root: Path) -> int:
    """A descriptor that adds to the log of the workspace in `root`; raises RoomUnfit or an OSError."""
    inspect_room(root)
    return files.open_log(root / ORCHESTRATOR_LOG, most=MOST)


class ProcessLog:
    """The log of one process. `streams` are descriptors that lead to it, too, and follow it into a new file.

    What is noted in the first moments is written at `catch_up`: the library that writes it takes as long to import as a
    person waits for a quick command.
    """

    def __init__(
        self, root: Path, clock: Clock, mask: Callable[[str], str] = str, streams: tuple[int, ...] = ()
    ) -> None:
        self._root = root
        self._clock = clock
        self._mask = mask
        self._streams = streams
        self._fd = open_log(root)
        self._held: list[tuple[str, Mapping[str, object]]] = []
        self._logger: FilteringBoundLogger | None = None

    def note(self, event: str, **facts: object) -> None:
        self._add(event, facts)

    def failed(self, event: str, error: BaseException, **facts: object) -> None:
        """An error with its traceback."""
        self._add(event, {**facts, "exc_info": error})
        self.catch_up()

    def catch_up(self) -> None:
        """Write what was noted until now; from now on everything is written at once.

        Where the library can't be read now, for want of a descriptor say, all of it is held until the next time.
        """
        if self._logger is None:
            try:
                self._logger = self._made()
            except (ImportError, OSError):
                return
        for event, facts in self._held:
            (self._logger.error if "exc_info" in facts else self._logger.info)(event, **facts)
        self._held.clear()

    def close(self) -> None:
        self.catch_up()
        os.close(self._fd)

    def _add(self, event: str, facts: Mapping[str, object]) -> None:
        at = {"time": self._clock.now().isoformat(timespec="milliseconds"), "pid": os.getpid()}
        self._held.append((event, {**at, **facts}))
        if self._logger is not None:
            self.catch_up()

    def _made(self) -> "FilteringBoundLogger":
        import structlog

        processors: list[Processor] = [
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
        ]
        made: FilteringBoundLogger = structlog.wrap_logger(
            _Lines(self), processors=processors, wrapper_class=structlog.make_filtering_bound_logger(0)
        )
        return made

    def write(self, line: str) -> None:
        """Add a line; a disk that takes none loses it, and stops nothing else."""
        data = self._mask(line).encode(errors="backslashreplace") + b"\n"
        try:
            if os.fstat(self._fd).st_size >= MOST:
                self._turn_over()
            os.write(self._fd, data)
        except OSError:
            return

    def _turn_over(self) -> None:
        new = open_log(self._root)
        for stream in (self._fd, *self._streams):
            os.dup2(new, stream)
        os.close(new)


class _Lines:
    """What structlog hands its lines to."""

    def __init__(self, log: ProcessLog) -> None:
        self._log = log

    def msg(self, line: str) -> None:
        self._log.write(line)

    info = error = warning = msg
