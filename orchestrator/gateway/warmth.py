"""Which beginnings of prompts a server's cache holds, and which call fills it: decided here, from times passed in.

What a call writes to a cache can be read once its reply has begun, and not before: of twenty calls that come together
each pays for all of its prompt. So one of them goes first, and fills the cache for whoever begins alike; the others go
when its reply has begun. If it fails, the next one is the first. Nobody waits for a beginning that is too short to be
cached, for one that is kept (as long as its mark lives, from its last use on), nor at a server that keeps none: that
shows in the first reply. And nobody waits for long: a server that says nothing for `UNKNOWN` seconds after the first
call went out, or for `KNOWN` where it is known to cache, holds up no other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from ...subagents.model import Life, ModelRequest, ToolSpec, Usage
from .least import SHORTEST
from .request import sent

LIVES: Mapping[Life, float] = {"5m": 290.0, "1h": 3_590.0}
"""Seconds from its last use on for which a beginning counts as kept: the API says 300, and 3,600."""

UNKNOWN, KNOWN = 10.0, 60.0
"""Seconds for which a first call may hold up the others, at a server that may cache nothing and at one that does."""

_MANY = 512  # beginnings, after which those that are no longer kept are forgotten

Beginning = tuple[object, ...]
"""What prompts have in common up to a mark: the model, the tools, and the blocks of the system prompt until there."""


@dataclass
class Turn:
    """A call that may go: what it fills the cache with first of all, and when it went out (None: not yet).

    `marked` are about the tokens up to its last mark, None for all of them: a reply without counters says that so many
    are not cached. `life` is how long what it writes is kept.
    """

    beginnings: tuple[Beginning, ...] = ()
    fills: tuple[Beginning, ...] = ()
    out_at: float | None = None
    marked: int | None = None
    life: float = LIVES["5m"]


@dataclass
class _Kept:
    """A beginning that the cache holds until then; each use renews the life that it was written with."""

    until: float
    life: float


class Warmth:
    """What is known of one server's cache. Times are seconds of one clock that never goes back."""

    def __init__(self) -> None:
        self._kept: dict[Beginning, _Kept] = {}
        self._filling: dict[Beginning, Turn] = {}
        self._uncached = SHORTEST - 1
        self._caches = False

    def beginnings(self, request: ModelRequest, model: str, now: float) -> tuple[Beginning, ...]:
        """The beginnings of a call that others may share, shortest first; without those that are too short to keep.

        A beginning ends where a mark stands: an entry lies nowhere else.
        """
        texts, _, placed = sent(request)
        tools = tuple((tool.name, tool.description) for tool in request.tools)
        found = []
        for end in sorted(placed.system):
            beginning = (model, tools, texts[: end + 1])
            if self._warm(beginning, now) or _tokens(request.tools, texts[: end + 1]) > self._uncached:
                found.append(beginning)
        return tuple(found)

    def wait(self, beginnings: Sequence[Beginning], now: float) -> float:
        """Seconds for which a call has to wait at the most, as far as is known; 0: it may go."""
        return max((self._wait(turn, now) for turn in self._others(beginnings, now)), default=0.0)

    def take(self, request: ModelRequest, model: str, now: float) -> Turn:
        """Lets a call go; it fills the cache with whatever nobody else does."""
        if len(self._kept) > _MANY:
            self._kept = {beginning: kept for beginning, kept in self._kept.items() if kept.until > now}
        beginnings = self.beginnings(request, model, now)
        fills = tuple(b for b in beginnings if not self._warm(b, now) and b not in self._filling)
        life = LIVES[sent(request)[2].prefix]
        turn = Turn(beginnings, fills, marked=None if request.tool_choice is None else _marked(request), life=life)
        self._filling.update(dict.fromkeys(fills, turn))
        return turn

    def went_out(self, turn: Turn, now: float) -> None:
        """The call is on its way to the server."""
        turn.out_at = now

    def began(self, turn: Turn, usage: Usage, now: float) -> None:
        """The reply begins; `usage` is what the server has counted until now."""
        if usage.cache_write:
            self._caches = True
            self._uncached = min(self._uncached, usage.prompt_total - 1)
        elif usage.prompt_total and not usage.cache_read:
            self._uncached = max(self._uncached, usage.prompt_total if turn.marked is None else turn.marked)
        # Kept or not: who waited for this one has nothing more to wait for.
        for beginning in turn.beginnings:
            life = self._kept[beginning].life if self._warm(beginning, now) else turn.life
            self._kept[beginning] = _Kept(now + life, life)
        self.over(turn)

    def over(self, turn: Turn) -> None:
        """The call has ended, or nobody wants it any more; if its reply didn't begin, the next one fills the cache."""
        for beginning in turn.fills:
            if self._filling.get(beginning) is turn:
                del self._filling[beginning]
        turn.fills = ()

    def _others(self, beginnings: Sequence[Beginning], now: float) -> Iterator[Turn]:
        """The calls that fill the cache now with what this one begins with."""
        for beginning in beginnings:
            if beginning in self._filling and not self._warm(beginning, now):
                yield self._filling[beginning]

    def _wait(self, turn: Turn, now: float) -> float:
        if turn.out_at is None:
            return inf
        return max(0.0, turn.out_at + (KNOWN if self._caches else UNKNOWN) - now)

    def _warm(self, beginning: Beginning, now: float) -> bool:
        kept = self._kept.get(beginning)
        return kept is not None and kept.until > now


def _marked(request: ModelRequest) -> int:
    """The tokens of a call that is asked once, whose conversation has no mark."""
    return _tokens(request.tools, request.system)


def _tokens(tools: Sequence[ToolSpec], texts: Sequence[str]) -> int:
    """Roughly: four bytes are a token. Whether it is worth to wait needs no better guess."""
    size = sum(len(str(tool.as_dict())) for tool in tools) + sum(len(text.encode(errors="replace")) for text in texts)
    return size // 4
