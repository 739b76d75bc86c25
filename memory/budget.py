"""Texts that would outgrow a prompt, cut to a number of tokens; what is left out is always said, in the text itself."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from .text.clip import boundary
from .tokens import estimate

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True)
class Budgeted:
    """A text within its budget, and how much of it was left out; 0 means that it is whole."""

    text: str
    left_out: int


def first_lines(text: str, tokens: int, path: str) -> Budgeted:
    """The beginning of the file at `path`, cut at a line end; `left_out` counts lines.

    The text says from which line on a reader has to read the rest. A line that alone is larger is shown in part.
    """
    if estimate(text) <= tokens:
        return Budgeted(text, 0)
    lines = lines_of(text)
    room = tokens - estimate(_more(len(lines), estimate(text), path, len(lines)))
    fit = fitting(lines, room)
    kept = closed("".join(lines[:fit]))
    if not kept:
        kept = shortened(lines[0], room)
    left = len(lines) - fit
    return Budgeted(kept + _more(left, estimate("".join(lines[fit:])), path, fit + 1), left)


def shortened(line: str, tokens: int) -> str:
    """The beginning of a line within so many tokens, with "…" and a line end behind it; "" where nothing fits."""
    fit, most = 0, len(line)
    while fit < most:
        middle = (fit + most + 1) // 2
        fit, most = (middle, most) if estimate(line[:middle]) + 2 <= tokens else (fit, middle - 1)
    cut = line[: boundary(line, fit)].rstrip()
    return f"{cut}…\n" if cut else ""


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends, as readers count them."""
    return _LINE.findall(text)


def fitting(lines: Sequence[str], tokens: int) -> int:
    """How many of the lines, from the first, are within so many tokens."""
    return sum(1 for total in accumulate(map(estimate, lines)) if total <= tokens)


def closed(text: str) -> str:
    """The text with a line end at its end; the empty text stays empty."""
    return text if not text or text.endswith("\n") else text + "\n"


def shares(wanted: Sequence[int], room: int) -> tuple[int, ...]:
    """How much of `room` each gets: what it wants, but never more than leaves the others as much as they want.

    So what one doesn't need is shared among those that want more, and nobody who wants much starves the others.
    """
    granted = [0] * len(wanted)
    for place, at in enumerate(sorted(range(len(wanted)), key=lambda at: wanted[at])):
        granted[at] = min(wanted[at], max(0, room) // (len(wanted) - place))
        room -= granted[at]
    return tuple(granted)


def _more(lines: int, tokens: int, path: str, start: int) -> str:
    what = "line is" if lines == 1 else "lines are"
    return f'(… {lines:,} more {what} not shown here, ≈{tokens:,} tokens: read_card "{path}" from start {start})\n'
