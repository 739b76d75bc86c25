"""Numbered lines of a file, as a worker's model reads them, so that it can cite them.

    inputs/cones.md, lines 14-15 of 80
        14	cone 6 was reached at 1222 degrees
        15	the kiln was cold again at noon
    (more: read on with start=16)

A line is what stands between two line feeds, counted from 1. A number with `+` behind it marks a line that is not shown
as it is: it is longer than a page may show (its rest can only be found by search), or holds a secret, which is masked.
Remarks of onepen stand in parentheses at the end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...memory.fence import inside
from ...memory.text.clip import boundary
from ...staging.secret import mask

PAGE_LINES = 400
PAGE_CHARS = 40_000
LINE_CHARS = 8_000
_KEY_LINES = 130  # more than a private key has

_HEAD = re.compile(r"(?P<path>[^\n]*), lines (?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+)")
_LINE = re.compile(r" *(?P<number>\d+)(?P<cut>\+?)\t(?P<text>.*)")


@dataclass(frozen=True)
class Line:
    """One line of a file; `cut` if what is shown is not all that stands there."""

    number: int
    text: str
    cut: bool = False


@dataclass(frozen=True)
class Page:
    """Some lines of the file that is cited as `path`, which has `total` lines, and remarks for the reader."""

    path: str
    lines: tuple[Line, ...]
    total: int
    remarks: tuple[str, ...] = ()

    def render(self) -> str:
        first, last = (self.lines[0].number, self.lines[-1].number) if self.lines else (1, 0)
        rows = [f"{line.number:>6}{'+' if line.cut else ''}\t{line.text}" for line in self.lines]
        notes = [f"({remark})" for remark in self.remarks]
        return "\n".join([f"{self.path}, lines {first}-{last} of {self.total}", *rows, *notes])


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends; an end at the very end begins no further line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return lines


def page(path: str, text: str, first: int = 1, last: int | None = None, most: int = PAGE_LINES) -> Page:
    """The page of `text` that begins at line `first`, within `last` and the limits of a page."""
    lines = lines_of(text)
    end = min(len(lines), last if last is not None else len(lines))
    first = max(1, first)
    numbers = range(first, min(end, first + min(most, PAGE_LINES) - 1) + 1)
    safe = _masked(lines, numbers)
    shown: list[Line] = []
    room = PAGE_CHARS
    for number in numbers:
        line = _line(number, lines[number - 1], safe[number - first])
        room -= len(line.text)
        if room < 0 and shown:
            break
        shown.append(line)
    following = shown[-1].number + 1 if shown else first
    remarks = (f"more: read on with start={following}",) if shown and following <= end else ()
    return Page(path, tuple(shown), len(lines), remarks)


def picked(path: str, text: str, numbers: Sequence[int]) -> Page:
    """The page of the lines of `text` that have these numbers."""
    lines = lines_of(text)
    chosen = [lines[number - 1] for number in numbers]
    safe = mask("\n".join(chosen)).split("\n")
    return Page(path, tuple(map(_line, numbers, chosen, safe)), len(lines))


def parse_page(text: str) -> Page | None:
    """The page that `render` made, in a fence or not; None if this is none."""
    head, *rows = inside(text).split("\n")
    match = _HEAD.fullmatch(head)
    if match is None:
        return None
    lines: list[Line] = []
    remarks: list[str] = []
    for row in rows:
        one = _LINE.fullmatch(row)
        if one is not None:
            lines.append(Line(int(one["number"]), one["text"], bool(one["cut"])))
        elif row.startswith("(") and row.endswith(")"):
            remarks.append(row[1:-1])
        else:
            return None
    return Page(match["path"], tuple(lines), int(match["total"]), tuple(remarks))


def _masked(lines: Sequence[str], numbers: range) -> list[str]:
    """The lines of these numbers without secrets; a private key may begin above them and end below."""
    first, end = max(0, numbers.start - 1 - _KEY_LINES), min(len(lines), numbers.stop - 1 + _KEY_LINES)
    return mask("\n".join(lines[first:end])).split("\n")[numbers.start - 1 - first :]


def _line(number: int, text: str, safe: str) -> Line:
    if len(safe) <= LINE_CHARS:
        return Line(number, safe, cut=safe != text)
    return Line(number, safe[: boundary(safe, LINE_CHARS)], cut=True)
