"""The one way by which models are called, and the only place where a call is made again.

Before a call: another one that begins alike has filled the server's cache, its budget is set aside, and its turn at the
server comes. After it: what it cost is booked. A call that
broke is told to `on_lost` with what it used, and made again as long as tries and patience last; so that nothing else
may try again, the adapter and its library don't.
"""

import random as chance
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import anyio

from ...memory.clock import Clock, SystemClock
from ...subagents.model import Listener, LostCall, ModelReply, ModelRequest, OnLost, Usage
from .account import Account
from .clients import Clients
from .ear import Ear
from .failure import Again, CallBroken, CallFailed, Final, failed
from .herd import Herd
from .ledger import Ledger, OverBudget, Reservation, Short, Unpriced, cost, most, used
from .limiter import Limiter
from .outstanding import Outstanding
from .pace import Ticket
from .patience import pause

if TYPE_CHECKING:
    from ..settings.models import Served

Waiting = Callable[[str, float], AbstractContextManager[None]]
"""Entered before a call that has to wait, with the reason and the seconds; the worker's clock stands still inside.

0 seconds: nobody knows how long (others' calls have to come back first).
"""

PAUSES = 5
"""How often a reply that the server paused (`pause_turn`) is carried on within one call."""


class Gateway:
    """Makes model calls for everybody in this process.

    What a server lacks is told to people once: to `notice`, or to whoever asks for the `news` first.
    """

    def __init__(
        self,
        ledger: Ledger | None = None,
        *,
        outstanding: Outstanding | None = None,
        clock: Clock | None = None,
        random: Callable[[], float] = chance.random,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        notice: Callable[[str], None] | None = None,
    ) -> None:
        self._news: list[str] = []
        self.clients = Clients(notice or self._news.append)
        self._ledger = ledger or Ledger()
        self._outstanding = outstanding or Outstanding(None)
        self._clock = clock or SystemClock()
        self._random = random
        self.sleep = sleep
        self._limiters: dict[str, Limiter] = {}
        self._herds: dict[str, Herd] = {}
        self._settled = anyio.Event()

    def news(self) -> tuple[str, ...]:
        """Lines for people that nobody has got yet."""
        news = tuple(self._news)
        self._news.clear()
        return news

    async def close(self) -> None:
        """Ends the connections that were kept warm; to be called before the event loop ends."""
        await self.clients.close()
        self._outstanding.close()

    async def reply(
        self,
        served: "Served",
        request: ModelRequest,
        account: Account,
        *,
        on_lost: OnLost,
        waiting: Waiting,
        listener: Listener | None = None,
    ) -> ModelReply:
        """The model's whole reply, with its cost; raises OverBudget, Unpriced or CallFailed."""
        served = await served.priced()
        said: ModelReply | None = None
        for _ in range(PAUSES + 1):
            messages = request.messages if said is None else (*request.messages, said.message)
            call = _Call(self, served, replace(request, messages=messages), account, on_lost, waiting, listener)
            try:
                more = await call.whole()
            except BaseException:
                if said is not None:
                    on_lost(LostCall("the reply was paused, and could not be carried on", said.usage, said.cost_usd))
                raise
            said = more if said is None else _joined(said, more)
            if said.stop_reason != "pause_turn":
                break
        assert said is not None
        return said

    def limiter(self, limit: str) -> Limiter:
        return self._limiters.setdefault(limit, Limiter(self._random))

    def herd(self, limit: str) -> Herd:
        return self._herds.setdefault(limit, Herd())

    async def reserve(self, call: "_Call") -> Reservation | None:
        """Sets the call's budget aside, once it fits; None for what costs nothing."""
        price, caps = call.served.price, call.account.caps
        if call.served.free:
            return None
        if price is None and caps.task_tokens is None and caps.day_tokens is None:
            raise Unpriced(call.served.model.name)
        amount = most(call.request, price)
        while True:
            got = self._ledger.reserve(call.account, amount, self._clock.now().date())
            if isinstance(got, Short):
                raise OverBudget(call.account, got)
            if isinstance(got, Reservation):
                return got
            with call.waiting("other calls are out, and what they cost decides whether the budget is enough", 0.0):
                await self._settled.wait()

    def leaves(self, reservation: Reservation | None, call: "_Call") -> int | None:
        """Notes that a call is made that may have to be paid, whatever becomes of this process."""
        if reservation is None:
            return None
        return self._outstanding.leaves(call.account, call.served.model.name, reservation.amount)

    def settle(self, reservation: Reservation | None, call: "_Call", ear: Ear, number: int | None) -> None:
        if number is not None:
            self._outstanding.returns(number)
        if reservation is not None:
            self._ledger.settle(reservation, used(ear.usage, call.served.price))
            self._settled.set()
            self._settled = anyio.Event()

    def back_at(self, seconds: float) -> str:
        """When that many seconds are over, for people."""
        return f"{self._clock.now() + timedelta(seconds=seconds):%Y-%m-%d %H:%M}"

    def drawn(self) -> float:
        return self._random()


class _Call:
    """One call until it is whole: its tries, and what it has waited."""

    def __init__(
        self,
        gateway: Gateway,
        served: "Served",
        request: ModelRequest,
        account: Account,
        on_lost: OnLost,
        waiting: Waiting,
        listener: Listener | None,
    ) -> None:
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
        try:
            ticket = await self._admitted()
            number = self._gateway.leaves(reservation, self)
            goes_out()
            return await self._made(ear, ticket)
        finally:
            self._gateway.settle(reservation, self, ear, number)

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

    async def _made(self, ear: Ear, ticket: Ticket | None) -> ModelReply | Final | Again:
        """One try; what it used is told when it gave no whole reply."""
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
            if ticket is not None or ear.usage != Usage():
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

    def __init__(self, call: _Call, inner: AbstractContextManager[None]) -> None:
        self._call = call
        self._inner = inner
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = anyio.current_time()
        self._inner.__enter__()

    def __exit__(self, *raised: object) -> bool | None:
        self._call.waited(anyio.current_time() - self._began)
        return self._inner.__exit__(*raised)  # type: ignore[arg-type]


def _joined(said: ModelReply, more: ModelReply) -> ModelReply:
    """A paused reply and how it went on."""
    both = None if said.cost_usd is None or more.cost_usd is None else said.cost_usd + more.cost_usd
    return ModelReply(
        (*said.content, *more.content), more.stop_reason, said.usage + more.usage, more.model, both, more.details
    )


def _in_words(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
