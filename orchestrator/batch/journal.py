"""The run journal of a batch, `batches/<batch>/run.jsonl`: a line of JSON per event, from which its state is replayed.

A line is `{"v": 1, "at": <ISO time>, "event": <word>, …}`, as in the run journal of a task. That a task was made is on
the disk before its worker starts: a batch that goes on finds each task that it made. That a task is over need not be,
since the task's own journal says so: such a line waits for no sync, and is found out again where it was lost.
"""

import json
import re
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from ...memory.clock import Clock
from ...memory.problem import Problem
from ...memory.wording import in_words, key_of
from ..premises import append_line
from .events import Event

VERSION = 1
UNREADABLE = "batch_journal_unreadable"
_KINDS: dict[str, type] = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(Event)}
_WORDS = {kind: word for word, kind in _KINDS.items()}
_MARKER = re.compile(r"(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)")


@dataclass(frozen=True)
class Entry:
    """An event and when it was written."""

    at: str
    event: Event


class BatchJournal:
    """The journal of one batch; `shown` is how messages name the file."""

    def __init__(self, path: Path, clock: Clock, shown: str) -> None:
        self.path = path
        self.shown = shown
        self._clock = clock

    def append(self, event: Event, *, sync: bool = True) -> Entry:
        """Adds one event, synced when this returns."""
        entry = self._entry(event)
        append_line(self.path, line_of(entry), sync=sync)
        return entry

    def read(self) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
        """Everything in the journal, and what of it can't be read; a missing file is an empty one."""
        try:
            text = self.path.read_bytes().decode(errors="replace")
        except FileNotFoundError:
            return (), ()
        return parse(text, self.shown)

    def _entry(self, event: Event) -> Entry:
        return Entry(self._clock.now().isoformat(timespec="milliseconds"), event)


def line_of(entry: Entry) -> str:
    """The journal's line for an event, without the line end; what is as it usually is is left out."""
    event = entry.event
    usual = {field.name: field.default for field in fields(event)}
    said = {name: value for name, value in vars(event).items() if value != usual[name]}
    head = {"v": VERSION, "at": entry.at, "event": _WORDS[type(event)]}
    return json.dumps({**head, **said}, ensure_ascii=False)


def parse(text: str, path: str) -> tuple[tuple[Entry, ...], tuple[Problem, ...]]:
    """The events of a journal's text in order; a last line that a crash cut short is no problem."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if _MARKER.match(line):
            words = "a merge left its conflict markers here: remove the lines of markers and keep those of both sides"
            problems.append(Problem(path, number, "conflict_markers", "error", words))
            continue
        try:
            entries.append(_read(json.loads(line)))
        except json.JSONDecodeError:
            if number < len(lines):
                problems.append(Problem(path, number, UNREADABLE, "warning", "a line that a crash cut short"))
        except (ValueError, TypeError, RecursionError) as e:
            problems.append(Problem(path, number, UNREADABLE, "error", f"no event of a batch: {e}"))
    return tuple(entries), tuple(problems)


def _read(raw: object) -> Entry:
    if not isinstance(raw, dict) or raw.get("v") != VERSION:
        raise ValueError("not a line of this version")
    kind = _KINDS.get(str(raw.get("event")))
    if kind is None:
        raise ValueError(f"unknown event {raw.get('event')!r}")
    try:
        event: Event = _adapter(kind).validate_python(raw)  # what else stands there is passed over
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        raise ValueError(f"{key_of(first['loc'])}: {in_words(dict(first))}") from e
    return Entry(str(raw.get("at", "")), event)


@cache
def _adapter(kind: type) -> TypeAdapter[Event]:
    return TypeAdapter(kind)


def seconds_between(begin: str, end: str) -> float:
    """The seconds from one time to another, as they are written; 0 where one can't be read."""
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
