"""The fixed phrases of a draft that only quotes: they frame it and state nothing about the world."""

import re

FOUND = "What I found"
"""Heading over the quotes."""
QUESTION = "Question"
"""Heading over the task's own text."""
SOURCES = "Sources"
"""Heading over the list of what was read."""
GAPS = "Not found"
"""Heading over what was not found."""
QUOTED_ONLY = "Each line below is quoted as it stands at the place named behind it."
NOT_FOUND = "Not found in what I read:"
"""Before a list of the task's own words that stand nowhere."""
NOTHING_FOUND = "Nothing in what I read answers this."
"""When no passage answers."""
NEAREST = "Nearest, but no answer:"
"""Before passages that share a telling word with the question and don't answer it."""

_ALL = (FOUND, QUESTION, SOURCES, GAPS, QUOTED_ONLY, NOT_FOUND, NOTHING_FOUND, NEAREST)
FIXED_PHRASES: tuple[re.Pattern[str], ...] = (
    *map(re.compile, map(re.escape, _ALL)),
    re.compile(r"Read [0-9]{1,6} files?, [0-9]{1,9} lines?\."),
    re.compile(r"[0-9]{1,6} more files? (?:was|were) not read: the turns ran out\."),
)
"""What may stand as a line or heading of its own; each must match the whole text."""


def is_fixed(text: str) -> bool:
    """Whether text is one of the fixed phrases."""
    return any(phrase.fullmatch(text) for phrase in FIXED_PHRASES)
