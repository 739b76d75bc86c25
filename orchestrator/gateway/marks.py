"""Where the cache marks of a request go: at most four, as the API allows.

One stands at the end of each of the last three system blocks, one at the end of the conversation. Where there are more
system blocks than three, the first ones go without a mark of their own: a later mark covers them, too. All marks live
five minutes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...subagents.messages import Message, Opaque

MOST = 4
MARK = {"type": "ephemeral"}


@dataclass(frozen=True)
class Marks:
    """Which blocks carry a mark: system blocks by number, and one block of one message by both numbers."""

    system: frozenset[int]
    message: tuple[int, int] | None

    @property
    def count(self) -> int:
        return len(self.system) + (self.message is not None)


def marks(system: int, messages: Sequence[Message]) -> Marks:
    """The marks for so many system blocks and these messages; what has no words, or can't be marked, is passed over."""
    return Marks(frozenset(range(max(0, system - (MOST - 1)), system)), _last(messages))


def _last(messages: Sequence[Message]) -> tuple[int, int] | None:
    for m in range(len(messages) - 1, -1, -1):
        for b in range(len(messages[m].content) - 1, -1, -1):
            if not isinstance(messages[m].content[b], Opaque):
                return m, b
    return None
