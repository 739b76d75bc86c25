"""The gate that every attempt passes before it starts: open, unless workers crash one after the other."""

import time
from collections.abc import Callable
from math import isinf

import anyio

from ...memory.text.clip import clip
from .restarts import WINDOW_SECONDS, Restarts

_REASON = 200


class StartGate:
    """One for the life of a process; `seconds` is a clock that only goes forward."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._state = Restarts()
        self._last = ""
        self._stirred: anyio.Event | None = None

    def passed(self, task: str) -> bool:
        """Whether an attempt of `task` may start at once; if so, it has passed."""
        if self._state.wait(self._seconds()):
            return False
        self._state = self._state.begun(task)
        return True

    async def pass_by(self, task: str, say: Callable[[str], None]) -> None:
        """Wait until an attempt of `task` may start; `say` is told why it has to wait, once for each pause."""
        told = 0.0
        while not self.passed(task):
            if self._state.pause != told:
                told = self._state.pause
                say(self._words())
            await self._until_stirred(self._state.wait(self._seconds()))

    def ended(self, task: str, *, crashed: bool | None, reason: str = "") -> None:
        """An attempt that passed has ended: its worker crashed or not, or it was stopped (None)."""
        self._last = reason if crashed else self._last
        self._state = self._state.ended(task, self._seconds(), crashed=crashed)
        if self._stirred is not None:
            self._stirred.set()

    def _words(self) -> str:
        crashes = f"{self._state.crashes} workers crashed within {WINDOW_SECONDS:.0f} s"
        pause = f"no attempt starts for {self._state.pause:.0f} s, then one is tried"
        return f"{crashes}, so {pause}; the last one: {clip(self._last, _REASON)}"

    async def _until_stirred(self, seconds: float) -> None:
        if self._stirred is None or self._stirred.is_set():
            self._stirred = anyio.Event()
        with anyio.move_on_after(None if isinf(seconds) else seconds):
            await self._stirred.wait()
