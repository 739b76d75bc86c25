"""A batch that this process is running, and how a person's word reaches it."""

from collections.abc import Callable

import anyio

from ..stop import StopSign


class RunningBatch:
    """One for each batch that is run here; `done` is set when its run is over."""

    def __init__(self, stop: StopSign, cancel: Callable[[], None]) -> None:
        self.done = anyio.Event()
        self._stop = stop
        self._cancel = cancel

    def pause(self) -> None:
        """Start nothing more; what runs comes to its end."""
        if not self._stop.presses:
            self._stop.press()

    def cancel(self) -> None:
        """Start nothing more, and end what runs."""
        self._cancel()
        while self._stop.presses < 2:
            self._stop.press()
