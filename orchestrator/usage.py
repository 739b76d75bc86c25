"""What model calls cost, one line per response in `logs/usage-YYYY-MM.jsonl` of the space that pays.

The responses of an attempt are booked together and once: before its end is journalled, and after a crash from its
transcript. So are those of a review, and of a turn of a chat. A line that can't be read is passed over.
"""

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Literal

from ..memory.exam.records import record_problems
from ..memory.guard import UnsafeFile, read_beneath
from ..memory.links import LinkLeadsOut
from ..memory.problem import Problem
from ..memory.workspace import Space
from ..subagents.model import Usage
from .meter.measured import Measured, measured_in
from .premises import own
from .results import UsageTotals

VERSION = 1
_MOST = 256 << 20
_NAME = re.compile(r"usage-\d{4}-\d{2}\.jsonl")

Role = Literal["", "review", "main", "cut"]
"""Whose calls they were: a worker's attempt, the reviewing model, the main agent in a chat, or a dead process."""

_ROLES: Mapping[str, Role] = {"review": "review", "main": "main", "cut": "cut"}


Key = tuple[str, int, Role, int, str, int, int]


@dataclass(frozen=True)
class Booking:
    """One line. `cost_usd` is in US dollars, None where the price of a part of it is unknown.

    A worker's attempt has the role ""; `k` tells several reviews of one attempt apart. The main agent's has `chat` (the
    session) and `turn`, and neither task nor attempt. `call` numbers the responses of an attempt, review or turn; 0 is
    the whole of it in one line, as all were once, and those without a response are still. `lost` counts calls that were
    paid and gave no whole reply; what they used is in `usage`. One with the role "cut" was out when its process died:
    `cost_usd` is the most that it may have cost. `at` is the response's own time, "" where only the booking's is known.
    """

    task: str
    attempt: int
    agent: str
    model: str
    usage: Usage
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    role: Role = ""
    k: int = 0
    lost: int = 0
    chat: str = ""
    turn: int = 0
    call: int = 0
    measured: Measured = field(default_factory=Measured)
    at: str = field(default="", compare=False)

    @property
    def key(self) -> Key:
        """What is booked once."""
        return self.task, self.attempt, self.role, self.k, self.chat, self.turn, self.call

    @property
    def whole_key(self) -> Key:
        """The key of the one line that holds all calls of the same attempt, review or turn."""
        return (*self.key[:6], 0)

    @property
    def unpriced(self) -> int:
        """The tokens of a booking without a known cost."""
        return _tokens(self.usage) if self.cost_usd is None else 0


def _tokens(usage: Usage) -> int:
    return usage.prompt_total + usage.output


def booking_line(space: Space, booking: Booking, now: datetime) -> str:
    """The line of a booking, without the line end."""
    line = {
        "v": VERSION,
        "time": time_of(booking, now).isoformat(timespec="seconds"),
        "client": space.client,
        **_key_dict(booking),
        "agent": booking.agent,
        "model": booking.model,
        "input": booking.usage.input,
        "cache_write": booking.usage.cache_write,
        "cache_read": booking.usage.cache_read,
        "output": booking.usage.output,
        **({"cache_write_1h": booking.usage.cache_write_1h} if booking.usage.cache_write_1h else {}),
        "cost_usd": booking.cost_usd,
        "seconds": round(booking.seconds, 3),
        **({"lost": booking.lost} if booking.lost else {}),
        **booking.measured.as_json(),
    }
    return json.dumps(line)


def time_of(booking: Booking, now: datetime) -> datetime:
    """The time at which a booking's line stands: the response's own, else the booking's."""
    try:
        return datetime.fromisoformat(booking.at)
    except ValueError:
        return now


def key_json(booking: Booking) -> str:
    """The key as it stands in a line, right before the agent."""
    return json.dumps(_key_dict(booking))


def _key_dict(booking: Booking) -> dict[str, object]:
    key: dict[str, object] = {"task": booking.task, "attempt": booking.attempt}
    if booking.role or booking.k:
        key |= {"role": booking.role, "k": booking.k}
    if booking.chat:
        key |= {"chat": booking.chat, "turn": booking.turn}
    if booking.call:
        key |= {"call": booking.call}
    return key


def place(space: Space, now: datetime) -> Path:
    """The file of this month; raises LinkLeadsOut."""
    return own(space, f"logs/usage-{now:%Y-%m}.jsonl")


