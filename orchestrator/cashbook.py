"""The bookings of a space for who asks again and again: of a month's file that has grown only what is new is read.

What is kept is where each task's lines stand, not the lines: a year of bookings is cheap to know. A file that was
replaced, cut or edited (git and people do) is read anew. A look at a file that is as it was takes its status and no
more: the bookings of the few tasks that were asked for last are remembered as long as its stamp speaks for them.
"""

import os
import re
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from ..memory.exam.records import is_record
from ..memory.guard import UnsafeFile, open_beneath
from ..memory.links import LinkLeadsOut, look
from ..memory.stamp import Stamp, settled, stamp_of
from ..memory.workspace import Space
from .book import lines_of, months_since
from .gateway.account import Amount
from .premises import Lines, append_in_turn
from .results import UsageTotals
from .usage import Booking, Key, names_in, parse_bookings, total

_TAIL = 256
_MOST_TASKS = 256
_TASK = re.compile(rb'"task": "([^"\\]+)", "attempt": ')


@dataclass
class _Month:
    """What is known of one file: for each task, where its lines begin and how long they are, in turn.

    `stamp` is the file's as it was last read, and `speaks` whether it will tell of any change. `remembered` are
    bookings of few tasks as that file tells them.
    """

    stamp: Stamp = ()
    speaks: bool = False
    size: int = 0
    tail: bytes = b""
    places: dict[bytes, "array[int]"] = field(default_factory=dict)
    remembered: dict[str, tuple[Booking, ...]] = field(default_factory=dict)

    def forget(self) -> None:
        self.stamp, self.speaks, self.size, self.tail = (), False, 0, b""
        self.places, self.remembered = {}, {}

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

    def read_on(self, fd: int, now: Stamp, moment: int) -> None:
        """Takes in what a file, looked at after `moment`, has that isn't known of it yet.

        All of it is read where it isn't the one that was read, or did not only grow: what else was written into it may
        stand anywhere.
        """
        begin = self.size - len(self.tail)
        data = _read(fd, begin, now[1])
        grew = now[:1] == self.stamp[:1] and (now == self.stamp or now[1] > self.stamp[1])
        if not (grew and data.startswith(self.tail)):
            self.forget()
            data = data if not begin else _read(fd, 0, now[1])
        if now != self.stamp:
            self.remembered.clear()
        self.stamp, self.speaks = now, settled(now, moment)
        new = data[len(self.tail) :]
        end = new.rfind(b"\n") + 1
        self.take(new if is_record(new[end:].decode(errors="replace")) else new[:end])

    def known_of(self, path: str, task: str) -> tuple[Booking, ...] | None:
        """The bookings of a task, if they are known and the file at `path` is as it was; None: it has to be read."""
        known = self.remembered.get(task) if task.encode() in self.places else ()
        return known if known is not None and self.speaks and _is_as(path, self.stamp) else None

    def remember(self, task: str, found: tuple[Booking, ...]) -> None:
        """Keeps what was found, if the stamp will tell when it holds no more."""
        if self.speaks and found:
            if len(self.remembered) >= _MOST_TASKS:
                self.remembered.clear()
            self.remembered[task] = found

    def lines(self, fd: int, task: str) -> Iterator[bytes]:
        """The task's lines as they stand in the file."""
        numbers = iter(self.places.get(task.encode(), ()))
        return (os.pread(fd, length, begin) for begin, length in zip(numbers, numbers, strict=True))


class Cashbook:
    """The bookings of tasks of one space, known between two looks.

    `since` is when a task was made: what was booked for it stands in no earlier month.
    """

    def __init__(self, space: Space) -> None:
        self._space = space
        self._months: dict[str, _Month] = {}
        self._logs = Path()
        self._listed: tuple[Stamp, tuple[str, ...]] = (), ()

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
        logs, names = self._files()
        for name in filter(months_since(since), names):
            for booking in self._looked_up(logs, name, task):
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

    def _files(self) -> tuple[Path, tuple[str, ...]]:
        """Where the files lie, and their names; none where logs/ leads away."""
        moment = time.time_ns()
        try:
            logs, found = look(self._space.root, self._space.path("logs"))
        except LinkLeadsOut:
            return self._logs, ()
        if logs != str(self._logs):
            self._logs, self._listed = Path(logs), ((), ())
        now = () if found is None else stamp_of(found)
        if not now or now != self._listed[0]:
            self._listed = now if now and settled(now, moment) else (), names_in(self._logs)
        return self._logs, self._listed[1]

    def _looked_up(self, logs: Path, name: str, task: str) -> Sequence[Booking]:
        """The bookings of a task in one file, as the file is now."""
        month = self._months.setdefault(name, _Month())
        if (known := month.known_of(f"{logs}/{name}", task)) is not None:
            return known
        moment = time.time_ns()
        try:
            fd = open_beneath(logs, name)
        except UnsafeFile:
            month.forget()
            return ()
        try:
            month.read_on(fd, stamp_of(os.fstat(fd)), moment)
            found = tuple(one for line in month.lines(fd, task) for one in _parsed(line) if one.task == task)
        finally:
            os.close(fd)
        month.remember(task, found)
        return found


def _is_as(path: str, stamp: Stamp) -> bool:
    """Whether a path leads, through no link, to the file with this stamp."""
    try:
        return stamp_of(os.lstat(path)) == stamp
    except OSError:
        return False


@lru_cache(maxsize=2048)
def _parsed(line: bytes) -> tuple[Booking, ...]:
    """The booking in a line, if there is one; a task's are asked for several times while it is at work."""
    return tuple(booking for booking, _ in parse_bookings(line))


def _read(fd: int, begin: int, end: int) -> bytes:
    """What stands in a file between two places, as far as it is there."""
    pieces: list[bytes] = []
    while begin < end and (piece := os.pread(fd, min(end - begin, 1 << 20), begin)):
        pieces.append(piece)
        begin += len(piece)
    return b"".join(pieces)
