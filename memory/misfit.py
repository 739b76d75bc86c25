"""What is wrong in a file of settings, each thing in plain words with the line where it stands. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .ids import shown
from .wording import in_words

_TABLE = re.compile(r"\s*\[\s*([\w.-]+)\s*\]")
_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[=.]""")


@dataclass(frozen=True)
class Misfit:
    """One thing that is wrong; `line` is 0 where nothing stands that could be pointed at."""

    key: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.key} {self.reason}" if self.line else f"{self.key} {self.reason}"


def misfits(text: str, errors: Sequence[Mapping[str, Any]], wanted: Mapping[str, str]) -> tuple[Misfit, ...]:
    """What a validator found in the TOML `text`, by line; `wanted` says for a key what its value looks like."""
    found = []
    for error in errors:
        place = tuple(str(part) for part in error["loc"])
        key = ".".join(place)
        found.append(Misfit(key, line_of(text, place), _reason(error, wanted.get(key, ""))))
    return tuple(sorted(found, key=lambda misfit: (misfit.line, misfit.key)))


def line_of(text: str, place: Sequence[str]) -> int:
    """The line of a key (or, without one, of its table), counted from 1; 0 if it stands nowhere."""
    table: tuple[str, ...] = ()
    above = 0
    for number, line in enumerate(text.split("\n"), start=1):
        head = _TABLE.match(line)
        if head is not None:
            table = tuple(head[1].split("."))
            if table[: len(place)] == tuple(place):
                return number
            if table == tuple(place[: len(table)]):
                above = number
            continue
        key = _KEY.match(line)
        if key is not None and (*table, key[1]) == tuple(place[: len(table) + 1]):
            return number
    return above


def _reason(error: Mapping[str, Any], wanted: str) -> str:
    match error["type"]:
        case "missing":
            return f"is missing: {wanted or 'add it'}"
        case "string_pattern_mismatch":
            return f"is {shown(str(error['input']))}, which can't be one: {wanted}"
        case "extra_forbidden":
            return wanted or "is not known here: remove it, or look for a slip in the name"
        case "value_error":
            return in_words(error)
    return in_words(error) + (f": {wanted}" if wanted else "")
