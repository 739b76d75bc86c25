"""What each line of an index is: a card's heading, its status line, an entry, or somebody's own text."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from .document import newline_of
from .entry import EntryLine, IndexEntry, parse_entry, unescaped
from .outline import outline

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CARD = re.compile(
    r" {0,3}##[ \t]+\[(?P<title>(?:[^\[\]\\\r\n]|\\.|\[[^\[\]\r\n]*\])*)\]\((?:\./)?(?P<id>[^\s()<>/#?]+)\.md\)"
)
_STATUS = re.compile(r"[ \t]*(?:status|updated)[ \t]*:", re.IGNORECASE)
_FIELD = re.compile(r"[ \t]*(status|updated)[ \t]*:[ \t]*(.*?)[ \t]*", re.IGNORECASE)
SEPARATOR = " · "


@dataclass
class EntryPlace:
    """An entry and the number of its line, from 0."""

    line: int
    entry: IndexEntry
    flaw: str | None


@dataclass
class CardPlace:
    """Where a card's block stands; line numbers from 0.

    `last` is the line behind which more entries go, `end` the next line that is a heading."""

    id: str
    title: str
    heading: int
    last: int
    end: int
    status_line: int | None = None
    status: str | None = None
    updated: str | None = None
    entries: dict[str, EntryPlace] = field(default_factory=dict)

    def flaws(self) -> Iterator[tuple[int, str]]:
        return ((found.line, found.flaw) for found in self.entries.values() if found.flaw)


@dataclass(frozen=True)
class Lines:
    """The lines of an index with what they are; `open_from` is the line of a fence or comment that never ends."""

    lines: tuple[str, ...]
    newline: str
    places: dict[str, CardPlace]
    twins: dict[str, str]
    stray: tuple[int, ...]
    open_from: int | None

    def place(self, card_id: str) -> CardPlace | None:
        """The place of a card; of one whose id differs only in case or form, if there is no other."""
        found = self.places.get(card_id)
        return found if found is not None else self.places.get(self.twins.get(folded(card_id), ""))


def folded(name: str) -> str:
    """A name by which two that differ only in case or Unicode form are the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def read_lines(text: str) -> Lines:
    """The lines of an index; never raises."""
    lines = tuple(_LINE.findall(text))
    hidden, open_from, headings = _outlined(text, lines)
    places: dict[str, CardPlace] = {}
    entries: list[tuple[int, EntryLine]] = []
    rest: list[int] = []
    current: CardPlace | None = None
    for at, line in enumerate(lines):
        if at in hidden:
            rest.append(at)
        elif at in headings:
            match = _CARD.match(line)
            if current is not None:
                current.end = at
            current = None
            if match and match["id"] not in places:
                current = CardPlace(match["id"], unescaped(match["title"]), at, at, len(lines))
                places[current.id] = current
            else:
                rest.append(at)
        elif (found := parse_entry(line)) is not None:
            entries.append((at, found))
        elif current is not None and current.status_line is None and _STATUS.match(line):
            _read_status(current, at, line)
        elif line.strip():
            rest.append(at)
    twins = {folded(card): card for card in reversed(places)}
    for at, found in entries:
        if not _settled(places, twins, at, found):
            rest.append(at)
    top = min((place.heading for place in places.values()), default=len(lines))
    stray = tuple(sorted(at for at in rest if at > top and lines[at].strip()))
    return Lines(lines, newline_of(text), places, twins, stray, open_from)


def _outlined(text: str, lines: tuple[str, ...]) -> tuple[set[int], int | None, set[int]]:
    """Lines inside fences and comments, the line of one that never ends, lines that are headings."""
    found = outline(text)
    starts: dict[int, int] = {}
    offset = 0
    for at, line in enumerate(lines):
        starts[offset] = at
        offset += len(line)
    starts[offset] = len(lines)
    hidden: set[int] = set()
    open_from = None
    for span in found.hidden:
        first = starts[span.start]
        hidden.update(range(first, starts[span.end]))
        if not span.closed:
            open_from = first
    return hidden, open_from, {starts[heading.start] for heading in found.headings}


def _read_status(card: CardPlace, at: int, line: str) -> None:
    card.status_line = card.last = at
    for part in line.rstrip("\r\n").split("·"):
        match = _FIELD.fullmatch(part)
        if match and match[1].lower() == "status" and card.status is None:
            card.status = match[2]
        elif match and match[1].lower() == "updated" and card.updated is None:
            card.updated = match[2]


def _settled(places: dict[str, CardPlace], twins: dict[str, str], at: int, found: EntryLine) -> bool:
    """Give an entry to its card; False if the card has no block or has an entry of that section."""
    place = places.get(found.card) or places.get(twins.get(folded(found.card), ""))
    if place is None or found.entry.section_id in place.entries:
        return False
    place.entries[found.entry.section_id] = EntryPlace(at, found.entry, found.flaw)
    if at < place.end:
        place.last = max(place.last, at)
    return True
