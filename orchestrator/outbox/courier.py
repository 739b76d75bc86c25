"""Takes requests to servers and brings replies back: sends, looks whether a batch has ended, stores its results.

All waiting is done here, by seconds that pass in sleep: a clock that jumps changes no pace. A question that fails says
nothing about a batch, so only two things end the wait for one: that its server says so, and that it is past its time.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from ..gateway.failure import CallBroken, Final, failed
from ..gateway.messagebatches import MessageBatches
from .events import Canceling, Created, Ended, Expired, Unmade
from .fetcher import Fetcher, Torn
from .pace import Poll
from .parts import Limits
from .sender import Say, Sender, requests
from .shelf import Shelf
from .state import Sent

Sleep = Callable[[float], Awaitable[None]]

_LAST_WORD = 120.0
"""Seconds that a batch gets after its time is over, in which its server is told to end it."""
_OUT_OF_REACH = 3_600.0
"""The same where its server says nothing at all."""
_UNFETCHED = 86_400.0
"""Seconds for which the results of a batch that has ended are asked for."""
_LATE = 60.0
"""Seconds after which a batch that was asked for stands in its server's list, if it was made."""
_EARLY = timedelta(hours=1)
"""By how much a server's clock may go behind ours."""
_KEPT = timedelta(days=29)
"""How long a server keeps results."""
_LONG = 10  # questions in a row that failed


@dataclass
class _Watch:
    """How one batch is waited for: when it is looked at next, the wait after that, and what has failed until now."""

    at: float
    wait: float
    failed: int = 0
    last: float | None = None
    looked: float | None = None


