"""`message-batches.jsonl`: one line of JSON per event, from which is known what is at servers and what came back.

A line is `{"v": 1, "at": <ISO time>, "event": <word>, …}`, synced before it is acted upon. So nothing was built on a
line that a crash cut short: it is passed over. Anything else that can't be read may tell of money that is out: nothing
is sent then, until a person has looked.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from ...memory.clock import Clock
from ...memory.wording import in_words, key_of
from ..errors import OrchestratorFault
from ..premises import append_aside, append_line
from .events import Event

VERSION = 1
_KINDS: dict[str, type] = {kind.__name__.lower(): kind for kind in get_args(Event)}
_WORDS = {kind: word for word, kind in _KINDS.items()}
_HEAD = f'{{"v": {VERSION}, "at": "'


@dataclass(frozen=True)
class Entry:
    """An event and when it was written."""

    at: datetime
    event: Event


class OutboxUnreadable(OrchestratorFault):
    """Raised when the journal of what was sent has a line that can't be read, and that no crash has cut."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(
            f"{path}:{line}: {reason}; it may tell of requests that are at a server, so nothing is sent as long as it "
            "stands there"
        )


class Journal:
    """The journal at that place; made with the first line."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def read(self) -> Iterator[Entry]:
        """Everything in it; raises OutboxUnreadable, or an OSError."""
        with suppress(FileNotFoundError), self._path.open("rb") as lines:
            yield from entries(lines, self._path)

    async def add(self, event: Event) -> Entry:
        """Adds an event, synced when this returns."""
        entry = Entry(self._clock.now(), event)
        await append_aside(self._path, line_of(entry))
        return entry

    def mention(self, event: Event) -> Entry:
        """The same for what may be lost in a power cut; it outlives this process."""
        entry = Entry(self._clock.now(), event)
        append_line(self._path, line_of(entry), sync=False)
        return entry


def line_of(entry: Entry) -> str:
    """The journal's line for an event."""
    head = {"v": VERSION, "at": entry.at.isoformat(timespec="milliseconds"), "event": _WORDS[type(entry.event)]}
    return json.dumps({**head, **vars(entry.event)}, ensure_ascii=False, default=_sparse)


def _sparse(value: object) -> Mapping[str, object]:
    """A value inside an event; what is as usual in it is left out."""
    told = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}  # type: ignore[arg-type]
    return {name: one for name, (one, usual) in told.items() if one != usual}


def entries(lines: Iterable[bytes], path: Path) -> Iterator[Entry]:
    """The events in a journal's lines; raises OutboxUnreadable, naming `path`."""
    for number, raw in enumerate(lines, start=1):
        line = raw.decode(errors="replace").strip()
        if not line:
            continue
        try:
            yield _entry(line)
        except (ValueError, RecursionError) as e:
            if not _torn(line):
                raise OutboxUnreadable(path, number, _reason(e)) from e


def _entry(line: str) -> Entry:
    raw = json.loads(line)
    if not isinstance(raw, dict) or raw.get("v") != VERSION:
        raise ValueError(f"not a line of version {VERSION}")
    kind = _KINDS.get(str(raw.get("event")))
    if kind is None:
        raise ValueError(f"unknown event {raw.get('event')!r}")
    at = datetime.fromisoformat(str(raw.get("at")))
    return Entry(at, _adapter(kind).validate_python({key: raw[key] for key in raw if key not in {"v", "at", "event"}}))


@cache
def _adapter(kind: type) -> TypeAdapter[Event]:
    return TypeAdapter(kind)


def _torn(line: str) -> bool:
    """Whether a line is the beginning of one of ours: it was being written when its writer ended."""
    if not (line.startswith(_HEAD) or _HEAD.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = f"{key_of(first['loc'])}: " if first["loc"] else ""
        return f"not an event: {where}{in_words(dict(first))}"
    return "not a line of JSON" if isinstance(error, json.JSONDecodeError | RecursionError) else str(error)
