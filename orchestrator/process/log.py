"""The orchestrator's own log, `.onepen/orchestrator.log`: one JSON object a line, for the person and nobody else.

It says what was asked for and what came of it, never with which words: a request's arguments and its settings are not
in it. Tracebacks come without the values of variables, and everything passes through `mask` before it is written. A log
that has grown to a mebibyte becomes `orchestrator.log.1` and a new one begins, so there are two at most. What a library
prints lands in it, too, since the two standard streams of a background process lead here.
"""

import os
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    """The log of one process. `streams` are descriptors that lead to it, too, and follow it into a new file."""

    def __init__(
        self, root: Path, clock: Clock, mask: Callable[[str], str] = str, streams: tuple[int, ...] = ()
    ) -> None:
        self._root = root
        self._clock = clock
        self._mask = mask
        self._streams = streams
        self._fd = open_log(root)
        self._logger = self._made()

    def note(self, event: str, **facts: object) -> None:
        self._logger.info(event, **facts)

    def failed(self, event: str, error: BaseException, **facts: object) -> None:
        """An error with its traceback."""
        self._logger.error(event, **facts, exc_info=error)

    def close(self) -> None:
        os.close(self._fd)

    def _made(self) -> "FilteringBoundLogger":
        import structlog  # takes a tenth of a second, so only the process that writes the log imports it

        def stamped(logger: object, method: str, event: MutableMapping[str, Any]) -> Mapping[str, Any]:
            return {"time": self._clock.now().isoformat(timespec="milliseconds"), "pid": os.getpid(), **event}

        processors: list[Processor] = [
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            stamped,
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
