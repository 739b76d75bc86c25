"""Where the cache marks of a request go: at most four, as the API allows.

One stands at the end of each of the last three system blocks, one at the end of the conversation. Where there are more
system blocks than three, the first ones go without a mark of their own: a later mark covers them, too. All marks live
five minutes.

A mark finds what an earlier request wrote at most 20 blocks before it, itself the first. When the conversation has
grown by more since the last reply was asked for, a second mark stands where that request had its own, and the first of
the three system blocks goes without. (The API counts calls of tools in a row as one block, and so their results; not
all say so, and a mark too many costs nothing.)
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...subagents.messages import Message, Opaque

MOST = 4
LOOK_BACK = 20
MARK = {"type": "ephemeral"}

Place = tuple[int, int]
"""A block of a message, by both numbers."""


@dataclass(frozen=True)
class Marks:
    """Which blocks carry a mark: system blocks by number, and blocks of messages."""

    system: frozenset[int]
    messages: frozenset[Place]

    @property
    def count(self) -> int:
        return len(self.system) + len(self.messages)


def marks(system: int, messages: Sequence[Message], *, once: bool = False) -> Marks:
    """The marks for so many system blocks and these messages; what has no words, or can't be marked, is passed over.

    With `once` the conversation will not go on.
    """
    if once:
        return Marks(layers(system), frozenset())
    end = _last(messages)
    before = _last(messages[: _asked_before(messages)])
    ends = {place for place in (end, before) if place is not None}
    if end is not None and before is not None and _grown(messages, before, end) < LOOK_BACK:
        ends = {end}
    return Marks(layers(system, MOST - max(1, len(ends))), frozenset(ends))


def layers(system: int, most: int = MOST - 1) -> frozenset[int]:
    """The system blocks that carry a mark: the last ones, at most so many."""
    return frozenset(range(max(0, system - most), system))


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
