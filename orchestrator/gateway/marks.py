"""Where the cache marks of a request go: at most four, as the API allows, and how long each lives.

One stands at the end of the conversation; three are left for the system prompt. Who asks may say at the end of which
blocks they stand and how long they live (`Caching`); else they stand at the last three, and live five minutes. Blocks
without a mark of their own are covered by a later one.

A mark finds what an earlier request wrote at most 20 blocks before it, itself the first. When the conversation has
grown by more since the last reply was asked for, a second mark stands where that request had its own, and the first of
three in the system prompt is dropped: the second one covers it, too. (The API counts calls of tools in a row as one
block, and so their results; not all say so, and a mark too many costs nothing.)

The API takes no mark of an hour after one of five minutes, so a conversation never lives longer than what it follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...subagents.messages import Message, Opaque
from ...subagents.model import Caching, Life

MOST = 4
LOOK_BACK = 20

Place = tuple[int, int]
"""A block of a message, by both numbers."""


@dataclass(frozen=True)
class Marks:
    """Which blocks carry a mark: system blocks by number, and blocks of messages; and how long these and those live."""

    system: frozenset[int]
    messages: frozenset[Place]
    prefix: Life = "5m"
    tail: Life = "5m"

    @property
    def count(self) -> int:
        return len(self.system) + len(self.messages)


def marks(system: int, messages: Sequence[Message], *, once: bool = False, caching: Caching | None = None) -> Marks:
    """The marks for so many system blocks and these messages; what has no words, or can't be marked, is passed over.

    With `once` the conversation will not go on. Numbers in `caching` for which there is no block are passed over, too.
    """
    wished = range(system) if caching is None else caching.ends
    layers = sorted({end for end in wished if 0 <= end < system})
    prefix: Life = "5m" if caching is None else caching.prefix
    tail: Life = prefix if caching is None or (layers and prefix == "5m") else caching.tail
    if once:
        return Marks(frozenset(layers[1 - MOST :]), frozenset(), prefix, tail)
    end = _last(messages)
    before = _last(messages[: _asked_before(messages)])
    ends = {place for place in (end, before) if place is not None}
    if end is not None and before is not None and _grown(messages, before, end) < LOOK_BACK:
        ends = {end}
    return Marks(frozenset(layers[max(1, len(ends)) - MOST :]), frozenset(ends), prefix, tail)


def _asked_before(messages: Sequence[Message]) -> int:
    """How many messages the request had that the last reply came to."""
    return next((m for m in range(len(messages) - 1, -1, -1) if messages[m].role == "assistant"), 0)


def _grown(messages: Sequence[Message], before: Place, end: Place) -> int:
    """How many blocks further `end` is than `before`."""
    return sum(len(messages[m].content) for m in range(before[0], end[0])) - before[1] + end[1]


def _last(messages: Sequence[Message]) -> Place | None:
    for m in range(len(messages) - 1, -1, -1):
        for b in range(len(messages[m].content) - 1, -1, -1):
            if not isinstance(messages[m].content[b], Opaque):
                return m, b
    return None
