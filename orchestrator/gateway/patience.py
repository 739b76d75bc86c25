"""How long a call waits before it is made again: as long as the server asks for, else longer each time."""

FIRST, GROWTH, LONGEST = 1.0, 3.0, 60.0
"""Seconds before the second try, what each further wait grows by, and the longest wait that is our own choice."""


def pause(tries: int, after: float | None, drawn: float) -> float:
    """Seconds until the next try, after `tries` of them; `drawn` is a random number from 0 to 1.

    What the server asks for is never shortened. Our own wait lies between a third and the whole of 1, 3, 9, 27 and
    60 s: each is longer than the one before, and calls that broke together don't come back together.
    """
    if after is not None:
        return after
    longest = min(FIRST * GROWTH ** (tries - 1), LONGEST)
    return longest / GROWTH + drawn * (longest - longest / GROWTH)
