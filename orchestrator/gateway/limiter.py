"""The queue before a server: calls go out in the order in which they came, at the pace that the server bears."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf, isfinite

import anyio

from .pace import Pace, Ticket


class Limiter:
    """One for each limit of a server; `random` gives numbers from 0 to 1, `reason` is why it holds calls back."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.pace = Pace()
        self.reason = "little is left of the server's limits"
        self._random = random
        self._queue = anyio.Lock()
        self._changed = anyio.Event()

    async def admit(self, patience: float, waiting: Callable[[float], AbstractContextManager[None]]) -> Ticket | float:
        """Lets the call out when its turn has come; or gives the seconds that it would have to wait, if that is longer
        than `patience`, infinite ones where its turn just didn't come.

        `waiting` is entered, with the seconds as far as they are known, when the call can't go out at once.
        """
        began = anyio.current_time()
        if not self._queue.locked() and self.pace.wait(began) == 0:
            return self.pace.take(began, self._random())
        known = self.pace.wait(began)
        if isfinite(known) and known > patience:
            return known
        with waiting(known if isfinite(known) else 0.0):
            with anyio.move_on_after(patience):
                async with self._queue:
                    return await self._turn(began + patience)
        return inf

    async def _turn(self, deadline: float) -> Ticket | float:
        while (seconds := self.pace.wait(now := anyio.current_time())) > 0:
            if isfinite(seconds) and now + seconds > deadline:
                return seconds
            changed = self._changed
            with anyio.move_on_after(None if seconds == inf else seconds):
                await changed.wait()
        return self.pace.take(now, self._random())

    def changed(self) -> None:
        """To be called after each change of the pace: who waits looks again."""
        self._changed.set()
        self._changed = anyio.Event()
