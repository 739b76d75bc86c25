"""What model calls cost, one line per attempt in `logs/usage-YYYY-MM.jsonl` of the task's space.

An attempt is booked once: before its end is journalled, and after a crash from its transcript. So is each review by a
model, whose line has the `role` "review" and the number `k` of its conversation. A line that can't be read is passed
over.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..memory.guard import UnsafeFile, read_beneath
from ..memory.links import LinkLeadsOut
from ..memory.workspace import Space
from ..subagents.model import Usage
from .premises import append_line, own
from .results import UsageTotals

VERSION = 1
_MOST = 256 << 20
_NAME = re.compile(r"usage-\d{4}-\d{2}\.jsonl")


@dataclass(frozen=True)
class Booking:
    """One attempt's line, or that of a review; `cost_usd` in US dollars, None where a price is unknown.

    `lost` counts the calls that gave no whole reply; what they used is in the sums.
    """

    task: str
    attempt: int
    agent: str
    model: str
    usage: Usage
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    role: str = ""
    k: int = 0
    lost: int = 0

    @property
    def key(self) -> Mapping[str, object]:
        """What is booked once."""
        whose = {"task": self.task, "attempt": self.attempt}
        return {**whose, "role": self.role, "k": self.k} if self.role else whose


def book(space: Space, booking: Booking, now: datetime) -> None:
    """Adds the line, unless it is there."""
    mark = f'{json.dumps(booking.key)[1:-1]}, "agent": '.encode()
    if any(mark in data for _, data in _months(space)):
        return
    line = {
        "v": VERSION,
        "time": now.isoformat(timespec="seconds"),
        "client": space.client,
        **booking.key,
        "agent": booking.agent,
        "model": booking.model,
        "input": booking.usage.input,
        "cache_write": booking.usage.cache_write,
        "cache_read": booking.usage.cache_read,
        "output": booking.usage.output,
        "cost_usd": booking.cost_usd,
        "seconds": booking.seconds,
        **({"lost": booking.lost} if booking.lost else {}),
    }
    append_line(place(space, now), json.dumps(line))


def place(space: Space, now: datetime) -> Path:
    """The file of this month; raises LinkLeadsOut."""
    return own(space, f"logs/usage-{now:%Y-%m}.jsonl")


def bookings(space: Space) -> Iterator[tuple[Booking, str]]:
    """All lines of a space, each with its time, oldest month first."""
    for _, data in _months(space):
        for text in data.decode(errors="replace").split("\n"):
            try:
                line = json.loads(text)
            except ValueError:
                continue
            match line:
                case {"v": 1, "task": str(task), "attempt": int(attempt), "time": str(time)}:
                    yield _booking(task, attempt, line), time


def totals(space: Space) -> Mapping[str, tuple[UsageTotals, float, float]]:
    """For each task its tokens, its cost and its seconds; what was booked twice by a merge counts once."""
    seen: set[tuple[str, int, str, int]] = set()
    found: dict[str, tuple[UsageTotals, float, float]] = {}
    for b, _ in bookings(space):
        if (key := (b.task, b.attempt, b.role, b.k)) in seen:
            continue
        seen.add(key)
        u, cost, seconds = found.get(b.task, (UsageTotals(), 0.0, 0.0))
        summed = UsageTotals(
            u.input + b.usage.input,
            u.cache_write + b.usage.cache_write,
            u.cache_read + b.usage.cache_read,
            u.output + b.usage.output,
        )
        found[b.task] = (summed, cost + (b.cost_usd or 0.0), seconds + b.seconds)
    return found


def spent_on(space: Space, day: str) -> float:
    """US dollars of the attempts whose line is of that day (YYYY-MM-DD)."""
    return sum(b.cost_usd or 0.0 for b, time in bookings(space) if time.startswith(day))


def _months(space: Space) -> Iterator[tuple[str, bytes]]:
    """Name and content of each month's file; what a link leads to is not read, `doctor` names it."""
    try:
        folder = own(space, "logs")
    except LinkLeadsOut:
        return
    for name in sorted(p.name for p in folder.iterdir() if _NAME.fullmatch(p.name)) if folder.is_dir() else ():
        try:
            yield name, read_beneath(folder, name, max_bytes=_MOST, one_link=False)
        except UnsafeFile:
            continue


def _booking(task: str, attempt: int, line: Mapping[str, object]) -> Booking:
    def count(key: str) -> int:
        value = line.get(key)
        return value if isinstance(value, int) else 0

    def amount(key: str) -> float:
        value = line.get(key)
        return float(value) if isinstance(value, int | float) else 0.0

    usage = Usage(count("input"), count("cache_write"), count("cache_read"), count("output"))
    agent, model, role = (str(line.get(key, "")) for key in ("agent", "model", "role"))
    cost = None if line.get("cost_usd", 0.0) is None else amount("cost_usd")
    return Booking(task, attempt, agent, model, usage, cost, amount("seconds"), role, count("k"), count("lost"))
