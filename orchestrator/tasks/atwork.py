"""A task that a driver is seeing through, and how a person who cancels it reaches what is waited for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio


class AtWork:
    """One for each task at work; `done` is set when its driver leaves it.

    Whoever cancels has journalled that before: the driver finds it there as soon as it doesn't wait any more.
    """

    def __init__(self) -> None:
        self.done = anyio.Event()
        self._called_off = False
        self._end: Callable[[], None] | None = None

    def call_off(self) -> None:
        """End what is waited for now, and whatever would be waited for later."""
        self._called_off = True
        if self._end is not None:
            self._end()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Inside, calling off is to call `end`."""
        self._end = end
        try:
            if self._called_off:
                end()
            yield
        finally:
            self._end = None

    @contextmanager
    def broken_off(self) -> Iterator[None]:
        """Inside, calling off cancels what is awaited."""
        with anyio.CancelScope() as scope, self.ended_by(scope.cancel):
            yield
