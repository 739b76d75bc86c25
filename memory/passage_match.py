"""Finding the one place of a text: overlapping places count, and line ends match whichever they are."""

import re
from dataclasses import dataclass

from .block import line_at
from .refusal import OldTextAmbiguous, OldTextNotFound

_NEWLINE = r"(?:\r\n|(?<!\r)\n)"
_NEAR = 55.0


@dataclass(frozen=True)
class Place:
    """The char span of a passage in the whole text."""

    start: int
    end: int


def find_once(text: str, old: str, start: int, end: int, where: str) -> Place:
    """Where `old` stands between `start` and `end`; raises OldTextNotFound or OldTextAmbiguous.

    If the text ends in a line without a newline, `old` may name that line with one.
    """
    unix = old.replace("\r\n", "\n")
    places = _places(text, unix, start, end)
    if not places and end == len(text) and not text.endswith("\n") and unix.endswith("\n"):
        bare = unix.removesuffix("\n")
        places = [place for place in _places(text, bare, start, end) if place.end == end] if bare else []
    if not places:
        raise OldTextNotFound(where, *_closest(text, unix, start, end))
    if len(places) > 1:
        raise OldTextAmbiguous(where, len(places))
    return places[0]


def _places(text: str, unix: str, start: int, end: int) -> list[Place]:
    pattern = _NEWLINE.join(re.escape(line) for line in unix.split("\n"))
    if unix.endswith("\r"):
        pattern += r"(?!\n)"  # half of a line end is no place to cut
    found = re.compile(f"(?=({pattern}))").finditer(text, start, end)
    return [Place(match.start(1), match.end(1)) for match in found]


def _closest(text: str, unix: str, start: int, end: int) -> tuple[str, int]:
    """The line that comes closest to the first line of the old text, and its number; ("", 0) if none is near."""
    # Only a refusal needs it, so nothing else pays for the import.
    from rapidfuzz import fuzz, process

    wanted = next((line.strip() for line in unix.split("\n") if line.strip()), "")
    lines = text[start:end].split("\n")
    best = process.extractOne(wanted, lines, scorer=fuzz.ratio, score_cutoff=_NEAR) if wanted else None
    if best is None:
        return "", 0
    line, _, number = best
    return line.strip(), line_at(text, start) + number
