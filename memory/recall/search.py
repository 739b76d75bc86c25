"""Recall: a question in, the lines that answer it out, each with the place where it stands.

`Search` is the seam: `ScanSearch` reads everything at each question and needs no index; an index can stand behind the
same interface. Passages and their ranking are in `passage` and `ranking`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Protocol

from ..errors import MemoryFault
from ..guard import list_beneath
from ..ids import CardId
from ..index.entry import IndexEntry
from ..index.index import IndexedCard
from ..target import Shelf
from ..text.document import Document, parse_document
from ..view import View
from ..workspace import SHELVES, Space
from .analysis import asked, probes_of, skim, terms
from .passage import Passage, passages, split_lines, title_alone
from .ranking import ANSWERED, Ranking, Scored, beginning_of
from .spoken import spoken

__all__ = ["ANSWERED", "PLACES", "Hit", "Passage", "Query", "Ranking", "ScanSearch", "Scored", "Search", "passages"]

PLACES = frozenset({"cards", "log", "chat", "research"})
"""Where a search may look: cards, findings and files of projects; day logs and MEMORY.md; chats; findings alone."""

MAX_PROJECT_FILES = 2_000
_PLACES_OF: dict[Shelf, frozenset[str]] = {
    "projects": frozenset({"cards"}),
    "research": frozenset({"cards", "research"}),
}
_CHARACTERS_A_PASSAGE = 200


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


@dataclass(frozen=True)
class _Text:
    """A file that may be searched: its path, its text, its day if it is a day log, its card if it is one."""

    path: str
    text: str
    day: str | None = None
    card: tuple[Shelf, CardId] | None = None


class ScanSearch:
    """Searches one space by reading all of it; finds what was written a moment ago and leaves nothing behind.

    A file that can't be read is passed over: `doctor` names it.
    """

    def __init__(self, view: View, space: Space) -> None:
        self._view = view
        self._space = space

    def find(self, query: Query) -> tuple[Hit, ...]:
        """Hits of cards, findings, day logs and chats, best first.

        Each hit has a word of the question itself, or a relative of one. The date of a card is its `updated`, of a day
        log its day. What the index says of a section helps to find it; where only the index says it, its line is found.
        """
        words = asked(query.text)
        if query.limit < 1 or not words:
            return ()
        quick = _QuickLook(words)
        said = {shelf: self._said(shelf, quick) for shelf in SHELVES}
        found: list[Passage] = []
        others = 0
        for each in self._texts(query.where):
            blocks = said[each.card[0]] if each.card else {}
            if quick.may_hold(each.text, each.path) or (each.card and each.card[1] in blocks):
                cut = self._cut(each, blocks)
                found += [p for p in cut if _in_range(p.date, query.since, query.until)]
            else:
                others += len(each.text) // _CHARACTERS_A_PASSAGE + 1
        for shelf in SHELVES:
            if not _PLACES_OF[shelf].isdisjoint(query.where):
                lines = self._index_lines(shelf, said[shelf], words, found)
                found += [p for p in lines if _in_range(p.date, query.since, query.until)]
        best = Ranking(found, others=others).find(query.text, query.limit, said=True)
        return tuple(Hit(s.passage.path, s.line, s.passage.date, s.score, s.line_text) for s in best)

    def _cut(self, each: _Text, blocks: Mapping[str, IndexedCard]) -> Iterator[Passage]:
        if each.card is None:
            yield from _without_front(passages(each.path, each.text, each.day))
            return
        document = parse_document(each.text)
        cut = tuple(_without_front(passages(each.path, each.text, document.front.text("updated"))))
        yield from _with_keywords(cut, document, blocks.get(each.card[1]))

    def _said(self, shelf: Shelf, quick: "_QuickLook") -> dict[str, IndexedCard]:
        """The blocks of an index in which a word of the question may stand."""
        try:
            index = self._view.index(self._space, shelf)
        except MemoryFault:
            return {}
        if not quick.may_hold(index.text):
            return {}
        return {card.id: card for card in index.cards if quick.may_hold(_words_of(card))}

    def _index_lines(
        self, shelf: Shelf, said: Mapping[str, IndexedCard], words: Sequence[str], found: Sequence[Passage]
    ) -> list[Passage]:
        """The lines of an index that have a word of the question which their card nowhere says."""
        if not said:
            return []
        index = self._view.index(self._space, shelf)
        path = self._space.index_path(shelf)
        lines = split_lines(index.text)
        texts: dict[str, list[str]] = {}
        for passage in found:
            texts.setdefault(passage.path, []).append(passage.text)
        made: list[Passage] = []
        for card in said.values():
            place = index.lines.place(card.id)
            own = frozenset(terms("\n".join(texts.get(self._space.card_path(shelf, CardId(card.id)), ()))))
            for entry in card.entries if place else ():
                only_here = set(words).intersection(terms(_words_of_entry(entry))) - own
                if place and only_here and (at := place.entries.get(entry.section_id)):
                    made.append(Passage(path, at.line + 1, at.line + 1, lines[at.line], card.updated, card.title))
        return made

    def _texts(self, where: frozenset[str]) -> Iterator[_Text]:
        if "cards" in where:
            yield from self._shelf("projects")
            yield from self._project_files()
        if not _PLACES_OF["research"].isdisjoint(where):
            yield from self._shelf("research")
        if "log" in where:
            yield from self._file("MEMORY.md")
            for day in self._view.days(self._space):
                yield from self._file(f"memory/{day.isoformat()}.md", day=day.isoformat())
        if "chat" in where:
            for name in _names(self._space.folder / "chats", ".jsonl"):
                for chat in self._file(f"chats/{name}"):
                    yield replace(chat, text=spoken(chat.text), day=_day_of(name))

    def _shelf(self, shelf: Shelf) -> Iterator[_Text]:
        for card in self._view.cards(self._space, shelf):
            yield from self._file(f"{shelf}/{card}.md", card=(shelf, card))

    def _project_files(self) -> Iterator[_Text]:
        folder = self._space.folder / "projects"
        for project in self._view.cards(self._space, "projects"):
            if (folder / project).is_dir():
                for name in list_beneath(folder / project, max_files=MAX_PROJECT_FILES):
                    yield from self._file(f"projects/{project}/{name}")

    def _file(
        self, relative: str, *, day: str | None = None, card: tuple[Shelf, CardId] | None = None
    ) -> Iterator[_Text]:
        path = self._space.path(relative)
        try:
            text = self._view.text(path)
        except (MemoryFault, OSError):
            return
        if text is not None:
            yield _Text(path, text, day, card)


class _QuickLook:
    """Tells without cutting it up whether a text can hold a word of the question or a relative of one."""

    def __init__(self, words: Sequence[str]) -> None:
        self._probes = {probe for word in words for probe in (*probes_of(word), beginning_of(word))}

    def may_hold(self, text: str, path: str = "") -> bool:
        skimmed = skim(f"{path}\n{text}")
        return any(probe in skimmed for probe in self._probes)


def _words_of(card: IndexedCard) -> str:
    return " ".join(_words_of_entry(entry) for entry in card.entries)


def _words_of_entry(entry: IndexEntry) -> str:
    return f"{entry.summary} {' '.join(entry.keywords)}"


def _without_front(found: Iterable[Passage]) -> Iterator[Passage]:
    return (kept for passage in found if (kept := title_alone(passage)) is not None)


def _with_keywords(found: Sequence[Passage], document: Document, card: IndexedCard | None) -> Iterator[Passage]:
    """The passages, each with what the index says of its section added to its context."""
    said = {e.section_id: _words_of_entry(e) for e in card.entries} if card else {}
    starts = [(section.line, said.get(section.id, "")) for section in document.sections] if said else []
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


def _day_of(chat: str) -> str | None:
    """The day on which a chat began, by its name."""
    try:
        return date.fromisoformat(chat[:10]).isoformat()
    except ValueError:
        return None


def _names(folder: Path, suffix: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(suffix) and entry.is_file())
    except (FileNotFoundError, NotADirectoryError):
        return []
