"""Model calls by Message Batches: whoever asks is parked, until a batch brings the reply for half the price.

    reply(…)    the reply, if it is there; else the request is noted, and Parked is raised
    deliver(…)  sends what was noted, in batches that fit, and waits until something has come
    reply(…)    the same question again, by the task that goes on: now there is an answer

Nothing waits in memory for hours but what wasn't sent yet. What was sent stands in the journal before it leaves, and
what came back on the disk before anybody has it. So a process that is killed at any moment has lost nothing that was
paid: the next one finds its batches at the server, asks for no request that is out, and pays for no reply twice.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Protocol, runtime_checkable

import anyio

from ...memory.clock import Clock
from ...subagents.model import LostCall, ModelReply, ModelRequest, OnLost, Usage
from ..batch.answer import Waits
from ..errors import OrchestratorFault, Parked
from ..gateway.account import Account, Amount
from ..gateway.failure import CallBroken, CallFailed, Final, failed
from ..gateway.gateway import PAUSES, joined
from ..gateway.ledger import Ledger, Unpriced, most
from ..gateway.messagebatches import MessageBatches, NoBatches, size_of
from ..settings.models import Served
from ..stop import StopSign
from .courier import Courier, Sleep
from .events import NOTHING, Handed
from .journal import Journal
from .pace import Poll
from .parts import Limits
from .sender import RequestTooLarge, Say, requests
from .shelf import Noted, Shelf
from .state import Result
from .store import Replies
from .till import Accounts, Till, bare

TRIES = 3
"""How often a request is sent, the first time included, as long as it comes back unanswered."""

_SHA = 40  # digits of a request's sha in its custom_id, which has at most 64
_AT_ONCE = 1.5
"""Seconds that what is on its way gets when a person wants it to end."""


class Places(Protocol):
    """The folder of a batch of tasks: it is named as the batch is; the journal and the replies lie in it."""

    @property
    def path(self) -> Path: ...

    @property
    def sent_file(self) -> Path: ...

    @property
    def replies(self) -> Path: ...


@runtime_checkable
class InBatches(Protocol):
    """A model that can be asked by Message Batches."""

    def batches(self) -> MessageBatches: ...


class Outbox:
    """The requests of one batch of tasks; one process at a time has it, which is the one that has the pen.

    `accounts` gives the account of a request that an earlier process has sent. What reads the journal, and that is
    everything, raises OutboxUnreadable.
    """

    def __init__(
        self,
        folder: Places,
        ledger: Ledger,
        clock: Clock,
        sleep: Sleep = anyio.sleep,
        *,
        limits: Limits = Limits(),  # noqa: B008 - a value
        poll: Poll = Poll(),  # noqa: B008
        accounts: Accounts = bare,
    ) -> None:
        self._folder = folder
        self._ledger = ledger
        self._clock = clock
        self._sleep = sleep
        self._limits = limits
        self._poll = poll
        self._accounts = accounts
        self._delivering = anyio.Lock()
        self._sign: StopSign | None = None
        self._heeded = 0
        self._scope: anyio.CancelScope | None = None
        self._nap: anyio.CancelScope | None = None

    async def reply(self, served: Served, request: ModelRequest, account: Account, *, on_lost: OnLost) -> ModelReply:
        """The reply to a request of a task, with its cost in a batch.

        Raises Parked as long as it isn't there; OverBudget, Unpriced, NoBatches; CallFailed for what failed for good,
        or was sent in vain too often. `on_lost` is told of each time that it was sent in vain.
        """
        served = await served.priced()
        way = self._met(served)
        said: ModelReply | None = None
        for _ in range(PAUSES + 1):
            messages = request.messages if said is None else (*request.messages, said.message)
            try:
                more = await self._said(served, way, replace(request, messages=messages), account, on_lost)
            except Parked:
                raise
            except OrchestratorFault:
                if said is not None:
                    on_lost(LostCall("the reply was paused, and could not be carried on", said.usage, said.cost_usd))
                raise
            said = more if said is None else joined(said, more)
            if said.stop_reason != "pause_turn":
                break
        assert said is not None
        return said

    def meet(self, served: Served) -> None:
        """Makes known the way to a model's server: what was sent there earlier can be fetched, or cancelled."""
        self._met(served)

    @property
    def waiting(self) -> int:
        """How many requests were noted and not sent."""
        return len(self._shelf.waiting)

    @property
    def out(self) -> Waits:
        """What is at servers, or may be."""
        sent = self._shelf.state.sent.values()
        expires = max((one.expires for one in sent if one.expires is not None), default=None)
        return Waits(
            tuple(one.batch for one in sent if one.batch),
            sum(len(one.requests) for one in sent),
            "" if expires is None else expires.isoformat(),
        )

    @property
    def held(self) -> frozenset[str]:
        """The tasks whose request waits to be sent, or is out; others that were parked can go on."""
        shelf = self._shelf
        out = (asked.task for sent in shelf.state.sent.values() for asked in sent.requests.values())
        return frozenset((*(noted.account.purse for noted in shelf.waiting.values()), *out))

    @property
    def unclaimed(self) -> Mapping[str, Amount]:
        """What was paid for replies that nobody has got, by task: after a cancel, say, it stands in no log of usage."""
        paid: dict[str, Amount] = {}
        for result in self._shelf.unclaimed():
            task = result.asked.task
            paid[task] = paid.get(task, NOTHING) + result.item.cost
        return paid

    async def deliver(self, stop: StopSign, say: Say) -> None:
        """Sends all that waits, then waits until something has come of any request, and it is stored.

        Ends within 2 seconds of a person's wish; `say` gets what goes on without onepen, then, and all that people
        should see. Raises NoBatches, and CallFailed where no request could be made (a key that is refused, a server
        that takes nothing for too long): all can be delivered later.
        """
        async with self._delivering:
            self._listen(stop)
            if not stop.presses:
                with anyio.CancelScope() as self._scope:
                    try:
                        await self._courier.deliver(say)
                    finally:
                        self._scope = None
            if stop.presses:
                self._goes_on(say)

    async def cancel(self, say: Say = lambda line: None, *, patience: float = 90.0) -> None:
        """Has the servers end all that is out, and stores what they have answered by then; nothing waits any more.

        What hasn't ended after `patience` seconds stays out: a later delivery stores it.
        """
        async with self._delivering:
            self.close()
            self._heeded = 0 if self._sign is None else self._sign.presses
            try:
                await self._courier.cancel(say, patience)
            finally:
                self._heeded = 0

    def close(self) -> None:
        """Forgets what wasn't sent, and the money for it; what is out stays paid for."""
        for name in tuple(self._shelf.waiting):
            self._withdrawn(name)

    @cached_property
    def _shelf(self) -> Shelf:
        till = Till(self._ledger, self._clock, self._accounts)
        folder = self._folder
        return Shelf(Journal(folder.sent_file, self._clock), Replies(folder.replies), till, self._clock)

    @cached_property
    def _courier(self) -> Courier:
        return Courier(self._shelf, self._limits, self._poll, self._rest, self._stopped)

    async def _said(
        self, served: Served, way: MessageBatches, request: ModelRequest, account: Account, on_lost: OnLost
    ) -> ModelReply:
        shelf, state = self._shelf, self._shelf.state
        sha = request.sha()
        name = f"{_prefix(account.purse)}-{sha[:_SHA]}"
        if (error := shelf.failures.get(name)) is not None:
            shelf.over(name)
            raise error
        if (sent := state.where(name)) is not None:
            if shelf.way_to(sent) is None:
                shelf.goes(sent, way)
            raise Parked
        result = state.results.get(name)
        if result is not None and result.item.kind in ("reply", "refusal"):
            return self._handed(name, result, on_lost)
        if result is not None and (result.item.kind == "failed" or state.tries[name] >= TRIES):
            raise self._given_up(name, result, on_lost)
        if name not in shelf.waiting:
            await self._note(served, way, request, account, name, sha)
        raise Parked

    async def _note(
        self, served: Served, way: MessageBatches, request: ModelRequest, account: Account, name: str, sha: str
    ) -> None:
        """Has a request sent with the next delivery; raises what keeps it from that."""
        try:
            entry = await way.entry(name, request)
        except CallBroken as e:
            verdict = e.verdict
            raise (failed(verdict) if isinstance(verdict, Final) else CallFailed(verdict.reason)) from e
        model, size = str(entry["params"]["model"]), size_of(entry)
        if not self._limits.fits(size):
            raise RequestTooLarge(model, size, f"and a Message Batch may have {self._limits.bytes:,}")
        caps = account.caps
        if served.price is None and caps.task_tokens is None and caps.day_tokens is None:
            raise Unpriced(model)
        price = None if served.price is None else served.price.half()
        amount = NOTHING if served.free else most(request, price)
        self._shelf.till.reserve(name, account, amount)
        self._shelf.waiting[name] = Noted(
            name, sha, request, way, model, price, account, amount, size, served.patience_seconds
        )

    def _handed(self, name: str, result: Result, on_lost: OnLost) -> ModelReply:
        shelf = self._shelf
        reply = shelf.replies.reply(result.batch, result.item)
        if reply is None:
            shelf.over(name)
            place = self._folder.replies / f"{result.batch}.jsonl"
            raise CallFailed(f"{place}: the reply that is kept there can't be read; asked again, it is paid again")
        if name not in shelf.state.handed:
            self._tell_lost(name, on_lost)
            shelf.mention(Handed(name))
        shelf.till.book(result.asked, result.item.cost, result.at.date())
        return reply

    def _given_up(self, name: str, result: Result, on_lost: OnLost) -> CallFailed:
        """The error of a request that failed, or came back unanswered too often; what is known of it is over."""
        item, tries = result.item, self._shelf.state.tries[name]
        self._tell_lost(name, on_lost)
        self._shelf.over(name)
        if item.kind == "failed":
            return failed(Final(item.reason, item.hint, item.exit_code))
        return CallFailed(f"{result.asked.model}: {item.reason}; sent {tries} times by Message Batches")

    def _tell_lost(self, name: str, on_lost: OnLost) -> None:
        for item in self._shelf.state.broken.get(name, ()):
            on_lost(LostCall(item.reason, Usage(), None if item.cost.tokens else item.cost.usd))

    def _met(self, served: Served) -> MessageBatches:
        if not isinstance(served.model, InBatches):
            raise NoBatches(served.model.name, "it runs inside onepen")
        way = served.model.batches()
        self._shelf.met(way)
        return way

    def _withdrawn(self, name: str) -> None:
        del self._shelf.waiting[name]
        self._shelf.till.release(name)

    def _goes_on(self, say: Say) -> None:
        """What a person has to know who stops waiting."""
        out, batch = self.out, self._folder.path.name
        if not out.requests:
            return
        until = max((one.expires for one in self._shelf.state.sent.values() if one.expires is not None), default=None)
        named = f" in Message Batch {', '.join(out.batches)}" if out.batches else ""
        latest = "" if until is None else f", until {self._shelf.local(until)} at the latest"
        say(
            f"batch {batch} goes on at the server: {requests(out.requests)}{named}{latest}; to fetch what comes: "
            f"onepen batch resume {batch}; to end it: onepen batch cancel {batch}"
        )

    def _listen(self, stop: StopSign) -> None:
        if stop is not self._sign:
            self._sign = stop
            stop.listen(self._pressed)

    def _pressed(self) -> None:
        """Ends a sleep now, and soon whatever else is on its way."""
        if self._nap is not None:
            self._nap.cancel()
        if self._scope is not None:
            self._scope.deadline = anyio.current_time() + _AT_ONCE

    def _stopped(self) -> bool:
        return self._sign is not None and self._sign.presses > self._heeded

    async def _rest(self, seconds: float) -> None:
        if not self._stopped():
            with anyio.CancelScope() as self._nap:
                await self._sleep(seconds)
            self._nap = None


def _prefix(task: str) -> str:
    """A task's part of its requests' custom_ids; an id that is no task's is told by its hash."""
    if len(task) <= 23 and task.replace("-", "").isalnum() and task.isascii():
        return task
    return sha256(task.encode()).hexdigest()[:23]
