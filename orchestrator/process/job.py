"""A request that the orchestrator is at work on, which goes on whether or not somebody listens."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import anyio

from ..stop import StopSign
from .asked import Asked
from .protocol import Line

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from ..chat.answer import RenewalResult

_BACKLOG = 10_000
"""Lines that wait for a client that doesn't read; one that has missed so many is let go."""
_PROGRESS = 5_000
"""How many may wait before a worker's progress is left out: a worker that talks takes no client its answer."""


class Job:
    """One request; `tasks` are those that it made or goes on with, as far as they are known.

    `after` is what is to be done when the client has its answer: it takes the `stop` of the job.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.stop = StopSign()
        self.tasks: dict[str, None] = {}
        self.after: Callable[..., Awaitable[RenewalResult]] | None = None
        self._listener: MemoryObjectSendStream[Line] | None = None

    def __str__(self) -> str:
        return f"{self.asked.op.replace('_', '-')} {', '.join(self.tasks)}".rstrip()

    def listened_to(self) -> "MemoryObjectReceiveStream[Line]":
        """The lines of the answer as they come; it ends after the last one. Close it to stop listening."""
        self._listener, ear = anyio.create_memory_object_stream[Line](_BACKLOG)
        return ear

    def tell(self, line: Line) -> None:
        """A line for the client, if there still is one."""
        if self._listener is None:
            return
        waiting = self._listener.statistics().current_buffer_used
        if waiting >= _PROGRESS and line.get("event") == "progress" and not line.get("lasting"):
            return
        try:
            self._listener.send_nowait(line)
        except (anyio.BrokenResourceError, anyio.WouldBlock):
            self._let_go()

    def end(self, line: Line) -> None:
        """The last line of the answer."""
        self.tell(line)
        self._let_go()

    def goes_on(self) -> None:
        """The answer is given, and what comes after it has a stop of its own: a Ctrl-C ended the answer alone."""
        self.stop = StopSign()

    def know(self, tasks: Sequence[str]) -> None:
        self.tasks.update(dict.fromkeys(tasks))

    def _let_go(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
