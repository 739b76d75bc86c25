"""The bookings of a space for who asks again and again: of a month's file that has grown only what is new is read.

What is kept is where each task's lines stand, not the lines: a year of bookings is cheap to know. A file that was
replaced or cut (git does both) is read anew.
"""

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from ..memory.exam.records import is_record
from ..memory.guard import UnsafeFile, open_beneath
from ..memory.links import LinkLeadsOut
from ..memory.workspace import Space
from .book import lines_of, months_since
from .gateway.account import Amount
from .premises import Lines, append_in_turn, own
from .results import UsageTotals
from .usage import Booking, Key, month_names, parse_bookings, total

_TAIL = 256
_TASK = re.compile(rb'"task": "([^"\\]+)", "attempt": ')


@dataclass
class _Month:
    """What is known of one file: for each task, where its lines begin and how long they are, in turn."""

    inode: int = 0
    size: int = 0
    tail: bytes = b""
    places: dict[bytes, "array[int]"] = field(default_factory=dict)

    def forget(self, inode: int = 0) -> None:
        self.inode, self.size, self.tail, self.places = inode, 0, b"", {}

    def take(self, data: bytes) -> None:
        """The file goes on with these lines."""
        begin = 0
        while begin < len(data):
            end = data.find(b"\n", begin)
            end = len(data) if end < 0 else end
            if (found := _TASK.search(data, begin, end)) is not None:
                self.places.setdefault(found[1], array("Q")).extend((self.size + begin, end - begin))
            begin = end + 1
        self.size += len(data)
        self.tail = (self.tail + data)[-_TAIL:]


class Cashbook:
    """The bookings of tasks of one space, known between two looks.

    `since` is when a task was made: what was booked for it stands in no earlier month.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._months: dict[str, _Month] = {}

    async def add(self, booked: Sequence[Booking], now: datetime, since: str = "") -> None:
        """Adds the lines, synced when this returns, of those whose keys are not there."""
        await append_in_turn(self.due(booked, now, since))

    def due(self, booked: Sequence[Booking], now: datetime, since: str = "") -> Lines:
        """The lines that are to be added, and to which files; none of those whose keys are there."""
        there = {task: self._keys(task, since) for task in {one.task for one in booked}}
        fresh = [one for one in booked if not {one.key, one.whole_key} & there[one.task]]
        fresh = [one for one in fresh if one.call or not any(key[:6] == one.key[:6] for key in there[one.task])]
        return lines_of(self._space, fresh, now)

    def of_task(self, task: str, since: str = "") -> Sequence[Booking]:
        """What was booked for a task so far, its reviews included; each once, as its first line tells it."""
        found: dict[Key, Booking] = {}
        wanted = months_since(since)
        for name in filter(wanted, month_names(self._space)):
            for booking in self._looked_up(name, task):
                found.setdefault(booking.key, booking)
        return tuple(found.values())

    def totals_of(self, task: str, since: str = "") -> Mapping[str, tuple[UsageTotals, float | None, float]]:
        """The task's tokens, its cost (None: unknown) and its seconds, by its id; {} where nothing was booked."""
        booked = self.of_task(task, since)
        return {task: total(booked)} if booked else {}

    def spent_on(self, task: str, since: str = "") -> Amount:
        """What a task has cost so far, its reviews included."""
        booked = self.of_task(task, since)
        return Amount(sum(b.cost_usd or 0.0 for b in booked), sum(b.unpriced for b in booked))

    def _keys(self, task: str, since: str) -> set[Key]:
        return {booking.key for booking in self.of_task(task, since)}

    def _looked_up(self, name: str, task: str) -> Iterator[Booking]:
        """The bookings of a task in one file, as the file is now."""
        month = self._months.setdefault(name, _Month())
        try:
            fd = open_beneath(own(self._space, "logs"), name)
        except (UnsafeFile, LinkLeadsOut):
            month.forget()
            return
        with os.fdopen(fd, "rb") as file:
            _read_on(month, fd)
            places = month.places.get(task.encode(), ())
            lines = [os.pread(file.fileno(), length, begin) for begin, length in _pairs(places)]
        yield from (booking for booking in _parsed(b"\n".join(lines)) if booking.task == task)


@lru_cache(maxsize=256)
def _parsed(lines: bytes) -> tuple[Booking, ...]:
    """The bookings in lines; remembered, since a task's are asked for several times while it is at work."""
    return tuple(booking for booking, _ in parse_bookings(lines))


def _read_on(month: _Month, fd: int) -> None:
    """Takes in what the file has that isn't known of it yet."""
    status = os.fstat(fd)
    same = status.st_ino == month.inode and status.st_size >= month.size
    same = same and os.pread(fd, len(month.tail), month.size - len(month.tail)) == month.tail
    if not same:
        month.forget(status.st_ino)
    if status.st_size == month.size:
        return
    data = _from(fd, month.size)
    end = data.rfind(b"\n") + 1
    month.take(data if is_record(data[end:].decode(errors="replace")) else data[:end])


def _from(fd: int, begin: int) -> bytes:
    """The rest of a file."""
    pieces: list[bytes] = []
    while piece := os.pread(fd, 1 << 20, begin):
        pieces.append(piece)
        begin += len(piece)
    return b"".join(pieces)


def _pairs(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    numbers = iter(places)
    return zip(numbers, numbers, strict=True)
