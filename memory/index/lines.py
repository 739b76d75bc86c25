"""What each line of an index is: a card's heading, its status line, an entry, or somebody's own text."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from ..text.document import newline_of
from ..text.outline import hides, is_heading, outline
from .entry import EntryMark, IndexEntry, entry_mark, parse_entry, unescaped

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CARD = re.compile(
    r" {0,3}##[ \t]+\[(?P<title>(?:[^\[\]\\\r\n]++|\\.|\[[^\[\]\r\n]*\])*+)\]\((?:\./)?(?P<id>[^\s()<>/#?]+)\.md\)"
)
_STATUS = re.compile(r"[ \t]*(?:status|updated)[ \t]*:", re.IGNORECASE)
_FIELD = re.compile(r"[ \t]*(status|updated)[ \t]*:[ \t]*(.*?)[ \t]*", re.IGNORECASE)
_PLAIN_FIELDS = re.compile(r"status: ([a-z-]+) · updated: (\d{4}-\d{2}-\d{2})\n")
SEPARATOR = " · "


@dataclass
class EntryPlace:
    """A line that is an entry; `line` is its number, from 0. The entry itself is read when it is asked for."""

    line: int
    raw: str
    of_file: bool
    auto: bool

    @cached_property
    def _read(self) -> tuple[IndexEntry, str | None]:
        found = parse_entry(self.raw)
        assert found is not None, f"{self.raw!r} was taken for an entry"
        return found

    @property
    def entry(self) -> IndexEntry:
        return self._read[0]

    @property
    def flaw(self) -> str | None:
        return self._read[1]


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
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def read_lines(text: str) -> Lines:
    """The lines of an index; never raises."""
    lines = tuple(_LINE.findall(text))
    hidden, open_from, headings = _outlined(text, lines)
    places: dict[str, CardPlace] = {}
    entries: list[tuple[int, EntryMark]] = []
    rest: list[int] = []
    current: CardPlace | None = None
    for at, line in enumerate(lines):
        if at in hidden:
            rest.append(at)
        elif at in headings:
            if current is not None:
                current.end = at
            current = _card_at(at, line, len(lines))
            if current is None or current.id in places:
                current = None
                rest.append(at)
            else:
                places[current.id] = current
        elif line[:1] in "-*+" and (mark := entry_mark(line)) is not None:
            entries.append((at, mark))
        elif current is not None and current.status_line is None and _STATUS.match(line):
            _read_status(current, at, line)
        elif not line.isspace():
            rest.append(at)
    twins = {folded(card): card for card in reversed(places)}
    for at, (card, section_id, of_file, auto) in entries:
        place = places.get(card) or places.get(twins.get(folded(card), ""))
        if place is None or section_id in place.entries:
            rest.append(at)
            continue
        place.entries[section_id] = EntryPlace(at, lines[at], of_file, auto)
        if at < place.end:
            place.last = max(place.last, at)
    top = min((place.heading for place in places.values()), default=len(lines))
    stray = tuple(sorted(at for at in rest if at > top and lines[at].strip()))
    return Lines(lines, newline_of(text), places, twins, stray, open_from)


def _card_at(at: int, line: str, end: int) -> CardPlace | None:
    match = _CARD.match(line.removeprefix("\ufeff"))
    return CardPlace(match["id"], unescaped(match["title"]), at, at, end) if match else None


def _outlined(text: str, lines: tuple[str, ...]) -> tuple[set[int], int | None, set[int]]:
    """Lines inside fences and comments, the line of one that never ends, lines that are headings."""
    if not hides(text) and not text.startswith("\ufeff"):
        return set(), None, {at for at, line in enumerate(lines) if "#" in line[:4] and is_heading(line)}
    found = outline(text)
    starts = [0, *accumulate(map(len, lines))]
    hidden: set[int] = set()
    open_from = None
    for span in found.hidden:
        first = bisect_right(starts, span.start) - 1
        hidden.update(range(first, bisect_left(starts, span.end)))
        if not span.closed:
            open_from = first
    return hidden, open_from, {bisect_right(starts, heading.start) - 1 for heading in found.headings}


def _read_status(card: CardPlace, at: int, line: str) -> None:
    card.status_line = card.last = at
    if plain := _PLAIN_FIELDS.fullmatch(line):  # as onepen writes it
        card.status, card.updated = plain.groups()
        return
    for part in line.rstrip("\r\n").split("·"):
        match = _FIELD.fullmatch(part)
        if match and match[1].lower() == "status" and card.status is None:
            card.status = match[2]
        elif match and match[1].lower() == "updated" and card.updated is None:
            card.updated = match[2]
