"""The bookings of a space for who asks again and again: of a month's file that has grown only what is new is read.

A file that was replaced or cut (git does both) is read anew.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..memory.exam.records import is_record
from ..memory.guard import UnsafeFile, open_beneath
from ..memory.links import LinkLeadsOut
from ..memory.workspace import Space
from .gateway.account import Amount
from .premises import Lines, append_in_turn, own
from .usage import Booking, booking_line, month_names, parse_bookings, place

_TAIL = 256

Key = tuple[str, int, str, int, str, int]


@dataclass
class _Month:
    """What is known of one file, each booking once."""

    inode: int = 0
    size: int = 0
    tail: bytes = b""
    found: dict[Key, Booking] = field(default_factory=dict)


class Cashbook:
    """The bookings of one space, kept in memory between two looks."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._months: dict[str, _Month] = {}
        self._tasks: dict[str, dict[Key, Booking]] = {}

    async def add(self, booking: Booking, now: datetime) -> None:
        """Adds the line, synced when this returns, unless one with its key is there."""
        await append_in_turn(self.due(booking, now))

    def due(self, booking: Booking, now: datetime) -> Lines:
        """The line that is to be added, and to which file; none if one with its key is there."""
        self._read_on()
        if booking.key in self._tasks.get(booking.task, {}):
            return ()
        return ((place(self._space, now), booking_line(self._space, booking, now)),)

    def of_task(self, task: str) -> Sequence[Booking]:
        """What was booked for a task so far, its reviews included."""
        self._read_on()
        return tuple(self._tasks.get(task, {}).values())

    def spent_on(self, task: str) -> Amount:
        """What a task has cost so far, its reviews included."""
        booked = self.of_task(task)
        return Amount(sum(b.cost_usd or 0.0 for b in booked), sum(b.unpriced for b in booked))

    def _read_on(self) -> None:
        """Takes in what the files say now."""
        names = tuple(month_names(self._space))
        anew = set(names) != set(self._months)
        self._months = {name: self._months.get(name, _Month()) for name in names}
        for name, month in self._months.items():
            anew = self._month(name, month) or anew
        if anew:
            self._tasks = {}
            self._sort(booking for month in self._months.values() for booking in month.found.values())

    def _month(self, name: str, month: _Month) -> bool:
        """Takes in one file; whether it is not the one any more that was known."""
        try:
            fd = open_beneath(own(self._space, "logs"), name)
        except (UnsafeFile, LinkLeadsOut):
            month.inode, month.size, month.tail, month.found = 0, 0, b"", {}
            return True
        with os.fdopen(fd, "rb") as file:
            status = os.fstat(fd)
            same = status.st_ino == month.inode and status.st_size >= month.size
            same = same and os.pread(fd, len(month.tail), month.size - len(month.tail)) == month.tail
            if same and status.st_size == month.size:
                return False
            if not same:
                month.inode, month.size, month.tail, month.found = status.st_ino, 0, b"", {}
            file.seek(month.size)
            data = file.read()
        end = data.rfind(b"\n") + 1
        whole = data if is_record(data[end:].decode(errors="replace")) else data[:end]
        month.size += len(whole)
        month.tail = (month.tail + whole)[-_TAIL:]
        fresh = {booking.key: booking for booking, _ in reversed(tuple(parse_bookings(whole)))}
        month.found = {**fresh, **month.found}
        if same:
            self._sort(fresh.values())
        return not same

    def _sort(self, bookings: Iterable[Booking]) -> None:
        for booking in bookings:
            self._tasks.setdefault(booking.task, {}).setdefault(booking.key, booking)
