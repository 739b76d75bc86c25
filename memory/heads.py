"""The heads of an index's blocks: whose they are, their status and date, read at a glance.

A prompt gets few blocks of a large index and only counts the rest, and it is made anew after each commit. So one
pattern goes over the text, no line is parsed, and what a head says is taken as it is written.
"""

import heapq
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress

ARCHIVED = "archived"
"""The status of a card at rest."""
RESTING = frozenset({ARCHIVED, "done", "closed", "cancelled", "dropped"})
_START = re.compile(r"\n##[ \t]")
_HEAD = re.compile(
    r"\n##[ \t][^\n]*"
    r"(?:\n\n?status: ([a-z-]+) · updated: (\d{4}-\d\d-\d\d)(?=\n))?"  # as onepen writes it
)
_FIELDS = re.compile(r"^[ \t]*(status|updated)[ \t]*:[ \t]*([\w-]+)(?:.*?\bupdated[ \t]*:[ \t]*([\d-]+))?", re.M | re.I)
_DAY = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")


@dataclass(frozen=True)
class Heads:
    """The blocks of an index by their numbers, from 0: where each begins, and its status and date as written.

    A status is in small letters; what isn't said is "". Whose a block is is read when it is asked for.
    """

    text: str
    starts: tuple[int, ...]
    statuses: tuple[str, ...]
    dates: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def top(self) -> str:
        """What stands above the first block; all blocks together are the rest."""
        return self.text[: self.starts[0]] if self.starts else self.text

    def block(self, at: int) -> str:
        end = self.starts[at + 1] if at + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[at] : end]

    def card(self, at: int) -> str:
        """The id of the card that a block is about; "" if its heading leads nowhere."""
        start = self.starts[at]
        end = self.text.find("\n", start)
        heading = self.text[start : end if end >= 0 else len(self.text)]
        first = heading.rfind("](")
        last = heading.find(".md)", first)
        return heading[first + 2 : last].removeprefix("./") if 0 <= first < last else ""

    def newest(self, most: int) -> list[int]:
        """The numbers of the newest blocks: cards at work before those that rest, then by date.

        Of one day, what was added last comes first.
        """
        work = (status not in RESTING for status in self.statuses)
        return [at for _, _, at in heapq.nlargest(most, zip(work, self.dates, range(len(self)), strict=True))]


def heads(index: str) -> Heads:
    """The heads of an index; never raises."""
    text = f"\n{index}"  # so each match begins one character before its heading in `index`
    starts = tuple(match.start() for match in _START.finditer(text))
    found = _HEAD.findall(text)
    for at, (_, date) in enumerate(found):
        if not date:
            end = starts[at + 1] if at + 1 < len(starts) else len(index)
            found[at] = _fields(index[starts[at] : end])
    statuses, dates = zip(*found, strict=True) if found else ((), ())
    return Heads(index, starts, statuses, dates)


def chosen(index: str, wanted: str) -> list[int]:
    """The numbers of an index's lines, from 1, that answer `wanted`.

    A card's id means its block; a day, month or year, a status, or the first letters of ids mean the headings of those
    cards; "" means the headings of all.
    """
    found, word = heads(index), wanted.strip().lower()
    cards = [found.card(at).lower() for at in range(len(found))]
    if word in cards and word:
        at = cards.index(word)
        first = index.count("\n", 0, found.starts[at]) + 1
        return [*range(first, first + len(found.block(at).rstrip().split("\n")))]
    if _DAY.fullmatch(word):
        answers = [date.startswith(word) for date in found.dates]
    else:
        answers = [s == word or card.startswith(word) for s, card in zip(found.statuses, cards, strict=True)]
    return _numbers(index, compress(found.starts, answers))


def _numbers(text: str, starts: Iterable[int]) -> list[int]:
    """The line numbers of places in ascending order."""
    found, line, at = [], 1, 0
    for start in starts:
        line, at = line + text.count("\n", at, start), start
        found.append(line)
    return found


def _fields(block: str) -> tuple[str, str]:
    """Status, in small letters, and date in a block that says them otherwise; the first line that names one counts."""
    found = _FIELDS.search(block)
    if found is None:
        return "", ""
    if found[1].lower() == "updated":
        return "", found[2]
    return found[2].lower(), found[3] or ""
