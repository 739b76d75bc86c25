"""Finds whole lines again in a text that has changed since: by what they say, never by where they stood.

Line ends count for nothing, since an editor may have made all of them others.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..text.document import Document, parse_document

_LONGEST_ANCHOR = 12


@dataclass(frozen=True)
class Place:
    """Lines in a text, from char offset `start` to `end`."""

    start: int
    end: int


class Lines:
    """A text with its lines, in which passages are looked for.

    Of a `document` (a card, a note) a passage is looked for in its section; any other text is one piece.
    """

    def __init__(self, text: str, *, is_document: bool) -> None:
        self.text = text
        self.is_document = is_document
        self._lines = text.split("\n")
        self._bare = [line.removesuffix("\r") for line in self._lines]
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    @cached_property
    def document(self) -> Document:
        return parse_document(self.text)

    @property
    def body_start(self) -> int:
        return self.document.body_start if self.is_document else 0

    def places(self, passage: str, section: str | None) -> list[Place]:
        """Where the lines of `passage` stand whole in their section, or anywhere if there is no such section now.

        With section None that is what stands before the first heading, front matter included.
        """
        wanted = bare_lines(passage)
        first = next((k for k, line in enumerate(wanted) if line.strip()), 0)
        start, end = self._region(section)
        found = [at for at in self._runs(wanted) if start <= self._starts[at + first] < max(end, start + 1)]
        return [self._place(at, len(wanted)) for at in found]

    def behind(self, place: Place, lines: int) -> Place:
        """What is left of a place behind its first lines."""
        first = bisect_right(self._starts, place.start) - 1
        return Place(min(self._starts[first + lines], place.end), place.end)

    def anchor(self, offset: int) -> str:
        """The fewest lines before `offset` by which the place can be found again; blank ones for the beginning."""
        last = bisect_right(self._starts, offset) - 1
        first = bisect_right(self._starts, self.body_start) - 1
        at = last
        while at > first:
            at -= 1
            lines = self._bare[at:last]
            if any(line.strip() for line in lines) and (len(lines) >= _LONGEST_ANCHOR or len(self._runs(lines)) == 1):
                return "".join(f"{line}\n" for line in lines)
        return "".join(f"{line}\n" for line in self._bare[first:last])

    def beginning(self, behind: str, blank: str) -> Place:
        """Where blank lines stand at the beginning of the body, behind those that stood there before them."""
        first = bisect_right(self._starts, self.body_start) - 1
        at = self._past_blank(first, behind.count("\n"))
        end = self._past_blank(at, blank.count("\n"))
        return Place(max(self._starts[at], self.body_start), max(self._starts[end], self.body_start))

    def _past_blank(self, line: int, most: int) -> int:
        """The first line from this one on that isn't blank, but not more than so many further."""
        end = line
        while end - line < most and end < len(self._bare) - 1 and not self._bare[end].strip():
            end += 1
        return end

    def _region(self, section: str | None) -> tuple[int, int]:
        whole = (0, len(self.text))
        if not self.is_document:
            return whole
        sections = self.document.sections
        if section is None:
            return (0, sections[0].start) if sections else whole
        found = next((one for one in sections if one.id == section), None)
        return (found.start, found.end) if found is not None else whole

    def _runs(self, wanted: Sequence[str]) -> list[int]:
        """The numbers of the lines at which all the wanted ones stand, one after the other."""
        many = len(wanted)
        found: list[int] = []
        at = -1
        while True:
            try:
                at = self._bare.index(wanted[0], at + 1)
            except ValueError:
                return found
            # The empty piece behind the last newline is no line.
            if self._bare[at : at + many] == list(wanted) and (at + many < len(self._bare) or self._bare[-1]):
                found.append(at)

    def _place(self, at: int, many: int) -> Place:
        return Place(self._starts[at], min(self._starts[at + many], len(self.text)))


def bare_lines(text: str) -> list[str]:
    """The lines of a text without their ends."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
