"""A cache of prompts, as the API documents it: which part of a request is read, which is written, and when.

An entry is written at each mark and only there, and it can be read from the moment on at which the reply that wrote it
begins: requests that come together read nothing of each other. A mark reads the longest entry that lies at one of 20
steps from itself backwards. An entry lives five minutes or an hour from its last use on. What comes after the last mark
is neither read nor written, and so is a prefix that is too short for the model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .models import LEAST, LEAST_OF
from .prompt import Position, positions

LOOK_BACK = 20
LIVES = {"5m": 300.0, "1h": 3600.0}

Least = bool | int | Mapping[str, int]
"""Tokens that a prefix needs: of all models, or of each by its id; True (and an id that is missing): those known."""


@dataclass(frozen=True)
class Taken:
    """What a request takes from a cache and gives to it, in tokens; together they are the whole prompt.

    `plain` is neither read nor written. `entries` are what can be read once the reply has begun: hash and time to live.
    """

    plain: int
    written: int
    written_1h: int
    read: int
    entries: tuple[tuple[str, str], ...] = ()


@dataclass
class Cache:
    """What is cached, by its hash: when it ends, by the clock of those who ask, and its time to live."""

    least: Least = True
    entries: dict[str, tuple[float, str]] = field(default_factory=dict)

    def ask(self, body: Mapping[str, Any], now: float) -> Taken:
        """What a request that comes now takes; what it reads lives on from now."""
        places = positions(body)
        enough = self._least(str(body.get("model")))
        marked = [k for k, place in enumerate(places) if place.ttl and place.tokens >= enough]
        hit = max((found for k in marked for found in self._hits(places, k, now)), default=-1)
        for k in {*marked, hit}:
            if 0 <= k <= hit and self._lives(places[k].sha, now):  # an entry is used with every longer one, too
                self._use(places[k].sha, now)
        read = places[hit].tokens if hit >= 0 else 0
        last = max((places[k].tokens for k in marked), default=0)
        hour = max((places[k].tokens for k in marked if places[k].ttl == "1h"), default=0)
        written, written_1h = max(0, last - read), max(0, hour - read)
        entries = tuple((places[k].sha, places[k].ttl or "5m") for k in marked)
        return Taken(places[-1].tokens - max(last, read), written, written_1h, read, entries)

    def begin(self, taken: Taken, now: float) -> None:
        """The reply to that request begins: what it writes can be read."""
        for sha, ttl in taken.entries:
            if self._lives(sha, now):
                self._use(sha, now)
            else:
                self.entries[sha] = (now + LIVES[ttl], ttl)

    def _least(self, model: str) -> int:
        known = next((tokens for name, tokens in LEAST_OF.items() if name in model), LEAST)
        if isinstance(self.least, Mapping):
            return self.least.get(model, known)
        return known if self.least is True else self.least

    def _hits(self, places: Sequence[Position], mark: int, now: float) -> Iterator[int]:
        """The longest entry that the mark finds, if there is one."""
        for k in range(mark, -1, -1):
            if places[mark].step - places[k].step >= LOOK_BACK:
                return
            if self._lives(places[k].sha, now):
                yield k
                return

    def _lives(self, sha: str, now: float) -> bool:
        return sha in self.entries and self.entries[sha][0] > now

    def _use(self, sha: str, now: float) -> None:
        _, ttl = self.entries[sha]
        self.entries[sha] = (now + LIVES[ttl], ttl)
