"""What the input of calls costs, against the least that any use of the cache could make of it; in plain input tokens.

A token that is written to the cache costs 1.25, one that is read 0.1 (Anthropic's prices for five minutes).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .prompt import positions

WRITE, READ = 1.25, 0.1


def paid(plain: int, written: int, read: int) -> float:
    """What a call's input costs, by what the server counted."""
    return plain + WRITE * written + READ * read


def bound(bodies: Iterable[Mapping[str, Any]]) -> float:
    """What these prompts would cost if each distinct token were written once, and read wherever else it stands.

    Tokens are the same where all that comes before them is, too.
    """
    total = 0
    once: dict[str, int] = {}
    for body in bodies:
        before = 0
        for place in positions(body):
            once[place.sha] = place.tokens - before
            before = place.tokens
        total += before
    distinct = sum(once.values())
    return WRITE * distinct + READ * (total - distinct)
