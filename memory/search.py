"""Recall: a question in, the lines that answer it out, each with the place where it stands.

`Search` is the seam: `ScanSearch` reads everything at each question and needs no index; an index can stand behind the
same interface. Passages and their ranking are in `passage` and `ranking`.
"""

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from .passage import Passage, passages
from .ranking import ANSWERED, Ranking, Scored

__all__ = ["ANSWERED", "PLACES", "Hit", "Passage", "Query", "Ranking", "Scored", "Search", "passages"]

PLACES = frozenset({"cards", "log", "chat", "research"})
"""Where a search may look: project cards and their files; day logs and MEMORY.md; chats; findings."""


@dataclass(frozen=True)
class Query:
    """What is asked. With a date on either side, only what bears a date in that range (both days included) is found."""

    text: str
    since: date | None = None
    until: date | None = None
    where: frozenset[str] = PLACES
    limit: int = 10


@dataclass(frozen=True)
class Hit:
    """A place that answers: `text` is what stands there exactly, from `line` (counted from 1) on, joined by "\\n"."""

    path: str
    line: int
    date: str | None
    score: float
    text: str


class Search(Protocol):
    """Answers a query with hits, best first."""

    def find(self, query: Query) -> tuple[Hit, ...]: ...
