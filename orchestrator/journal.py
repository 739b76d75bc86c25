"""The run journal of a task, `staging/<task>/run.jsonl`: one line of JSON per event, from which its state is replayed.

A line is `{"v": 1, "at": <ISO time>, "event": <word>, …}`. Each is synced before it is acted upon. A line cut short by
a crash is passed over, and so is anything else that can't be read (conflict markers of a merge, a line of a later
version): `problems` names the line, nothing is guessed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from ..memory.clock import Clock
from ..memory.files import append_record
from ..memory.ids import BadId, DraftId
from ..memory.problem import Problem
from ..staging.finding import Finding
from ..staging.verdict import VerdictUnreadable, parse_verdict, verdict_json
from .events import AttemptEvent, DraftEvent, Event, Judged, TaskEvent

VERSION = 1
_KINDS: dict[str, type] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind
    for kind in (*get_args(TaskEvent), *get_args(DraftEvent), *get_args(AttemptEvent))
}
_WORDS = {kind: word for word, kind in _KINDS.items()}


@dataclass(frozen=True)
class Entry:
    """An event and when it was written."""

    at: str
    event: Event


@dataclass(frozen=True)
class Reading:
    """What a journal says, and the lines of it that could not be read."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(entry.event for entry in self.entries)


class Journal:
    """The journal of one task; `shown_path` is how messages name the file."""

    def __init__(self, path: Path, clock: Clock, shown_path: str | None = None) -> None:
        self.path = path
        self._clock = clock
        self._shown = shown_path or str(path)

    def append(self, event: Event) -> None:
        """Adds one event, synced when this returns."""
        append_record(self.path, event_line(event, self._clock.now()))

    def read(self) -> Reading:
        """Everything in the journal; a missing file is an empty one."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return Reading((), ())
        return parse_journal(data.decode(errors="replace"), self._shown)

    def events(self) -> tuple[Event, ...]:
        return self.read().events


def event_line(event: Event, at: datetime) -> str:
    """The journal's line for an event, without the line end."""
    fields = asdict(event)
    if isinstance(event, Judged):
        fields["verdict"] = verdict_json(event.verdict)
    head = {"v": VERSION, "at": at.isoformat(timespec="milliseconds"), "event": _WORDS[type(event)]}
    return json.dumps({**head, **fields}, ensure_ascii=False)


def parse_journal(text: str, path: str) -> Reading:
    """The events of a journal's text in order; a torn last line is no problem, any other unreadable line is one."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entries.append(_entry(line))
        except (ValueError, VerdictUnreadable, BadId, RecursionError) as e:
            if number < len(lines):
                reason = str(e).splitlines()[0]
                problems.append(Problem(path, number, "journal_line_unreadable", "warning", f"no event: {reason}"))
    return Reading(tuple(entries), tuple(problems))


def _entry(line: str) -> Entry:
    raw = json.loads(line)
    if not isinstance(raw, dict) or raw.get("v") != VERSION:
        raise ValueError("not a line of this version")
    kind = _KINDS.get(str(raw.get("event")))
    if kind is None:
        raise ValueError(f"unknown event {raw.get('event')!r}")
    fields = {key: value for key, value in raw.items() if key not in {"v", "at", "event"}}
    return Entry(str(raw.get("at", "")), _event(kind, fields))


@cache
def _adapter(kind: type) -> TypeAdapter[Event]:
    return TypeAdapter(kind)


@cache
def _findings() -> TypeAdapter[tuple[Finding, ...]]:
    return TypeAdapter(tuple[Finding, ...])


def _event(kind: type, fields: Mapping[str, object]) -> Event:
    if kind is Judged:
        verdict = fields.get("verdict")
        if not isinstance(verdict, dict):
            raise ValueError("judged without a verdict")
        findings = _findings().validate_python(fields.get("findings", ()))
        return Judged(DraftId(str(fields.get("draft", ""))), parse_verdict(verdict), findings)
    try:
        event: Event = _adapter(kind).validate_python(dict(fields))
    except ValidationError as e:
        first = e.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from e
    return event
