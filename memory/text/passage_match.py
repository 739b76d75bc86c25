"""Finding the one place of a text: overlapping places count, and line ends match whichever they are."""

import re
from bisect import bisect_left
from dataclasses import dataclass

from .block import line_at
from .refusal import OldTextAmbiguous, OldTextNotFound

COUNT_LIMIT = 1_000
_NEAR_LENGTH = 500
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
    """The places of a text whose line ends are "\\n", at most `COUNT_LIMIT` of them."""
    region = text[start:end]
    # Where, in the region with "\n" line ends, a "\r" was left out.
    windows = [match.start() - i for i, match in enumerate(re.finditer("\r\n", region))]
    if windows:
        region = region.replace("\r\n", "\n")
    places: list[Place] = []
    at = region.find(unix)
    while at >= 0 and len(places) < COUNT_LIMIT:
        behind = at + len(unix)
        first, last = bisect_left(windows, at), bisect_left(windows, behind)
        places.append(Place(start + at + first, start + behind + last))
        at = region.find(unix, at + 1)
    return places


def _closest(text: str, unix: str, start: int, end: int) -> tuple[str, int]:
    """The line that comes closest to the first line of the old text, and its number; ("", 0) if none is near."""
    # Only a refusal needs it, so nothing else pays for the import.
    from rapidfuzz import fuzz, process

    wanted = next((line.strip() for line in unix.split("\n") if line.strip()), "")[:_NEAR_LENGTH]
    lines = text[start:end].split("\n")
    best = process.extractOne(wanted, lines, scorer=fuzz.ratio, score_cutoff=_NEAR) if wanted else None
    if best is None:
        return "", 0
    line, _, number = best
    return line.strip(), line_at(text, start) + number
