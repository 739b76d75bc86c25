"""Sends what waits: in parts that fit, each written down before it leaves, and never a second time in doubt."""

import secrets
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import anyio
import anyio.lowlevel

from ..errors import OrchestratorFault
from ..gateway.failure import Again, CallBroken, CallFailed, Final, failed
from ..gateway.ledger import OverBudget
from ..gateway.messagebatches import InDoubt, MessageBatches, NoBatches, NotMade, Posted, TooLarge
from ..gateway.patience import pause
from .events import Created, Intent, Unmade
from .parts import Limits, halves, parts
from .shelf import Noted, Shelf

Say = Callable[[str], None]

_DRAWN = 0.5  # nobody else sends at the same moment


class RequestTooLarge(CallFailed):
    """Raised for a request that no Message Batch can hold, not even alone."""

    def __init__(self, model: str, size: int, limit: str) -> None:
        super().__init__(f"{model}: the request has {size:,} bytes as it is sent, {limit}; it can't be sent in parts")


@dataclass
class _Refused:
    """How often in a row a server has taken nothing, when it is asked again, and since when that goes on."""

    tries: int = 0
    at: float = 0.0
    since: float = 0.0


class Sender:
    """Makes Message Batches of what waits.

    `now` are seconds that have passed here, `halted` is whether nothing new is to begin.
    """

    def __init__(self, shelf: Shelf, limits: Limits, now: Callable[[], float], halted: Callable[[], bool]) -> None:
        self._shelf = shelf
        self._limits = limits
        self._now = now
        self._halted = halted
        self._refused: dict[str, _Refused] = {}

    def due(self, wanted: Sequence[str]) -> float | None:
        """When to send next what is left of these requests; None: nothing of it can be sent."""
        shelf = self._shelf
        waiting = (shelf.waiting[name] for name in wanted if name in shelf.waiting)
        groups = {one.way.group for one in waiting if shelf.till.has(one.id, one.most)}
        return min((self._refused.get(group, _Refused()).at for group in groups), default=None)

    async def send(self, wanted: Sequence[str], say: Say) -> bool:
        """Sends those of these requests whose time has come; says whether any came to an end by that.

        Raises CallFailed where no other request could be sent either: nothing is lost, all of it can be sent later.
        """
        shelf, groups, over = self._shelf, defaultdict[str, list[Noted]](list), False
        for name in wanted:
            noted = shelf.waiting.get(name)
            if noted is None:
                continue
            try:
                if shelf.till.reserve(name, noted.account, noted.most):
                    groups[noted.way.group].append(noted)
            except OverBudget as e:
                self._fails(noted, e)
                over = True
        for group, all_of_them in groups.items():
            refused = self._refused.get(group)
            if refused is not None and refused.at > self._now():
                continue
            for part in parts([one.size for one in all_of_them], self._limits):
                ended = await self._part(group, all_of_them, part, say)
                if ended is None:
                    break  # the server takes nothing now
                over = over or ended
        return over

    async def _part(self, group: str, noted: Sequence[Noted], part: range, say: Say) -> bool | None:
        """Sends a part, or its halves; whether any request came to an end by that. None: it has to wait."""
        shelf, chosen = self._shelf, [noted[k] for k in part]
        way = chosen[0].way
        if self._halted():
            return None
        made = await self._made(way, chosen)
        match made:
            case Posted():
                self._refused.pop(group, None)
                until = "" if made.expires is None else f", until {shelf.local(made.expires)} at the latest"
                say(f"{requests(len(chosen))} went to {way.server} in Message Batch {made.id}{until}")
            case InDoubt(reason):
                say(f"{reason}; whether the server took {requests(len(chosen))} shows in its list: it is looked up")
            case TooLarge(reason) if len(chosen) == 1:
                limit = f"and the server takes no more: {reason}"
                self._fails(chosen[0], RequestTooLarge(chosen[0].model, chosen[0].size, limit))
                return True
            case TooLarge():
                one, other = halves(part)
                say(f"{requests(len(chosen))} were too large for one Message Batch: sent in two parts")
                first = await self._part(group, noted, one, say)
                return None if first is None else await self._both(group, noted, other, first, say)
            case NotMade(Again() as verdict):
                self._bear(group, verdict, chosen[0].patience, say)
                return None
            case NotMade(Final() as final) if final.exit_code == 1:
                for one_of_them in chosen:
                    self._fails(one_of_them, failed(final))
                return True
            case NotMade(Final() as final):
                raise failed(final)
        return False

    async def _both(self, group: str, noted: Sequence[Noted], other: range, first: bool, say: Say) -> bool | None:
        second = await self._part(group, noted, other, say)
        return None if second is None else first or second

    async def _made(self, way: MessageBatches, chosen: Sequence[Noted]) -> Posted | TooLarge | NotMade | InDoubt:
        """Makes one Message Batch, between two lines of the journal."""
        shelf = self._shelf
        try:
            entries = []
            for one in chosen:
                entries.append(await one.way.entry(one.id, one.request))
                await anyio.lowlevel.checkpoint()  # there may be a hundred thousand
        except CallBroken as e:
            return NotMade(e.verdict)
        key = secrets.token_hex(8)
        prices = {one.model: one.price for one in chosen}
        await shelf.note(Intent(key, way.server, way.profile, tuple(one.asked for one in chosen), prices))
        shelf.goes(shelf.state.sent[key], way)
        for one in chosen:
            del shelf.waiting[one.id]
        try:
            made = await way.create(entries)
        except NoBatches as e:
            await self._unmade(key, chosen, e.message)
            raise
        with anyio.CancelScope(shield=True):  # what is known now is not to be looked up later
            match made:
                case Posted(id=batch, created=created, expires=expires):
                    told = "" if expires is None else expires.isoformat()
                    await shelf.note(Created(key, batch, created.isoformat(), told))
                case TooLarge(reason):
                    await self._unmade(key, chosen, reason)
                case NotMade(verdict):
                    await self._unmade(key, chosen, verdict.reason)
        return made

    async def _unmade(self, key: str, chosen: Sequence[Noted], reason: str) -> None:
        await self._shelf.note(Unmade(key, reason))
        self._shelf.waiting.update({one.id: one for one in chosen})

    def _bear(self, group: str, verdict: Again, patience: float, say: Say) -> None:
        """Waits for a server that takes nothing now; raises CallFailed when that takes too long."""
        now = self._now()
        refused = self._refused.setdefault(group, _Refused(since=now))
        refused.tries += 1
        seconds = pause(refused.tries, verdict.after, _DRAWN)
        if now + seconds - refused.since > patience:
            del self._refused[group]
            raise CallFailed(f"{verdict.reason}; tried {refused.tries} times within {patience:g} s (patience_seconds)")
        refused.at = now + seconds
        say(f"{verdict.reason}; tried again in {seconds:.0f} s")

    def _fails(self, noted: Noted, error: OrchestratorFault) -> None:
        self._shelf.waiting.pop(noted.id, None)
        self._shelf.till.release(noted.id)
        self._shelf.failures[noted.id] = error


def requests(many: int) -> str:
    """So many requests, in words."""
    return "1 request" if many == 1 else f"{many} requests"
