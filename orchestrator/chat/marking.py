"""How a chat wishes to be cached: which layers end with a mark, and how long the marks live. Pure: times are passed in.

An entry of the cache stands only where a mark stood, and a request has four. One is the conversation's; three are left
for the layers before it. Which of them, is a question of who reads what is written there:

    one space talks      A, I, S    a renewal, or a new chat after an edit, finds A, and where the index is as it was, I
    several spaces       B, A, S    B is the same for all of them: the next client finds the tools and rules

How long the marks live is a question of the pace: what lives five minutes is written for 1.25 of a plain token, what
lives an hour for 2, and reading costs 0.1 and begins the life anew. So the calls of the last exchanges are looked at:
how many came after more than five minutes, or more than an hour, how much stood before the conversation and in it, and
how much each added. The lives are those that would have been the cheapest for them. A chat that begins has no pace of
its own: its layers take that of the spaces, which share them, and its conversation the short life.
docs/explanation/cache.md has the figures.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from ...subagents.model import LIFE_SECONDS, Caching, Life
from ..meter.rates import READ, WRITE, WRITE_1H
from .lines import Asked, Line, Replied

EXCHANGES = 20
"""The last exchanges, whose pace counts."""
RENEWED_AFTER = 30
"""Exchanges after which the layers behind the persona are written anew in any case (about: a setting says it)."""

_ORDER = ("B", "A", "I", "S")
_ONE, _SEVERAL = (1, 2, 3), (0, 1, 3)
_PRICE = {"5m": WRITE, "1h": WRITE_1H}
_LIVES: tuple[tuple[Life, Life], ...] = (("5m", "5m"), ("1h", "5m"), ("1h", "1h"))
"""Of prefix and tail; the API takes no hour after five minutes."""


@dataclass(frozen=True)
class Pace:
    """What the calls of the last exchanges were like.

    `gaps` are the seconds from each call to the next. Tokens: `before` stand before the conversation, `conversation` in
    it, and a call adds about `growth`. `exchanges` is how many there were, `spaces` how many spaces talked lately, this
    one among them, and `pause` the seconds since any of them did (0: nobody knows).
    """

    gaps: tuple[float, ...] = ()
    before: int = 5_000
    conversation: int = 0
    growth: int = 400
    exchanges: int = 0
    spaces: int = 1
    pause: float = 0.0


FIRST = Pace()
"""That of a chat which has just begun."""


def caching(parts: Sequence[str], pace: Pace = FIRST) -> Caching:
    """The marks of a chat whose system blocks are these layers ("B", "A", "I", "S"); () where they have no names.

    Where a layer has no block, the one before it stands for it.
    """
    prefix, tail = lives(pace)
    return Caching(ends(parts, pace.spaces), prefix, tail)


def ends(parts: Sequence[str], spaces: int = 1) -> tuple[int, ...]:
    """The blocks that end with a mark, by number."""
    if not parts:
        return (0, 1, 2)  # a chat of before: B and A, I, S
    until = {part: k for k, part in enumerate(parts)}
    found: set[int] = set()
    for last in _SEVERAL if spaces > 1 else _ONE:
        found.update({max((until[part] for part in _ORDER[: last + 1] if part in until), default=-1)} - {-1})
    return tuple(sorted(found))


def lives(pace: Pace) -> tuple[Life, Life]:
    """The lives of the marks before the conversation, and of those in it, that are the cheapest for a pace."""
    if not pace.gaps:
        # Each space's turn comes again when all others had theirs.
        slow = LIFE_SECONDS["5m"] <= pace.pause * pace.spaces < LIFE_SECONDS["1h"]
        return ("1h" if slow else "5m"), "5m"
    return min(_LIVES, key=lambda pair: cost(pace, *pair))


def cost(pace: Pace, prefix: Life, tail: Life) -> float:
    """What the input of a call costs on average in plain tokens, if the pace stays as it is."""
    calls = len(pace.gaps) / max(1, pace.exchanges) * RENEWED_AFTER
    renewal = 1 / calls if calls > 1 else 0.0
    return (
        _kept(pace, prefix, renewal) * pace.before
        + _kept(pace, tail, 0.0) * pace.conversation  # at a renewal it is dropped, all but a little
        + _PRICE[tail] * pace.growth
    )


def _kept(pace: Pace, life: Life, renewal: float) -> float:
    """What a token costs that was there in the call before: it is read or, after a pause or a renewal, written anew."""
    lost = sum(1 for gap in pace.gaps if gap >= LIFE_SECONDS[life]) / max(1, len(pace.gaps))
    anew = 1 - (1 - lost) * (1 - renewal)
    return anew * _PRICE[life] + (1 - anew) * READ


def pace_of(lines: Iterable[Line], before: int, now: datetime, spaces: int = 1, pause: float = 0.0) -> Pace:
    """The pace of a chat with these lines, which asks its model now; `before` are the tokens before the conversation.

    A reply is taken for the moment of its call, since the call before it was made in the same turn, or long ago.
    """
    every = [line for line in lines if isinstance(line, Asked) or (isinstance(line, Replied) and _moment(line))]
    asked = [k for k, line in enumerate(every) if isinstance(line, Asked)]
    lately = every[asked[-EXCHANGES - 1] :] if len(asked) > EXCHANGES else every
    replies = [line for line in lately if isinstance(line, Replied)]
    if not replies:
        return Pace(before=before, spaces=max(1, spaces), pause=pause)
    moments = [moment for line in replies if (moment := _moment(line))]
    prompts = [line.usage.prompt_total for line in replies]
    grown = [after - earlier for earlier, after in pairwise(prompts) if after > earlier]
    return Pace(
        gaps=tuple(max(0.0, (after - earlier).total_seconds()) for earlier, after in pairwise([*moments, now])),
        before=before,
        conversation=max(0, prompts[-1] - before),
        growth=round(sum(grown) / len(grown)) if grown else FIRST.growth,
        exchanges=sum(1 for line in lately if isinstance(line, Asked)),
        spaces=max(1, spaces),
        pause=pause,
    )


def _moment(line: Replied) -> datetime | None:
    """When the reply was whole; None where its line was changed by hand and doesn't say it with its zone."""
    try:
        moment = datetime.fromisoformat(line.at)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
