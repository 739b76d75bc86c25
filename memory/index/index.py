"""An index: what exists on a shelf, section by section, as Markdown that a person reads and edits.

    # Projects

    ## [Kiln relaunch](kiln.md)
    status: active · updated: 2026-11-29

    - [hosting](kiln.md#hosting) — Moved to Hetzner on 12 Nov; DNS stays at Gandi. `hetzner, dns, ssl`

A change touches the lines it means to change; all other lines keep their bytes, whoever wrote them. An entry belongs to
the card that its link names. A person's own text has its place above the first card; below it, what is neither heading,
status line nor entry is kept and reported as stray.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..errors import MemoryFault
from ..heads import ARCHIVED
from ..ids import shown
from .entry import EntryRefused, IndexEntry, auto_entry
from .lines import CardPlace, Lines, read_lines
from .sheet import Sheet

__all__ = [
    "ARCHIVED",
    "CardNotIndexed",
    "EntryRefused",
    "Index",
    "IndexEntry",
    "IndexedCard",
    "auto_entry",
    "empty_index",
    "parse_index",
]


class CardNotIndexed(MemoryFault):
    """Raised when an entry is to be changed of a card that has no block in the index."""

    def __init__(self, card: str) -> None:
        super().__init__(f"index: card {shown(card)} has no block in it", hint="onepen doctor")


@dataclass(frozen=True)
class IndexedCard:
    """The block of one card; `line` is that of its heading, counted from 1."""

    id: str
    title: str
    status: str | None
    updated: str | None
    entries: tuple[IndexEntry, ...]
    line: int

    def entry(self, section_id: str) -> IndexEntry | None:
        return next((entry for entry in self.entries if entry.section_id == section_id), None)


@dataclass(frozen=True)
class Index:
    """An index's text and what stands in it; each change gives a new index.

    `cards` are its blocks in order. `stray` is text below the first card that is neither entry nor status line, as
    (line, first line of it); `flawed` are entries written by hand that onepen would not write, as (line, why).
    """

    text: str

    @cached_property
    def lines(self) -> Lines:
        """What each line is, read when it is asked for: what a change leaves is often only written."""
        return read_lines(self.text)

    @cached_property
    def cards(self) -> tuple[IndexedCard, ...]:
        return tuple(_card(place) for place in self.lines.places.values())

    @cached_property
    def stray(self) -> tuple[tuple[int, str], ...]:
        return tuple(_runs(self.lines))

    @cached_property
    def flawed(self) -> tuple[tuple[int, str], ...]:
        return tuple(sorted((at + 1, why) for place in self.lines.places.values() for at, why in place.flaws()))

    def card(self, card_id: str) -> IndexedCard | None:
        """The block of a card; of one whose id differs only in case, if there is no other."""
        place = self.lines.place(card_id)
        return None if place is None else _card(place)

    def with_card(self, card_id: str, *, title: str, status: str, updated: str) -> "Index":
        """With a block for the card, at the end if it has none; title, status and date are made so if they differ."""
        sheet = Sheet(self.lines)
        sheet.put_card(card_id, title, status, updated)
        return self._changed(sheet)

    def with_entry(self, card: str, entry: IndexEntry, *, link: str | None = None) -> "Index":
        """With an entry of that section or file, in the place of the one it has, else behind the card's last.

        Raises CardNotIndexed, or EntryRefused for a link that is none.
        """
        if link is not None:
            entry = IndexEntry(entry.section_id, entry.summary, entry.keywords, entry.auto, link)
        sheet = self._sheet(card)
        sheet.put_entry(card, entry)
        return self._changed(sheet)

    def without_entry(self, card: str, section_id: str) -> "Index":
        """Without the entry of that section; raises CardNotIndexed."""
        sheet = self._sheet(card)
        sheet.drop_entry(card, section_id)
        return self._changed(sheet)

    def without_entries(self, card: str) -> "Index":
        """With nothing of a card but its heading, its status line and a person's own text; raises CardNotIndexed."""
        sheet = self._sheet(card)
        sheet.drop_entries(card)
        return self._changed(sheet)

    def without_card(self, card_id: str) -> "Index":
        """Without the heading, status line and entries of a card; a person's own text in its block stays."""
        sheet = Sheet(self.lines)
        sheet.drop_card(card_id)
        return self._changed(sheet)

    def rename_entry(self, card: str, old: str, new: str) -> "Index":
        """With the entry of section `old` leading to section `new`, and saying the same; raises CardNotIndexed."""
        sheet = self._sheet(card)
        sheet.rename_entry(card, old, new)
        return self._changed(sheet)

    def _sheet(self, card: str) -> Sheet:
        if self.lines.place(card) is None:
            raise CardNotIndexed(card)
        return Sheet(self.lines)

    def _changed(self, sheet: Sheet) -> "Index":
        text = sheet.text()
        return self if text == self.text else Index(text)


def parse_index(text: str) -> Index:
    """The index that a text is; never raises, and `parse_index(text).text` is the text, whatever it is."""
    return Index(text)


def _card(place: CardPlace) -> IndexedCard:
    entries = tuple(found.entry for found in place.entries.values())
    return IndexedCard(place.id, place.title, place.status, place.updated, entries, place.heading + 1)


def empty_index(heading: str) -> str:
    """The text of an index in which nothing stands yet."""
    return f"# {heading}\n"


def _runs(lines: Lines) -> Iterator[tuple[int, str]]:
    """Stray lines that follow one another (blank lines between them or not), as the first of them."""
    last = -2
    for at in lines.stray:
        if any(lines.lines[between].strip() for between in range(last + 1, at)) or last < 0:
            yield at + 1, lines.lines[at].strip()
        last = at
