"""The run journal of a task, `staging/<task>/run.jsonl`: one line of JSON per event, from which its state is replayed.

A line is `{"v": 1, "at": <ISO time>, "event": <word>, …}`. Each is synced before it is acted upon, so nothing was
built on a line that a crash cut short: it is passed over. Anything else that can't be read (a line of a later
version, say) may be the one that tells of a draft: `problems` names it as an error, nothing is guessed. A `rebuilt`
line says what the task's folder showed then; what stands above it is damaged no more.

Two clones may each have gone on with a task. After a merge, by union or with its markers left in, the lines of both
sides are read one after the other. A line that came twice counts once, and what the plan ignores as late or double it
ignores here: of two approvals the first stands.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import get_args

from pydantic import TypeAdapter, ValidationError

from ...memory.clock import Clock
from ...memory.ids import BadId, DraftId
from ...memory.problem import Problem
from ...memory.wording import in_words, key_of
from ...staging.finding import Finding
from ...staging.verdict import VerdictUnreadable, parse_verdict, verdict_json
from ..premises import Lines, append_in_turn, append_line
from .events import AttemptEvent, DraftEvent, Event, Judged, Rebuilt, TaskEvent

VERSION = 1
UNREADABLE = "journal_line_unreadable"
_KINDS: dict[str, type] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower(): kind
    for kind in (*get_args(TaskEvent), *get_args(DraftEvent), *get_args(AttemptEvent))
}
_MARKER = re.compile(r"(?:<{7}|\|{7}|={7}|>{7})(?: |\r?$)")
_MARKED = "a merge left its conflict markers here: remove the lines of markers and keep those of both sides"
_WORDS = {kind: word for word, kind in _KINDS.items()}


@dataclass(frozen=True)
class Entry:
    """An event and when it was written."""

    at: str
    event: Event


@dataclass(frozen=True)
class Reading:
    """What a journal says, the lines of it that could not be read, and its length in bytes."""

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    size: int = 0

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(entry.event for entry in self.entries)


class Journal:
    """The journal of one task; `shown_path` is how messages name the file."""

    def __init__(self, path: Path, clock: Clock, shown_path: str | None = None) -> None:
        self.path = path
        self.clock = clock
        self.shown = shown_path or str(path)

    def append(self, event: Event, *, sync: bool = True) -> int:
        """Adds one event, synced when this returns, and says by how many bytes the file grew."""
        line = event_line(event, self.clock.now())
        append_line(self.path, line, sync=sync)
        return len(line.encode()) + 1

    async def append_aside(self, event: Event, first: Lines = ()) -> int:
        """The same, without keeping others waiting; lines of other files that have to be on the disk go `first`."""
        line = event_line(event, self.clock.now())
        await append_in_turn((*first, (self.path, line)))
        return len(line.encode()) + 1

    def grown(self, size: int) -> bool:
        """Whether the file is longer than `size` bytes: somebody else has added to it."""
        try:
            return os.lstat(self.path).st_size > size
        except OSError:
            return False

    def read(self) -> Reading:
        """Everything in the journal; a missing file is an empty one."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return Reading((), ())
        except OSError as e:
            reason = f"the run journal can't be read: {e.strerror or 'no reason given'}"
            return Reading((), (Problem(self.shown, 0, UNREADABLE, "error", reason),))
        return replace(parse_journal(data.decode(errors="replace"), self.shown), size=len(data))

    def events(self) -> tuple[Event, ...]:
        return self.read().events


_HEAD = f'{{"v": {VERSION}, "at": "'.encode()
_NAMED = b'"name": '  # each draft's facts have it
_COMMITTED = b'"event": "committed"'
_LATER = tuple(
    f'"event": "{word}"'.encode()
    for word in (
        "attempt_started", "attempt_reported", "attempt_failed", "attempt_timed_out", "attempt_lost", "undone",
        "resumed", "rebuilt", "cancelled",
    )
)  # fmt: skip


def event_line(event: Event, at: datetime) -> str:
    """The journal's line for an event, without the line end."""
    fields = dict(vars(event))
    if isinstance(event, Judged):
        fields["verdict"] = verdict_json(event.verdict)
    head = {"v": VERSION, "at": at.isoformat(timespec="milliseconds"), "event": _WORDS[type(event)]}
    return json.dumps({**head, **fields}, ensure_ascii=False, default=vars)


def mark_of(kind: type) -> bytes:
    """What stands in the line of each event of this kind, and in no other line of ours."""
    return f'"event": {json.dumps(_WORDS[kind])}'.encode()


def all_committed(data: bytes) -> bool:
    """Whether a journal shows at a glance that each of its drafts is in memory, and nothing was done since.

    By the bare words, since thousands of tasks are looked at; what can't be told so quickly is no.
    """
    drafts, committed = data.count(_NAMED), data.count(_COMMITTED)
    if not drafts or committed < drafts or not data.endswith(b"}\n"):
        return False
    whole = data.count(b"\n") == data.count(_HEAD)
    return whole and data.rfind(_COMMITTED) > max(map(data.rfind, _LATER))


def parse_journal(text: str, path: str) -> Reading:
    """The events of a journal's text in order; a torn last line is no problem, any other unreadable line is one.

    Conflict markers are one problem, an error, at the first of them.
    """
    entries: list[Entry] = []
    problems: list[Problem] = []
    lines = text.split("\n")
    marked = merged = False
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if _MARKER.match(line):
            if not marked:
                problems.append(Problem(path, number, "conflict_markers", "error", _MARKED))
            marked = merged = True
            continue
        try:
            entry = _entry(line)
        except (ValueError, VerdictUnreadable, BadId, RecursionError) as e:
            if _torn(line):
                if number < len(lines):
                    problems.append(Problem(path, number, UNREADABLE, "warning", "a line that a crash cut short"))
            else:
                problems.append(Problem(path, number, UNREADABLE, "error", f"no event of a task: {_reason(e)}"))
            continue
        merged = merged or bool(entries and _before(entry.at, entries[-1].at))
        if merged and line in seen:
            continue
        seen.add(line)
        entries.append(entry)
        if isinstance(entry.event, Rebuilt):
            problems = [replace(p, level="info") for p in problems]
    return Reading(tuple(entries), tuple(problems))


def _torn(line: str) -> bool:
    """Whether a line is the beginning of one of ours: it was being written when its writer ended."""
    head = f'{{"v": {VERSION}, "at": "'
    if not (line.startswith(head) or head.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _reason(error: Exception) -> str:
    """Why a line is no event, in words."""
    if isinstance(error, json.JSONDecodeError | RecursionError):
        return "it is no line of JSON"
    return str(error).splitlines()[0]


def _before(one: str, other: str) -> bool:
    """Whether a line is older than the one above it, as it only is where two journals were merged."""
    try:
        return datetime.fromisoformat(one) < datetime.fromisoformat(other)
    except (ValueError, TypeError):
        return False


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
        raise ValueError(f"{key_of(first['loc'])}: {in_words(dict(first))}") from e
    return event
