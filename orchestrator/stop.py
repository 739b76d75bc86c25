"""How a person's Ctrl-C reaches running work."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


class StopSign:
    """Raised once, nothing new starts; twice, running work ends now. Both leave things resumable."""

    def __init__(self) -> None:
        self.presses = 0
        self._listeners: list[Callable[[], None]] = []

    def press(self) -> None:
        self.presses += 1
        for listener in tuple(self._listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Inside, `listener` is told of each press."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)
