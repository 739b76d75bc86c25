"""What model calls cost, summed up by day, layer, model, agent or client, from the usage logs; nothing else is read."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from ..memory.workspace import Space
from ..subagents.model import Usage
from .meter.advice import advice
from .meter.entry import Entry
from .meter.measured import LAYERS
from .meter.rates import OUTPUT, base, prompt_base, usd_of
from .meter.spread import spread
from .results import UsageTotals
from .usage import bookings, unreadable

By = Literal["day", "layer", "model", "agent", "client"]
HOUSE = "(house)"
ANSWERS = "answers"
"""The row of what models said, which is no layer of a prompt."""
UNKNOWN = "(not measured)"
"""The row of prompts whose layers nobody noted."""
CUT = "(cut off, at most)"
"""The row of calls that nobody saw end: no token of them is known, and what they may have cost is booked."""


@dataclass(frozen=True)
class UsageRow:
    """What was booked under one name. `cost_usd` is None where none of it has a known price.

    `bookings` are attempts, reviews and turns of a chat, `responses` the model's replies in them. `base_tokens` are all
    tokens by what they cost, in units of one that is neither written to nor read from a cache. `unpriced_tokens` are
    those without a known cost; `lost_calls` gave no whole reply and are in the sums.
    """

    name: str
    bookings: int
    usage: UsageTotals
    cost_usd: float | None
    unpriced_tokens: int
    lost_calls: int
    seconds: float
    responses: int = 0
    base_tokens: int = 0

    @property
    def tokens(self) -> int:
        return self.usage.input + self.usage.cache_write + self.usage.cache_read + self.usage.output

    def as_json(self) -> Mapping[str, object]:
        return {
            "name": self.name,
            "bookings": self.bookings,
            "responses": self.responses,
            **self.usage.as_json(),
            "base_tokens": self.base_tokens,
            "cost_usd": self.cost_usd,
            "unpriced_tokens": self.unpriced_tokens,
            "lost_calls": self.lost_calls,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class UsageResult:
    """The answer of `usage`: rows and their sum; `since` and `until` are the days as understood, None for no bound.

    `layers` are the tokens of all prompts by layer; `short` says in how many responses a layer's mark was too short to
    be cached by itself. `problems` are lines that can't be read, so that what they cost is in no sum; `advice` is what
    costs more than it has to, each with its figures and what to do.
    """

    by: By
    since: str | None
    until: str | None
    client: str | None
    rows: tuple[UsageRow, ...]
    totals: UsageRow
    layers: Mapping[str, int] = field(default_factory=dict)
    short: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Both: what is in no sum, and what to look at."""
        return (*self.problems, *self.advice)

    def as_json(self) -> Mapping[str, object]:
        return {
            "by": self.by,
            "since": self.since,
            "until": self.until,
            "client": self.client,
            "rows": [row.as_json() for row in self.rows],
            "totals": self.totals.as_json(),
            "layers": dict(self.layers),
            "short": dict(self.short),
            "warnings": list(self.warnings),
        }


@dataclass
class _Sum:
    """One row while it is summed up; `costs` are the known ones, `keys` the attempts, reviews and turns."""

    usage: Usage = field(default_factory=Usage)
    unpriced: int = 0
    lost: int = 0
    responses: int = 0
    costs: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    keys: set[tuple[object, ...]] = field(default_factory=set)

    def add(self, entry: Entry, usage: Usage, cost_usd: float | None, *, first: bool = True) -> None:
        """Takes in what of a line belongs to this row; what stands once in a line is counted with its `first`."""
        self.usage = self.usage + usage
        if cost_usd is None:
            self.unpriced += usage.prompt_total + usage.output
        else:
            self.costs.append(cost_usd)
        self.keys.add(entry.key)
        self.responses += not entry.booking.lost
        if first:
            self.lost += entry.booking.lost
            self.seconds.append(entry.booking.seconds)

    def row(self, name: str) -> UsageRow:
        u = self.usage
        return UsageRow(
            name=name,
            bookings=len(self.keys),
            usage=UsageTotals(u.input, u.cache_write, u.cache_read, u.output),
            # In the end a sum of money that was paid in parts is told to the millionth of a cent.
            cost_usd=round(math.fsum(self.costs), 8) if self.costs or not self.keys else None,
            unpriced_tokens=self.unpriced,
            lost_calls=self.lost,
            seconds=math.fsum(self.seconds),
            responses=self.responses,
            base_tokens=round(base(u)),
        )


