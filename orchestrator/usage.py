"""What model calls cost, one line per attempt in `logs/usage-YYYY-MM.jsonl` of the task's space.

An attempt is booked once: before its end is journalled, and after a crash from its transcript. A line that can't be
read is passed over.
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
    """One attempt's line; `cost_usd` in US dollars."""

    task: str
    attempt: int
    agent: str
    model: str
    usage: Usage
    cost_usd: float = 0.0
    seconds: float = 0.0


def book(space: Space, booking: Booking, now: datetime) -> None:
    """Adds the attempt's line, unless it is there."""
    mark = f'"task": {json.dumps(booking.task)}, "attempt": {booking.attempt}, '.encode()
    if any(mark in data for _, data in _months(space)):
        return
    line = {
        "v": VERSION,
        "time": now.isoformat(timespec="seconds"),
        "client": space.client,
        "task": booking.task,
        "attempt": booking.attempt,
        "agent": booking.agent,
        "model": booking.model,
        "input": booking.usage.input,
        "cache_write": booking.usage.cache_write,
        "cache_read": booking.usage.cache_read,
        "output": booking.usage.output,
        "cost_usd": booking.cost_usd,
        "seconds": booking.seconds,
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
    """For each task its tokens, its cost and its seconds; an attempt that was booked twice by a merge counts once."""
    seen: set[tuple[str, int]] = set()
    found: dict[str, tuple[UsageTotals, float, float]] = {}
    for b, _ in bookings(space):
        if (b.task, b.attempt) in seen:
            continue
        seen.add((b.task, b.attempt))
        u, cost, seconds = found.get(b.task, (UsageTotals(), 0.0, 0.0))
        summed = UsageTotals(
            u.input + b.usage.input,
            u.cache_write + b.usage.cache_write,
            u.cache_read + b.usage.cache_read,
            u.output + b.usage.output,
        )
        found[b.task] = (summed, cost + b.cost_usd, seconds + b.seconds)
    return found


def spent_on(space: Space, day: str) -> float:
    """US dollars of the attempts whose line is of that day (YYYY-MM-DD)."""
    return sum(b.cost_usd for b, time in bookings(space) if time.startswith(day))


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
    agent, model = str(line.get("agent", "")), str(line.get("model", ""))
    return Booking(task, attempt, agent, model, usage, amount("cost_usd"), amount("seconds"))
