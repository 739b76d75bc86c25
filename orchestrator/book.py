"""Books what responses cost: each line once, also when what is booked was perhaps booked before a crash.

A process that has just seen a turn through knows that none of it is booked, and adds its lines without a look. Who
can't know reads the files of the months in which it may have been booked, and no others.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path

from ..memory.workspace import Space
from .premises import Lines, append_line
from .usage import Booking, booking_line, key_json, months, place, time_of


def book(space: Space, booking: Booking, now: datetime) -> None:
    """Adds the line, unless one with its key is there."""
    book_all(space, (booking,), now)


def book_all(space: Space, booked: Iterable[Booking], now: datetime, since: str = "") -> None:
    """Adds the lines whose keys are not there yet; what began at the time `since` can't be booked before."""
    there = [data for _, data in months(space, months_since(since))]
    for booking in booked:
        if not any(mark in data for mark in _marks(booking) for data in there):
            record(space, (booking,), now)


def record(space: Space, booked: Iterable[Booking], now: datetime) -> None:
    """Adds lines of which the caller knows that they are not there."""
    for path, line in lines_of(space, booked, now):
        append_line(path, line)


def lines_of(space: Space, booked: Iterable[Booking], now: datetime) -> Lines:
    """The lines of bookings, each with its file: that of the month in which the response came."""
    files: dict[tuple[int, int], Path] = {}
    lines: list[tuple[Path, str]] = []
    for one in booked:
        at = time_of(one, now)
        month = at.year, at.month
        if month not in files:
            files[month] = place(space, at)
        lines.append((files[month], booking_line(space, one, now)))
    return tuple(lines)


def months_since(since: str) -> Callable[[str], bool]:
    """Which files may hold what was booked since a time; all, where it can't be read.

    Two days are allowed for clocks and time zones of other machines.
    """
    first = _first_month(since)
    return lambda name: name >= first


@lru_cache(maxsize=64)
def _first_month(since: str) -> str:
    """The name of the first file that may hold it; "" for all."""
    try:
        return f"usage-{datetime.fromisoformat(since) - timedelta(days=2):%Y-%m}.jsonl"
    except ValueError:
        return ""


def _marks(booking: Booking) -> tuple[bytes, ...]:
    """What a file holds in which it is booked, alone or in one line with others; for such a line, any of its calls."""
    whole = key_json(replace(booking, call=0))[1:-1]
    more = key_json(booking)[1:-1] if booking.call else f'{whole}, "call": '
    ends = (f'{whole}, "agent": ', f'{more}, "agent": ' if booking.call else more)
    return tuple(end.encode() for end in ends)
