"""Which exchanges of a space a synthesis tells of already, by the history: each renewal names them as its sources.

    chats/2026-11-29-k3x9abcd.jsonl, turns 1 to 17

A renewal that was undone tells of nothing any more, so what it was made from is told again by the next one. Of one
whose text was pruned nobody can read the sources, and it counts for all that ended before it was made. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ...memory.history import Commit
from ...memory.undone import undone_of
from ...memory.workspace import SYNTHESIS, Space

_KEY = "synthesis "
_SOURCE = re.compile(r"chats/(?P<chat>[0-9a-z-]{1,40})\.jsonl, turns (?P<first>[1-9]\d{0,8}) to (?P<last>[1-9]\d{0,8})")


@dataclass(frozen=True)
class Coverage:
    """What is told: in each chat up to a turn, and everything that ended before a moment."""

    turns: Mapping[str, int] = field(default_factory=dict)
    before: datetime | None = None

    def tells(self, chat: str, turn: int, at: str) -> bool:
        """Whether a turn that ended at a moment (ISO 8601) is told of."""
        if turn <= self.turns.get(chat, 0):
            return True
        try:
            return self.before is not None and datetime.fromisoformat(at) <= self.before
        except (ValueError, TypeError):  # a hand wrote this time, or left out its offset
            return False


def latest_synthesis(commits: Sequence[Commit], space: Space) -> Commit | None:
    """The commit that last renewed the synthesis, or took that back."""
    path = space.path(SYNTHESIS)
    return next((commit for commit in reversed(commits) if path in commit.paths or _renews(commit)), None)


def key_of(before: Commit | None, spans: Mapping[str, tuple[int, int]]) -> str:
    """The key of a renewal: what it goes on from, and the last of each chat that it tells."""
    told = " ".join(f"{chat}:{last}" for chat, (_, last) in sorted(spans.items()))
    return f"{_KEY}{'first' if before is None else before.id} {told}"


def coverage(commits: Sequence[Commit]) -> Coverage:
    """What the renewals in the history of a space tell of."""
    gone = undone_of(commits)
    turns: dict[str, int] = {}
    before: datetime | None = None
    for commit in commits:
        if not _renews(commit) or commit.id in gone:
            continue
        if commit.pruned:
            made = datetime.fromisoformat(commit.time)
            before = made if before is None else max(before, made)
        for chat, last in _told(commit.sources):
            turns[chat] = max(last, turns.get(chat, 0))
    return Coverage(turns, before)


def sources(spans: Mapping[str, tuple[int, int]]) -> tuple[str, ...]:
    """What a renewal names as its sources; `spans` are the first and the last turn of each chat."""
    return tuple(f"chats/{chat}.jsonl, turns {first} to {last}" for chat, (first, last) in sorted(spans.items()))


def _renews(commit: Commit) -> bool:
    return commit.key is not None and commit.key.startswith(_KEY)


def _told(named: Iterable[str]) -> Iterable[tuple[str, int]]:
    for source in named:
        if found := _SOURCE.fullmatch(source):
            yield found["chat"], int(found["last"])
