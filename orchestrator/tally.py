"""What model calls cost, summed up by day, model, agent or client, from the usage logs; nothing else is read."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from ..memory.workspace import Space
from .results import UsageTotals
from .usage import Booking, bookings, unreadable

By = Literal["day", "model", "agent", "client"]
HOUSE = "(house)"


@dataclass(frozen=True)
class UsageRow:
    """What was booked under one name. `cost_usd` is None where none of it has a known price.

    `unpriced_tokens` are those of bookings without a known cost; `lost_calls` gave no whole reply and are in the sums.
    """

    name: str
    bookings: int
    usage: UsageTotals
    cost_usd: float | None
    unpriced_tokens: int
    lost_calls: int
    seconds: float

    def as_json(self) -> Mapping[str, object]:
        return {
            "name": self.name,
            "bookings": self.bookings,
            **self.usage.as_json(),
            "cost_usd": self.cost_usd,
            "unpriced_tokens": self.unpriced_tokens,
            "lost_calls": self.lost_calls,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class UsageResult:
    """The answer of `usage`: rows and their sum; `since` and `until` are the days as understood, None for no bound."""

    by: By
    since: str | None
    until: str | None
    client: str | None
    rows: tuple[UsageRow, ...]
    totals: UsageRow
    layers: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def as_json(self) -> Mapping[str, object]:
        return {
            "by": self.by,
            "since": self.since,
            "until": self.until,
            "client": self.client,
            "rows": [row.as_json() for row in self.rows],
            "totals": self.totals.as_json(),
            "layers": dict(self.layers),
            "warnings": list(self.warnings),
        }


def tally(
    spaces: Iterable[Space], by: By, *, since: date | None = None, until: date | None = None, client: str | None = None
) -> UsageResult:
    """The bookings of these spaces from the day `since` to the day `until`, both included."""
    first, last = since.isoformat() if since else None, until.isoformat() if until else None
    found: dict[str, list[Booking]] = {}
    name = _NAMES[by]
    wrong: list[str] = []
    for space in spaces:
        wrong += map(str, unreadable(space, lambda month: _may_hold(month, first, last)))
        for booking, time in bookings(space, lambda month: _may_hold(month, first, last)):
            day = time[:10]
            if (first is None or day >= first) and (last is None or day <= last):
                found.setdefault(name(space, booking, day), []).append(booking)
    rows = [_row(key, booked) for key, booked in found.items()]
    rows.sort(key=_by_day if by == "day" else _by_cost)
    everything = [booking for booked in found.values() for booking in booked]
    return UsageResult(by, first, last, client, tuple(rows), _row("together", everything), warnings=tuple(wrong))


_NAMES: Mapping[By, Callable[[Space, Booking, str], str]] = {
    "day": lambda space, booking, day: day,
    "model": lambda space, booking, day: booking.model,
    "agent": lambda space, booking, day: booking.agent,
    "client": lambda space, booking, day: space.client or HOUSE,
}


def _may_hold(name: str, first: str | None, last: str | None) -> bool:
    """Whether a month's file ("usage-2026-11.jsonl") may hold days of the range."""
    month = name.removeprefix("usage-").removesuffix(".jsonl")
    return (first is None or month >= first[:7]) and (last is None or month <= last[:7])


def _row(name: str, booked: list[Booking]) -> UsageRow:
    usage = UsageTotals(
        sum(b.usage.input for b in booked),
        sum(b.usage.cache_write for b in booked),
        sum(b.usage.cache_read for b in booked),
        sum(b.usage.output for b in booked),
    )
    known = [b.cost_usd for b in booked if b.cost_usd is not None]
    return UsageRow(
        name=name,
        bookings=len(booked),
        usage=usage,
        # In the end a sum of money that was paid in parts is told to the millionth of a cent.
        cost_usd=round(math.fsum(known), 8) if known or not booked else None,
        unpriced_tokens=sum(b.unpriced for b in booked),
        lost_calls=sum(b.lost for b in booked),
        seconds=math.fsum(b.seconds for b in booked),
    )


def _by_day(row: UsageRow) -> tuple[object, ...]:
    return (row.name,)


def _by_cost(row: UsageRow) -> tuple[object, ...]:
    tokens = row.usage.input + row.usage.cache_write + row.usage.cache_read + row.usage.output
    return (-(row.cost_usd or 0.0), -tokens, row.name)
