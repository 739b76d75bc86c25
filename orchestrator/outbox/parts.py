"""How requests are shared out among Message Batches: pure, by number and by size as they are sent."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..gateway.messagebatches import AROUND


@dataclass(frozen=True)
class Limits:
    """What one Message Batch may hold: so many requests, and a body of so many bytes."""

    requests: int = 100_000
    bytes: int = 256 << 20

    def fits(self, size: int) -> bool:
        """Whether a request of that size can be sent at all: in a batch of its own."""
        return size + AROUND <= self.bytes


def parts(sizes: Sequence[int], limits: Limits) -> tuple[range, ...]:
    """Which requests go together, by their places in `sizes`: in their order, each part as full as it may be.

    Each of them has to fit by itself.
    """
    found: list[range] = []
    begin, size = 0, AROUND
    for k, one in enumerate(sizes):
        more = size + one + (k > begin)  # and a comma
        if k > begin and (k - begin >= limits.requests or more > limits.bytes):
            found.append(range(begin, k))
            begin, more = k, AROUND + one
        size = more
    return (*found, range(begin, len(sizes))) if sizes else ()


def halves(part: range) -> tuple[range, range]:
    """The two halves of a part that was too large; it has at least two requests."""
    middle = part.start + (len(part) + 1) // 2
    return range(part.start, middle), range(middle, part.stop)
