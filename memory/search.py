"""Recall: a question in, the lines that answer it out, each with the place where it stands.

`Search` is the seam: `ScanSearch` reads everything at each question and needs no index; an index can stand behind the
same interface. Passages and their ranking are in `passage` and `ranking`.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Protocol

from .analysis import asked
from .document import Document
from .errors import MemoryFault
from .guard import list_beneath
from .index import IndexedCard
from .passage import Passage, passages
from .ranking import ANSWERED, Ranking, Scored
from .target import CardTarget, Shelf
from .view import View
from .workspace import Space

__all__ = ["ANSWERED", "PLACES", "Hit", "Passage", "Query", "Ranking", "ScanSearch", "Scored", "Search", "passages"]

PLACES = frozenset({"cards", "log", "chat", "research"})
"""Where a search may look: project cards and their files; day logs and MEMORY.md; chats; findings."""

MAX_PROJECT_FILES = 2_000


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


class ScanSearch:
    """Searches one space by reading all of it; finds what was written a moment ago and leaves nothing behind.

    A file that can't be read is passed over: `doctor` names it.
    """

    def __init__(self, view: View, space: Space) -> None:
        self._view = view
        self._space = space

    def find(self, query: Query) -> tuple[Hit, ...]:
        """Hits of cards, findings, day logs and chats, best first.

        The date of a card is its `updated`, of a day log its day. What the index says of a section helps to find it.
        """
        if query.limit < 1 or not asked(query.text):
            return ()
        found = [p for p in self.passages(query.where) if _in_range(p.date, query.since, query.until)]
        best = Ranking(found).find(query.text, query.limit)
        return tuple(Hit(s.passage.path, s.line, s.passage.date, s.score, s.line_text) for s in best)

    def passages(self, where: frozenset[str] = PLACES) -> Iterator[Passage]:
        """Everything that is searched in these places, file by file."""
        if "cards" in where:
            yield from self._shelf("projects")
            yield from self._project_files()
        if "research" in where:
            yield from self._shelf("research")
        if "log" in where:
            yield from self._file("MEMORY.md", None)
            for day in self._view.days(self._space):
                yield from self._file(f"memory/{day.isoformat()}.md", day.isoformat())
        if "chat" in where:
            for name in _names(self._space.folder / "chats", ".jsonl"):
                yield from self._file(f"chats/{name}", None)

    def _shelf(self, shelf: Shelf) -> Iterator[Passage]:
        index = self._view.index(self._space, shelf)
        known = {card.id: card for card in index.cards}
        for card in self._view.cards(self._space, shelf):
            path = self._space.card_path(shelf, card)
            try:
                document = self._view.document(self._space, CardTarget(shelf, card))
            except MemoryFault:
                continue
            if document is not None:
                found = passages(path, document.text, document.front.text("updated"))
                yield from _with_keywords(found, document, known.get(card))

    def _project_files(self) -> Iterator[Passage]:
        folder = self._space.folder / "projects"
        for project in self._view.cards(self._space, "projects"):
            if (folder / project).is_dir():
                for name in list_beneath(folder / project, max_files=MAX_PROJECT_FILES):
                    yield from self._file(f"projects/{project}/{name}", None)

    def _file(self, relative: str, day: str | None) -> Iterator[Passage]:
        path = self._space.path(relative)
        try:
            text = self._view.text(path)
        except MemoryFault:
            return
        if text is not None:
            yield from passages(path, text, day)


def _with_keywords(found: tuple[Passage, ...], document: Document, card: IndexedCard | None) -> Iterator[Passage]:
    """The passages, each with what the index says of its section added to its context."""
    said = {e.section_id: f"{e.summary} {' '.join(e.keywords)}" for e in card.entries} if card else {}
    starts = [(section.line, said.get(section.id, "")) for section in document.sections]
    for passage in found:
        here = next((words for line, words in reversed(starts) if line <= passage.line), "")
        yield replace(passage, context=f"{passage.context} {here}") if here else passage


def _in_range(day: str | None, since: date | None, until: date | None) -> bool:
    if since is None and until is None:
        return True
    if day is None:
        return False
    try:
        when = date.fromisoformat(day)
    except ValueError:
        return False
    return (since is None or since <= when) and (until is None or when <= until)


def _names(folder: Path, suffix: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(suffix) and entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
