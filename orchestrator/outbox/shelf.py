"""What asking and delivering share: the journal and what it comes to, what waits to be sent, and who can reach it."""

from dataclasses import dataclass
from datetime import datetime

from ...memory.clock import Clock
from ...memory.errors import OnepenError
from ...subagents.model import ModelRequest
from ..gateway.account import Account, Amount
from ..gateway.messagebatches import MessageBatches
from ..gateway.price import Price
from .events import NOTHING, Asked, Event, Told
from .journal import Journal
from .state import Result, Sent, State
from .store import Replies
from .till import Till


@dataclass(frozen=True)
class Noted:
    """A request that waits to be sent; `size` are its bytes, `price` what it costs in a batch."""

    id: str
    sha: str
    request: ModelRequest
    way: MessageBatches
    model: str
    price: Price | None
    account: Account
    most: Amount
    size: int
    patience: float

    @property
    def asked(self) -> Asked:
        """What the journal keeps of it."""
        account = self.account
        return Asked(self.id, self.sha, account.purse, account.client, account.agent, self.model, self.most)


class Shelf:
    """Raises OutboxUnreadable, or an OSError, when it is made.

    `failures` are those of requests that could not be sent; `earlier` are the keys of what earlier processes sent.
    """

    def __init__(self, journal: Journal, replies: Replies, till: Till, clock: Clock) -> None:
        self.clock = clock
        self.replies = replies
        self.till = till
        self.waiting: dict[str, Noted] = {}
        self.failures: dict[str, OnepenError] = {}
        self._journal = journal
        self._ways: dict[tuple[str, str], MessageBatches] = {}
        self._took: dict[str, MessageBatches] = {}
        self.state = State.of(journal.read())
        self.earlier = frozenset(self.state.sent)
        for sent in self.state.sent.values():
            for asked in sent.requests.values():
                till.hold(asked, sent.at.date())
        for result in self.unclaimed():
            till.book(result.asked, result.item.cost, result.at.date())

    def unclaimed(self) -> tuple[Result, ...]:
        """What came back and has to be paid, and that no task has got yet."""
        state = self.state
        return tuple(
            one for name, one in state.results.items() if one.item.cost != NOTHING and name not in state.handed
        )

    async def note(self, event: Event) -> None:
        """Writes down what happened, synced; raises an OSError."""
        self.state.apply(await self._journal.add(event))

    def mention(self, event: Event) -> None:
        """The same for what may be lost in a power cut."""
        self.state.apply(self._journal.mention(event))

    def local(self, at: datetime) -> str:
        """A time for people, by their own clock."""
        return f"{at.astimezone(self.clock.now().tzinfo):%Y-%m-%d %H:%M}"

    def met(self, way: MessageBatches) -> None:
        """A way to a server: what an earlier process sent by a profile of that name goes by it, too."""
        self._ways[way.server, way.profile] = way

    def goes(self, sent: Sent, way: MessageBatches) -> None:
        """The way by which a batch was sent, or is asked for."""
        self._took[sent.key] = way

    def way_to(self, sent: Sent) -> MessageBatches | None:
        """The way to a batch; None as long as nobody has asked by it."""
        return self._took.get(sent.key) or self._ways.get((sent.server, sent.profile))

    def over(self, custom_id: str) -> None:
        """A task was told how its request ended; nothing of it counts when it asks again."""
        self.failures.pop(custom_id, None)
        if custom_id in self.state.results or custom_id in self.state.tries:
            self.mention(Told(custom_id))
