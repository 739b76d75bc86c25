"""Counts the points of a fault test, and fails when there were fewer than promised or one of them did harm.

A test that silently tries nothing passes; so each says how many points it means to try. What all of them did is printed
at the end of the run.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

PROPERTY = "faults"
_T = TypeVar("_T")
_SHOWN = 5


class Tally:
    """The points of one kind in one test; leave the context at the end of it."""

    def __init__(self, kind: str, least: int, record: Callable[[str, object], None] | None = None) -> None:
        self._kind = kind
        self._least = least
        self._record = record
        self.ran = 0
        self.harmed: list[str] = []

    @contextmanager
    def point(self, what: object) -> Iterator[None]:
        """One point; an assertion that fails in it is noted, and the next one is tried."""
        self.ran += 1
        try:
            yield
        except AssertionError as e:
            self.harmed.append(f"{what}\n    {str(e)[:1500]}")

    def not_reached(self) -> None:
        """The point just tried was never come to, so it counts for nothing: two runs need not make the same calls."""
        self.ran -= 1

    def __enter__(self) -> "Tally":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._record is not None:
            told = {"kind": self._kind, "ran": self.ran, "least": self._least, "harmed": len(self.harmed)}
            self._record(PROPERTY, json.dumps(told))
        if kind is None:
            assert not self.harmed, f"{len(self.harmed)} of {self.ran} {self._kind} did harm:\n" + "\n".join(
                self.harmed[:_SHOWN]
            )
            assert self.ran >= self._least, f"{self.ran} {self._kind} were tried, {self._least} are promised"


def spread(points: Sequence[_T], most: int) -> Sequence[_T]:
    """At most so many of the points, at even distances."""
    if len(points) <= most:
        return points
    return [points[k * len(points) // most] for k in range(most)]


def summary(told: Iterable[str]) -> list[str]:
    """One line for each kind of point, from what tests recorded."""
    kinds: dict[str, list[int]] = {}
    for line in told:
        one = json.loads(line)
        sums = kinds.setdefault(one["kind"], [0, 0, 0])
        for k, name in enumerate(("ran", "least", "harmed")):
            sums[k] += one[name]
    return [
        f"{kind}: {ran} tried (at least {least}), {harmed} did harm"
        for kind, (ran, least, harmed) in sorted(kinds.items())
    ]
