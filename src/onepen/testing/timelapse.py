"""An event loop whose time passes at once: it jumps to the next timer whenever everybody waits.

So a test of hours of waiting takes milliseconds and has the same times in each run. Only for what waits by the event
loop's timers: threads, processes and connections are not waited for.
"""

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

T = TypeVar("T")


def run(work: Callable[..., Awaitable[T]], *args: object) -> T:
    """As `anyio.run`; `anyio.current_time()` begins at 0."""
    result: T = anyio.run(work, *args, backend_options={"loop_factory": _Loop})
    return result


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self._now

    def pass_time(self, seconds: float) -> None:
        self._now += seconds


class _Selector(selectors.DefaultSelector):
    """Never waits for files; what the loop would have waited is added to its time."""

    def __init__(self, loop: _Loop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("everybody waits, and for nothing that a timer ends")
        self._loop.pass_time(timeout)
        return []
