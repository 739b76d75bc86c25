"""The gate before a server's cache: of calls that begin alike and come together one goes first, then all the others."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import isfinite

import anyio

from ...subagents.model import ModelRequest, Usage
from .warmth import Turn, Warmth

REASON = "another call that begins alike goes first, so that the server's cache is filled once"


class Herd:
    """One for each `limit` of models (settings/models.py): what one address and credential has, has one cache, too."""

    def __init__(self) -> None:
        self._warmth = Warmth()
        self._changed = anyio.Event()

    async def admit(
        self,
        request: ModelRequest,
        model: str,
        patience: float,
        waiting: Callable[[str, float], AbstractContextManager[None]],
    ) -> Turn:
        """Lets the call go when its turn has come, or after `patience` seconds in any case.

        `waiting` is entered when it can't go at once. `over` has to follow, however the call ends.
        """
        if self._wait(request, model) > 0:
            with waiting(REASON, 0.0), anyio.move_on_after(max(0.0, patience)):
                while (seconds := self._wait(request, model)) > 0:
                    changed = self._changed
                    with anyio.move_on_after(seconds if isfinite(seconds) else None):
                        await changed.wait()
        return self._warmth.take(request, model, anyio.current_time())

    def went_out(self, turn: Turn) -> None:
        self._warmth.went_out(turn, anyio.current_time())
        if turn.fills:
            self._look_again()

    def began(self, turn: Turn, usage: Usage) -> None:
        """The reply begins; to be called again once all is counted, since some servers count at the end only."""
        self._warmth.began(turn, usage, anyio.current_time())
        self._look_again()

    def over(self, turn: Turn) -> None:
        if turn.fills:
            self._warmth.over(turn)
            self._look_again()

    def _wait(self, request: ModelRequest, model: str) -> float:
        now = anyio.current_time()
        return self._warmth.wait(self._warmth.beginnings(request, model, now), now)

    def _look_again(self) -> None:
        """After each change: who waits looks whether it may go."""
        self._changed.set()
        self._changed = anyio.Event()
