"""What the input of calls costs, against the least that any use of the cache could make of it; in plain input tokens.

A token that is written to the cache costs 1.25, one that is written for an hour 2, one that is read 0.1 (Anthropic's
prices).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from .prompt import positions

WRITE, WRITE_1H, READ = 1.25, 2.0, 0.1


def paid(plain: int, written: int, read: int, written_1h: int = 0) -> float:
    """What a call's input costs, by what the server counted; `written_1h` are those of `written` kept for an hour."""
    return plain + WRITE * (written - written_1h) + WRITE_1H * written_1h + READ * read


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
