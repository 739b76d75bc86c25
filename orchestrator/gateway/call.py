"""One call until it is whole: its tries, what it waits for before each of them, and for how long in all."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import anyio

from ...subagents.model import Listener, LostCall, ModelReply, ModelRequest, OnLost, Usage
from .account import Account
from .ear import Ear
from .failure import Again, CallBroken, CallFailed, Final, failed
from .ledger import Reservation, cost
from .outstanding import Unstored
from .pace import Ticket
from .patience import pause

if TYPE_CHECKING:
    from ..settings.models import Served
    from .gateway import Gateway

Waiting = Callable[[str, float], AbstractContextManager[None]]
"""Entered before a call that has to wait, with the reason and the seconds; the worker's clock stands still inside.

0 seconds: nobody knows how long (others' calls have to come back first).
"""


class Call:
    """Makes a request until its reply is whole, as long as tries and patience last; `gateway` has what calls share."""

    def __init__(
        self,
        gateway: "Gateway",
        served: "Served",
        request: ModelRequest,
        account: Account,
        on_lost: OnLost,
        waiting: Waiting,
        listener: Listener | None,
        unstored: Unstored | None = None,
    ) -> None:
        self.unstored = unstored
        self.served = served
        self.request = request
        self.account = account
        self._gateway = gateway
        self._on_lost = on_lost
        self._enter = waiting
        self._listener = listener
        self._limiter = gateway.limiter(served.limit) if served.limit else None
        self._herd = gateway.herd(served.limit) if served.limit else None
        self._waited = 0.0

    async def whole(self) -> ModelReply:
        tries = 0
        while True:
            tries += 1
            got, ear = await self._in_turn()
            if isinstance(got, ModelReply):
                return got
            if isinstance(got, Final):
                raise failed(got)
            if tries >= got.tries:
                raise CallFailed(f"{got.reason}; tried {tries} times")
            seconds = pause(tries, got.after, self._gateway.drawn())
            self._bear(got.reason, seconds)
            ear.broke_off(got.reason)
            with self.waiting(got.reason, seconds):
                await self._gateway.sleep(seconds)

    def waiting(self, reason: str, seconds: float) -> AbstractContextManager[None]:
        """Around each wait; it takes from the call's patience."""
        return _Patience(self, self._enter(reason, seconds))

    async def _in_turn(self) -> tuple[ModelReply | Final | Again, Ear]:
        """One try, after the call that fills the server's cache for this one, too."""
        if (herd := self._herd) is None:
            ear = Ear(self._listener)
            return await self._try(ear, lambda: None), ear
        patience = self.served.patience_seconds - self._waited
        turn = await herd.admit(self.request, self.served.model.name, patience, self.waiting)
        try:
            ear = Ear(self._listener, partial(herd.began, turn))
            got = await self._try(ear, partial(herd.went_out, turn))
            if isinstance(got, ModelReply):
                herd.began(turn, got.usage)
            return got, ear
        finally:
            herd.over(turn)

    async def _try(self, ear: Ear, goes_out: Callable[[], None]) -> ModelReply | Final | Again:
        reservation = await self._gateway.reserve(self)
        number: int | None = None
        got: ModelReply | Final | Again | None = None
        try:
            ticket = await self._admitted()
            number = self._gateway.leaves(reservation, self)
            goes_out()
            got = await self._made(ear, ticket, reservation)
            return got
        finally:
            self._gateway.settle(reservation, self, ear, number, whole=isinstance(got, ModelReply))

    async def _admitted(self) -> Ticket | None:
        if self._limiter is None:
            return None
        limiter = self._limiter
        got = await limiter.admit(
            self.served.patience_seconds - self._waited, lambda seconds: self.waiting(limiter.reason, seconds)
        )
        if isinstance(got, Ticket):
            return got
        raise self._impatient(limiter.reason, got)

    async def _made(
        self, ear: Ear, ticket: Ticket | None, reservation: Reservation | None
    ) -> ModelReply | Final | Again:
        """One try; what it used is told when it gave no whole reply.

        One that is given up before the server has counted anything counts with its most: it may be paid all the same.
        """
        price = self.served.price
        try:
            with anyio.move_on_after(self.served.call_seconds):
                reply = await self.served.model.reply(self.request, ear)
                ear.usage = reply.usage
                self._back(ticket, None, ear)
                return replace(reply, cost_usd=cost(reply.usage, price))
            late = (
                f"{self.served.model.name}: the reply was not whole after {self.served.call_seconds:g} s (call_seconds)"
            )
            verdict: Final | Again = Final(late)
        except CallBroken as e:
            verdict = e.verdict
        except BaseException as e:
            self._back(ticket, Final(str(e)), ear)
            if reservation is not None and ear.usage == Usage():
                ear.unknown = reservation.amount
                tokens = reservation.amount.tokens
                self._on_lost(
                    LostCall("it was given up", Usage(input=tokens), None if tokens else reservation.amount.usd)
                )
            elif ticket is not None or ear.usage != Usage():
                self._on_lost(LostCall("it was given up", ear.usage, cost(ear.usage, price)))
            raise
        self._back(ticket, verdict, ear)
        self._on_lost(LostCall(verdict.reason, ear.usage, cost(ear.usage, price)))
        return verdict

    def _back(self, ticket: Ticket | None, verdict: Final | Again | None, ear: Ear) -> None:
        """Tells the limiter how the call came back."""
        if self._limiter is None or ticket is None:
            return
        now, pace = anyio.current_time(), self._limiter.pace
        if verdict is None:
            pace.succeeded(ticket)
        elif isinstance(verdict, Again) and verdict.throttled:
            pace.throttled(ticket, now, verdict.after)
            self._limiter.reason = verdict.reason
        else:
            pace.broke(ticket)
        pace.told(ear.left, ear.usage.prompt_total + ear.usage.output, now)
        self._limiter.changed()

    def _bear(self, reason: str, seconds: float) -> None:
        if seconds > self.served.patience_seconds - self._waited:
            raise self._impatient(reason, seconds)

    def _impatient(self, reason: str, seconds: float) -> CallFailed:
        if seconds == inf:
            patience = f"{self.served.patience_seconds:g} s (patience_seconds)"
            return CallFailed(f"{reason}; this one's turn did not come within {patience}")
        return CallFailed(
            f"{reason}; it takes calls again at {self._gateway.back_at(seconds)}, in {_in_words(seconds)}"
        )

    def waited(self, seconds: float) -> None:
        self._waited += seconds


class _Patience:
    """Measures a wait."""

    def __init__(self, call: Call, inner: AbstractContextManager[None]) -> None:
        self._call = call
        self._inner = inner
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = anyio.current_time()
        self._inner.__enter__()

    def __exit__(self, *raised: object) -> bool | None:
        self._call.waited(anyio.current_time() - self._began)
        return self._inner.__exit__(*raised)  # type: ignore[arg-type]


def _in_words(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