class Courier:
    """`stopped` is whether a person wants it to end; `rest` sleeps, and is cut short by that."""

    def __init__(self, shelf: Shelf, limits: Limits, poll: Poll, rest: Sleep, stopped: Callable[[], bool]) -> None:
        self._shelf = shelf
        self._poll = poll
        self._rest = rest
        self._stopped = stopped
        self._passed = 0.0
        self._asked: float | None = None
        self._watches: dict[str, _Watch] = {}
        self._others: set[tuple[str, str]] = set()
        self._sender = Sender(shelf, limits, lambda: self._passed, stopped)
        self._fetcher = Fetcher(shelf)

    async def deliver(self, say: Say) -> None:
        """Sends what waits, and waits itself until something has come of any request; raises CallFailed."""
        wanted = tuple(self._shelf.waiting)
        while not self._stopped():
            if await self._sender.send(wanted, say):
                return
            soon = self._next(wanted)
            if soon is None:
                if self._shelf.waiting:  # others' calls decide whether there is money for it
                    await self._pass(self._poll.first)
                return
            if await self._until(soon) and await self._look(say):
                await self._look_around(say)
                return

    async def cancel(self, say: Say, patience: float) -> None:
        """Has the servers end all that is out, and stores what they have finished, for so long."""
        end, told = self._passed + patience, set[str]()
        while True:
            for sent, way in self._reachable():
                if sent.stage == "out" and sent.batch not in told:
                    told.add(sent.batch)
                    await self._cancelled(sent, way, say)
            soon = self._next(())
            if soon is None or soon > end or not await self._until(soon):
                return
            await self._look(say)

    async def _cancelled(self, sent: Sent, way: MessageBatches, say: Say) -> None:
        try:
            await way.cancel(sent.batch)
        except CallBroken as e:
            say(f"{self._name(sent)} was not cancelled: {e.verdict.reason}")
            return
        await self._shelf.note(Canceling(sent.batch))
        self._watches[sent.key] = _Watch(self._passed, self._poll.first)

    async def _look_around(self, say: Say) -> None:
        """Looks at what is due soon, too: what was sent together often ends together."""
        end = self._passed + self._poll.first
        while (soon := self._next(())) is not None and soon <= end and await self._until(soon):
            await self._look(say)

    def _next(self, wanted: Sequence[str]) -> float | None:
        """When there is something to do next; None: there is nothing to wait for."""
        times = [self._watch(sent).at for sent, _ in self._reachable()]
        due = self._sender.due(wanted)
        return min((*times, *(() if due is None else (due,))), default=None)

    def _reachable(self) -> list[tuple[Sent, MessageBatches]]:
        """The batches that can be asked for, each with the way to it."""
        found = ((sent, self._shelf.way_to(sent)) for sent in tuple(self._shelf.state.sent.values()))
        return [(sent, way) for sent, way in found if way is not None]

    def _watch(self, sent: Sent) -> _Watch:
        if sent.key not in self._watches:
            wait = 0.0 if sent.key in self._shelf.earlier else self._poll.first
            self._watches[sent.key] = _Watch(self._passed + wait, self._poll.first)
        return self._watches[sent.key]

    async def _until(self, moment: float) -> bool:
        """Waits, at least as long as has to lie between two questions; False: a person ended it."""
        if self._asked is not None:
            moment = max(moment, self._asked + self._poll.apart)
        await self._pass(max(0.0, moment - self._passed))
        return not self._stopped()

    async def _pass(self, seconds: float) -> None:
        if seconds > 0:
            await self._rest(seconds)
            self._passed += seconds

    async def _look(self, say: Say) -> bool:
        """Looks at the one batch that is due first, if any is; whether anything came of a request."""
        due = [(self._watch(sent).at, sent, way) for sent, way in self._reachable()]
        at, sent, way = min(due, key=lambda one: one[0], default=(0.0, None, None))
        if sent is None or way is None or at > self._passed:
            return False
        watch = self._watch(sent)
        self._asked = self._passed
        try:
            if sent.stage == "doubt":
                return await self._resolve(sent, way, watch, say)
            return await self._ask(sent, way, watch, say)
        except CallBroken as e:
            if isinstance(e.verdict, Final) and e.verdict.exit_code != 1:
                raise failed(e.verdict) from e
            return await self._in_vain(sent, way, watch, e.verdict.reason, say)
        except Torn as e:
            return await self._in_vain(sent, way, watch, str(e), say)
        finally:
            watch.at = self._passed + watch.wait
            watch.wait = self._poll.after(max(watch.wait, self._poll.first))

    async def _ask(self, sent: Sent, way: MessageBatches, watch: _Watch, say: Say) -> bool:
        """Whether the batch has ended; its results are stored, then."""
        if sent.stage == "out":
            posted = await way.retrieve(sent.batch)
            watch.failed = 0
            if posted.status != "ended":
                return await self._waited(sent, way, watch, _LAST_WORD, say)
            await self._shelf.note(Ended(sent.batch))
            watch.wait, watch.last = self._poll.first, None
        await self._fetcher.fetch(sent, way, say)
        return True

    async def _in_vain(self, sent: Sent, way: MessageBatches, watch: _Watch, reason: str, say: Say) -> bool:
        """A question that failed: what it was about may be as it was."""
        watch.failed += 1
        if watch.failed == 1:
            say(f"{reason}; {self._name(sent)} is asked for again")
        elif watch.failed == _LONG:
            say(f"{self._name(sent)}: {_LONG} questions in a row failed, the last with: {reason}")
        if sent.stage == "out":
            return await self._waited(sent, way, watch, _OUT_OF_REACH, say)
        return sent.stage == "ended" and await self._unfetched(sent, watch, say)

    async def _waited(self, sent: Sent, way: MessageBatches, watch: _Watch, grace: float, say: Say) -> bool:
        """Gives a batch up whose time has long been over; what it held is to be sent again."""
        if sent.expires is None or self._shelf.clock.now() < sent.expires:
            return False
        if watch.last is None:
            watch.last = self._passed + grace
            watch.wait = self._poll.first
            due = self._shelf.local(sent.expires)
            say(f"{self._name(sent)} should have ended by {due}: its server is told to end it")
            with suppress(CallBroken):  # it has had its time
                await way.cancel(sent.batch)
        watch.last = min(watch.last, self._passed + grace)
        if self._passed < watch.last:
            return False
        return await self._given_up(sent, "its Message Batch did not end in its time", say)

    async def _unfetched(self, sent: Sent, watch: _Watch, say: Say) -> bool:
        """Gives a batch up whose results could not be had for a day: somebody may have deleted it."""
        if watch.last is None:
            watch.last = self._passed + _UNFETCHED
        return self._passed >= watch.last and await self._given_up(sent, "its results could not be fetched", say)

    async def _given_up(self, sent: Sent, reason: str, say: Say) -> bool:
        await self._shelf.note(Expired(sent.batch, reason))
        for name in sent.requests:
            self._shelf.till.release(name)
        say(f"{self._name(sent)} is given up, {reason}: {requests(len(sent.requests))} to be sent again")
        return True

    async def _resolve(self, sent: Sent, way: MessageBatches, watch: _Watch, say: Say) -> bool:
        """Finds out whether a batch was made whose making nobody saw the end of."""
        running = False
        for one in await way.since(sent.at - _EARLY):
            mark = (sent.key, one.id)
            if one.id in self._shelf.state.known or mark in self._others or one.requests != len(sent.requests):
                continue
            if one.status != "ended":
                running = True
            elif one.created + _KEPT < self._shelf.clock.now() or not await self._fetcher.holds(sent, one.id, way):
                self._others.add(mark)
            else:
                expires = "" if one.expires is None else one.expires.isoformat()
                await self._shelf.note(Created(sent.key, one.id, one.created.isoformat(), expires))
                say(f"Message Batch {one.id} is the one of {requests(len(sent.requests))} whose making was cut short")
                watch.wait = 0.0
                return False
        watch.failed = 0
        if running:
            watch.looked = None
            return False
        if watch.looked is None:
            watch.looked = self._passed
        if self._passed < watch.looked + _LATE:
            return False
        await self._shelf.note(Unmade(sent.key, "it doesn't stand in the server's list"))
        for name in sent.requests:
            self._shelf.till.release(name)
        say(f"{requests(len(sent.requests))}: no Message Batch was made of them, so they are sent again")
        return True

    def _name(self, sent: Sent) -> str:
        return f"Message Batch {sent.batch}" if sent.batch else f"a batch of {requests(len(sent.requests))}"
