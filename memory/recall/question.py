"""A question understood as far as words go: what it is about, how it asks, and how an answer would look."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from .analysis import asked, terms, tongue_of
from .vocabulary import DATES, LIGHT, LOOKS, SAME

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_JOINED = re.compile(
    r"([^\W_]+)\s+(?:and|or|und|oder|et|ou|y|o)\s+(?:(?:the|a|an|der|die|das|le|la|les|el|los)\s+)?([^\W_]+)", re.I
)
_STRICT = 0.4
_TELLING = 0.3  # an answer that has to look so says by its look what the question says in words
_CAPITALS = 0.6  # a question with more capitals than this is written in them


@dataclass(frozen=True)
class Look:
    """How an answer looks; a passage that doesn't look so counts by `without`."""

    pattern: re.Pattern[str]
    without: float

    @property
    def strict(self) -> bool:
        return self.without <= _STRICT

    def shows(self, text: str) -> bool:
        return bool(self.pattern.search(text))


@dataclass(frozen=True)
class Question:
    """`words` are the terms asked for, in order. `light` of them say how it asks rather than about what; `names` are
    names and identifiers, without which nothing is an answer; `joined` are those that "and" puts beside others."""

    words: tuple[str, ...]
    light: frozenset[str]
    names: frozenset[str]
    joined: frozenset[str]
    look: Look | None
    inflected: bool


def understood(text: str) -> Question:
    """What a question asks for."""
    words = asked(text)
    tongue = tongue_of(text)
    look, about = next(((Look(like, no), m[0]) for ask, like, no in LOOKS if (m := ask.search(text))), (None, ""))
    light = _light() & set(words)
    if look is not None and look.without <= _TELLING:
        light |= set(terms(about)) & set(words)
    if light == set(words):
        light = frozenset()
    joined = {t for match in _JOINED.finditer(text) for word in match.groups() for t in terms(word)}
    return Question(
        words,
        frozenset(light),
        frozenset(_names(text, tongue)) & frozenset(words) - light,
        frozenset(joined) & frozenset(words),
        look,
        tongue is not None,
    )


def same(term: str) -> tuple[str, ...]:
    """Other terms that ask for the same thing."""
    return _same().get(term, ())


def _names(text: str, tongue: str | None) -> Iterable[str]:
    """The terms of words that name one thing: with a capital inside the sentence (but for German), or with a digit."""
    found = _WORD.findall(text)
    capitals = sum(word[0].isupper() for word in found)
    telling = tongue != "de" and capitals <= _CAPITALS * len(found)
    for k, word in enumerate(found):
        mixed = any(c.isdigit() for c in word) and any(c.isalpha() for c in word)
        if mixed or (telling and k and word[0].isupper() and not DATES.fullmatch(word)):
            yield from terms(word)


@cache
def _light() -> frozenset[str]:
    return frozenset(terms(LIGHT))


@cache
def _same() -> dict[str, tuple[str, ...]]:
    rows: list[list[str]] = []
    for line in SAME.strip("\n").split("\n"):
        if line.startswith("     "):
            rows[-1] += terms(line)
        else:
            rows.append(list(terms(line)))
    found: dict[str, tuple[str, ...]] = {}
    for row in rows:
        for term in row:
            found[term] = tuple(dict.fromkeys((*found.get(term, ()), *(other for other in row if other != term))))
    return found