def tally(
    spaces: Iterable[Space], by: By, *, since: date | None = None, until: date | None = None, client: str | None = None
) -> UsageResult:
    """The bookings of these spaces from the day `since` to the day `until`, both included."""
    first, last = since.isoformat() if since else None, until.isoformat() if until else None
    entries: list[Entry] = []
    wrong: list[str] = []
    for space in spaces:
        wrong += map(str, unreadable(space, lambda month: _may_hold(month, first, last)))
        for booking, time in bookings(space, lambda month: _may_hold(month, first, last)):
            if (first is None or time[:10] >= first) and (last is None or time[:10] <= last):
                entries.append(Entry(space.client, booking, time))
    found: dict[str, _Sum] = {}
    together = _Sum()
    for entry in entries:
        together.add(entry, entry.booking.usage, entry.booking.cost_usd)
        if by == "layer":
            _add_layers(found, entry)
        else:
            found.setdefault(_NAMES[by](entry), _Sum()).add(entry, entry.booking.usage, entry.booking.cost_usd)
    rows = [one.row(name) for name, one in found.items()]
    rows.sort(key=_ORDERS.get(by, _by_cost))
    return UsageResult(
        by,
        first,
        last,
        client,
        tuple(rows),
        together.row("together"),
        _layers(entries),
        Counter(layer for entry in entries for layer in entry.booking.measured.short),
        tuple(wrong),
        advice(entries),
    )


_NAMES: Mapping[By, Callable[[Entry], str]] = {
    "day": lambda entry: entry.day,
    "model": lambda entry: entry.booking.model,
    "agent": lambda entry: entry.booking.agent,
    "client": lambda entry: entry.client or HOUSE,
}


def _add_layers(found: dict[str, _Sum], entry: Entry) -> None:
    """A line's counters by layer, and its words; what it cost is shared out by what each kind of token costs."""
    whole, cost = entry.booking.usage, entry.booking.cost_usd
    if whole == Usage():
        found.setdefault(CUT, _Sum()).add(entry, whole, cost)
        return
    words = Usage(output=whole.output)
    parts = spread(entry.booking.measured.layers, whole) or {UNKNOWN: replace(whole, output=0)}
    for k, (name, usage) in enumerate(parts.items()):
        found.setdefault(name, _Sum()).add(entry, usage, usd_of(prompt_base(usage), whole, cost), first=not k)
    found.setdefault(ANSWERS, _Sum()).add(entry, words, usd_of(OUTPUT * words.output, whole, cost), first=False)


def _layers(entries: Iterable[Entry]) -> Mapping[str, int]:
    found: dict[str, int] = dict.fromkeys(LAYERS, 0)
    for entry in entries:
        for layer in LAYERS:
            found[layer] += entry.booking.measured.layers.get(layer, 0)
    return found


def _may_hold(name: str, first: str | None, last: str | None) -> bool:
    """Whether a month's file ("usage-2026-11.jsonl") may hold days of the range."""
    month = name.removeprefix("usage-").removesuffix(".jsonl")
    return (first is None or month >= first[:7]) and (last is None or month <= last[:7])


def _by_name(row: UsageRow) -> tuple[object, ...]:
    return (row.name,)


def _by_layer(row: UsageRow) -> tuple[object, ...]:
    order = (*LAYERS, ANSWERS)
    return (order.index(row.name) if row.name in order else len(order), row.name)


def _by_cost(row: UsageRow) -> tuple[object, ...]:
    return (-(row.cost_usd or 0.0), -row.tokens, row.name)


_ORDERS: Mapping[By, Callable[[UsageRow], tuple[object, ...]]] = {"day": _by_name, "layer": _by_layer}
