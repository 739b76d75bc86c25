"""What happens to requests that go out by Message Batches, as frozen values: the journal's lines, and nothing else.

The journal may come with a clone. So no event holds money that would widen a budget, or a name that leads elsewhere.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..gateway.account import Amount
from ..gateway.price import Price

NOTHING = Amount()
_BATCH = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it names a file, too


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: its custom_id, the sha of the request, whose it is, and the most that it may cost.

    What it says is not kept: its task can say it again.
    """

    id: str
    sha: str
    task: str
    client: str | None
    agent: str
    model: str
    most: Amount

    def __post_init__(self) -> None:
        _no_gift(self.most)


@dataclass(frozen=True)
class Intent:
    """A Message Batch is about to be made, at a profile's server; `prices` are those in a batch, by model."""

    key: str
    server: str
    profile: str
    requests: tuple[Asked, ...]
    prices: Mapping[str, Price | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for price in self.prices.values():
            for rates in () if price is None else (price, *(step.rates for step in price.steps)):
                if not min(rates.input, rates.cache_write, rates.cache_read, rates.output, rates.hour) >= 0:
                    raise ValueError("a price below nothing")


@dataclass(frozen=True)
class Created:
    """The server has made it, and called it `batch`; times are ISO, `expires` the latest end."""

    key: str
    batch: str
    created: str
    expires: str

    def __post_init__(self) -> None:
        if not _BATCH.fullmatch(self.batch):
            raise ValueError("not the name of a Message Batch")


@dataclass(frozen=True)
class Unmade:
    """There is no such batch at the server; why."""

    key: str
    reason: str


@dataclass(frozen=True)
class Canceling:
    """A person wants it to end before its time, and the server knows."""

    batch: str


@dataclass(frozen=True)
class Ended:
    """The server is done with it."""

    batch: str


Kind = Literal["reply", "refusal", "again", "failed", "canceled"]
"""reply: a model answered; refusal: it refused to; again: to be sent again; failed: it would fail again; canceled: by
the person who runs the batch."""


@dataclass(frozen=True, slots=True)
class Item:
    """What came of one request. A reply stands in the batch's file of replies, from byte `at` on, `size` bytes long.

    `cost` is what has to be paid for it. What failed has its `reason`, and a failure its hint and exit code.
    """

    id: str
    kind: Kind
    at: int = 0
    size: int = 0
    cost: Amount = NOTHING
    reason: str = ""
    hint: str | None = None
    exit_code: int = 1

    def __post_init__(self) -> None:
        _no_gift(self.cost)


@dataclass(frozen=True)
class Stored:
    """Its results are on the disk; from now on they count."""

    batch: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Expired:
    """It is not waited for any longer, and what it held is to be sent again; why."""

    batch: str
    reason: str


@dataclass(frozen=True)
class Handed:
    """The task that asked has got the reply."""

    id: str


@dataclass(frozen=True)
class Told:
    """The task that asked was told of a failure, or a person wants it to be asked anew: what is known of it is over."""

    id: str


Event = Intent | Created | Unmade | Canceling | Ended | Stored | Expired | Handed | Told


def _no_gift(amount: Amount) -> None:
    """Raises ValueError for an amount that would give money back."""
    if not (amount.usd >= 0 and amount.tokens >= 0):
        raise ValueError("an amount below nothing")