def bookings(space: Space, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[tuple[Booking, str]]:
    """The lines of a space, each once and with its time, oldest month first; `wanted` chooses files by name.

    A line that a merge doubled is given once.
    """
    seen: set[Key] = set()
    for _, data in months(space, wanted):
        for booking, time in parse_bookings(data):
            if booking.key not in seen:
                seen.add(booking.key)
                yield booking, time


def parse_bookings(data: bytes) -> Iterator[tuple[Booking, str]]:
    """The lines of a file, each with its time; what can't be read is passed over."""
    return ((_booking(task, attempt, line), time) for task, attempt, time, line in _lines(data))


def _lines(data: bytes) -> Iterator[tuple[str, int, str, Mapping[str, object]]]:
    """Task, attempt and time of each line that is one of ours, with the line."""
    for text in data.decode(errors="replace").split("\n"):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        match line:
            case {"v": 1, "task": str(task), "attempt": int(attempt), "time": str(time)}:
                yield task, attempt, time, line


def unreadable(space: Space, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[Problem]:
    """The lines of a space that can't be read, so that what they cost is in no sum."""
    for name, data in months(space, wanted):
        yield from record_problems(space.path(f"logs/{name}"), data.decode(errors="replace"))


def totals(space: Space) -> Mapping[str, tuple[UsageTotals, float | None, float]]:
    """For each task its tokens, its cost (None: unknown) and its seconds, its reviews included."""
    found: dict[str, list[Booking]] = {}
    for booking, _ in bookings(space):
        if booking.task:
            found.setdefault(booking.task, []).append(booking)
    return {task: total(booked) for task, booked in found.items()}


def total(booked: Iterable[Booking]) -> tuple[UsageTotals, float | None, float]:
    """Tokens, cost (None: unknown) and seconds of several bookings."""
    u, cost, seconds = UsageTotals(), 0.0, 0.0
    unknown = False
    for b in booked:
        u = UsageTotals(
            u.input + b.usage.input,
            u.cache_write + b.usage.cache_write,
            u.cache_read + b.usage.cache_read,
            u.output + b.usage.output,
        )
        unknown = unknown or b.cost_usd is None
        cost += b.cost_usd or 0.0
        seconds += b.seconds
    return u, None if unknown else cost, seconds


def costs_on(space: Space, day: date) -> Iterator[tuple[float, int]]:
    """What was spent on a day, by the workspace's time, booking by booking: US dollars, and tokens without a price.

    Only that month's file is read, of it that day's lines, and of these no more than is asked: a night has thousands.
    """
    name, mark = f"usage-{day:%Y-%m}.jsonl", f'"time": "{day.isoformat()}'.encode()
    seen: set[Key] = set()
    for _, data in months(space, lambda month: month == name):
        for task, attempt, time, line in _lines(b"\n".join(line for line in data.split(b"\n") if mark in line)):
            key = _key(task, attempt, line)
            if time.startswith(day.isoformat()) and key not in seen:
                seen.add(key)
                usd = _cost(line)
                yield usd or 0.0, _tokens(_usage(line)) if usd is None else 0


def month_names(space: Space) -> tuple[str, ...]:
    """The names of a space's files of bookings, oldest first; none where logs/ leads away."""
    try:
        return names_in(own(space, "logs"))
    except LinkLeadsOut:
        return ()


def names_in(logs: Path) -> tuple[str, ...]:
    """The names of the files of bookings in a folder, oldest first; none where there is no folder."""
    try:
        names = os.listdir(logs)  # noqa: PTH208
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(sorted(name for name in names if _NAME.fullmatch(name)))


def months(space: Space, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[tuple[str, bytes]]:
    """Name and content of each month's file; what a link leads to is not read, `doctor` names it."""
    for name in filter(wanted, month_names(space)):
        try:
            yield name, read_beneath(own(space, "logs"), name, max_bytes=_MOST, one_link=False)
        except UnsafeFile:
            continue


def _booking(task: str, attempt: int, line: Mapping[str, object]) -> Booking:
    """A line's booking. What is no count or amount is 0: a line that came by a merge never gives budget back."""
    _, _, role, k, chat, turn, call = _key(task, attempt, line)
    return Booking(
        task,
        attempt,
        agent=str(line.get("agent", "")),
        model=str(line.get("model", "")),
        usage=_usage(line),
        cost_usd=_cost(line),
        seconds=_amount(line.get("seconds")),
        role=role,
        k=k,
        lost=_count(line.get("lost")),
        chat=chat,
        turn=turn,
        call=call,
        measured=measured_in(line),
        at=str(line["time"]),
    )


def _key(task: str, attempt: int, line: Mapping[str, object]) -> Key:
    role = _ROLES.get(str(line.get("role", "")), "")
    turn, call = _count(line.get("turn")), _count(line.get("call"))
    return task, attempt, role, _count(line.get("k")), str(line.get("chat", "")), turn, call


def _usage(line: Mapping[str, object]) -> Usage:
    names = ("input", "cache_write", "cache_read", "output", "cache_write_1h")
    return Usage(*(_count(line.get(name)) for name in names))


def _cost(line: Mapping[str, object]) -> float | None:
    return None if line.get("cost_usd", 0.0) is None else _amount(line.get("cost_usd"))


def _count(value: object) -> int:
    return max(value, 0) if isinstance(value, int) else 0


def _amount(value: object) -> float:
    return max(float(value), 0.0) if isinstance(value, int | float) and math.isfinite(value) else 0.0
