"""The one way by which models are called, and the only place where a call is made again.

Before a call: another one that begins alike has filled the server's cache, its budget is set aside, and its turn at the
server comes. After it: what it cost is booked. A call that broke is told to `on_lost` with what it used, and made again
as long as tries and patience last; so that nothing else may try again, the adapter and its library don't.
"""

import random as chance
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ...memory.clock import Clock, SystemClock
from ...subagents.model import Listener, LostCall, ModelReply, ModelRequest, OnLost
from .account import Account
from .call import Call, Waiting
from .clients import Clients
from .ear import Ear
from .herd import Herd
from .ledger import Ledger, OverBudget, Reservation, Short, Unpriced, most, used
from .limiter import Limiter
from .outstanding import Outstanding, Unstored

if TYPE_CHECKING:
    from ..settings.models import Served

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

    @property
    def ledger(self) -> Ledger:
        """All money of this process, for what is paid by other ways than a call."""
        return self._ledger

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
        unstored: Unstored | None = None,
    ) -> ModelReply:
        """The model's whole reply, with its cost; raises OverBudget, Unpriced or CallFailed.

        With `unstored` its call is out until that is told that the reply is stored.
        Where the model is asked by Message Batches, Parked is raised as long as the reply isn't there.
        """
        if served.outbox is not None:
            return await served.outbox.reply(served, request, account, on_lost=on_lost)
        served = await served.priced()
        said: ModelReply | None = None
        for _ in range(PAUSES + 1):
            messages = request.messages if said is None else (*request.messages, said.message)
            asked = replace(request, messages=messages)
            call = Call(self, served, asked, account, on_lost, waiting, listener, unstored)
            try:
                more = await call.whole()
            except BaseException:
                if said is not None:
                    on_lost(LostCall("the reply was paused, and could not be carried on", said.usage, said.cost_usd))
                    if unstored is not None:
                        unstored.stored()
                raise
            said = more if said is None else joined(said, more)
            if said.stop_reason != "pause_turn":
                break
        assert said is not None
        return said

    def forget(self, purse: str) -> None:
        """A task is over: what is known of its money here is in the logs by now."""
        self._ledger.forget(purse)

    def limiter(self, limit: str) -> Limiter:
        return self._limiters.setdefault(limit, Limiter(self._random))

    def herd(self, limit: str) -> Herd:
        return self._herds.setdefault(limit, Herd())

    async def reserve(self, call: Call) -> Reservation | None:
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

    def leaves(self, reservation: Reservation | None, call: Call) -> int | None:
        """Notes that a call is made that may have to be paid, whatever becomes of this process."""
        if reservation is None:
            return None
        return self._outstanding.leaves(call.account, call.served.model.name, reservation.amount)

    def settle(self, reservation: Reservation | None, call: Call, ear: Ear, number: int | None, *, whole: bool) -> None:
        """What a call did cost takes the place of what was set aside; `whole`: its reply has yet to be stored."""
        if number is not None and whole and call.unstored is not None:
            call.unstored.add(partial(self._outstanding.returns, number))
        elif number is not None:
            self._outstanding.returns(number)
        if reservation is not None:
            self._ledger.settle(reservation, ear.unknown or used(ear.usage, call.served.price))
            self._settled.set()
            self._settled = anyio.Event()

    def back_at(self, seconds: float) -> str:
        """When that many seconds are over, for people."""
        return f"{self._clock.now() + timedelta(seconds=seconds):%Y-%m-%d %H:%M}"

    def drawn(self) -> float:
        return self._random()


def joined(said: ModelReply, more: ModelReply) -> ModelReply:
    """A paused reply and how it went on."""
    both = None if said.cost_usd is None or more.cost_usd is None else said.cost_usd + more.cost_usd
    return replace(
        more,
        content=(*said.content, *more.content),
        usage=said.usage + more.usage,
        cost_usd=both,
        miss=said.miss or more.miss,
    )
