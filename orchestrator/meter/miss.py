"""What of a prompt missed the cache, and why: decided from two requests as they were sent, and the server's counts.

What a request read and what it wrote are together all that the cache held of its prompt. The next request has to read
as much; what it read less, it missed. The first layer that was not read in full is the one that missed, and the two
requests tell why: they differ, or time has passed, or neither, and then only the server knows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...subagents.model import LIFE_SECONDS, Caching, Life, Miss, Usage
from .measured import LAYERS, Cause, Layer, Missed
from .rates import READ, WRITE, WRITE_1H, usd_of

TOOLS = "tools"

_SLACK = 32  # tokens: servers count a boundary one way when they write and another way when they read
_SLACK_PART = 50
_SAID: Mapping[str, Cause] = {
    "model_changed": "model changed",
    "tools_changed": "tools changed",
    "system_changed": "changed",
    "messages_changed": "changed",
}


@dataclass(frozen=True)
class Sent:
    """A request as it was sent, and what its reply used.

    `parts` is the prompt in its order, each part with its layer's name before it (the tools have "tools"); two parts
    are the same if they are equal. `layers` are tokens of each layer, scaled to the server's count. `at` is when it was
    sent, in seconds of any clock; None: unknown.
    """

    model: str
    parts: tuple[tuple[str, object], ...]
    layers: Mapping[str, int]
    usage: Usage
    cost_usd: float | None = None
    at: float | None = None
    caching: Caching = field(default_factory=lambda: Caching(()))

    @property
    def cached(self) -> int:
        """The tokens of this prompt that are in the cache afterwards."""
        return self.usage.cache_read + self.usage.cache_write


def missed(
    before: Sent | None, now: Sent, *, least: int | None = None, said: Miss | None = None, renewed: bool = False
) -> Missed | None:
    """What `now` missed of what `before`, the request before it in its conversation, had left in the cache.

    `least` is the least length of a prefix that the model caches, None: unknown; `said` is the server's own word.
    `renewed`: index, synthesis and conversation were begun anew between the two.
    """
    used = now.usage
    if not used.prompt_total:
        return None
    if not now.cached and least is not None and used.prompt_total < least:
        return Missed(_first(now), "too short")
    if before is None:
        return None
    if not now.cached and not before.cached:
        return Missed(_first(now), "no counters")
    lost = before.cached - used.cache_read
    if lost <= max(_SLACK, before.cached // _SLACK_PART):
        return None
    found = _why(before, now, said, renewed=renewed)
    anew = used.input + used.cache_write
    tokens = min(anew, said.tokens if said is not None and said.tokens else lost)
    return replace(found, tokens=tokens, usd=_usd(tokens, now), said=said.reason if said is not None else "")


def too_short(layers: Mapping[str, int], marked: Sequence[str], least: int) -> tuple[str, ...]:
    """The layers whose mark ends a prefix with fewer tokens than the model caches; `least` 0: nobody knows."""
    end, found = 0, []
    for layer in LAYERS[:4]:
        end += layers.get(layer, 0)
        if layer in marked and end < least:
            found.append(layer)
    return tuple(found)


def _why(before: Sent, now: Sent, said: Miss | None, *, renewed: bool) -> Missed:
    """The layer and the cause; the amounts come later."""
    after = None if before.at is None or now.at is None else max(0, round(now.at - before.at))
    unread = _layer_at(now, now.usage.cache_read)
    other = _differs(before, now)
    if renewed:
        return Missed(_named(other) or unread, "renewed", after=after)
    if before.model != now.model:
        return Missed(_first(now), "model changed", after=after)
    if other == TOOLS:
        return Missed("B", "tools changed", after=after)
    # What stands before the change was read again, unless it was too late for that, too.
    early = other is None or LAYERS.index(unread) < LAYERS.index(_conversation(other))
    if early and after is not None and after >= LIFE_SECONDS[_life(before.caching, unread)]:
        return Missed(unread, "expired", after=after)
    if other is not None:
        return Missed(_named(other) or unread, "changed", after=after)
    cause = None if said is None else _SAID.get(said.reason)
    return Missed(unread, cause or "gone", after=after)


def _differs(before: Sent, now: Sent) -> str | None:
    """The layer of the first part that is not what it was; None where everything goes on as it began."""
    for k, (name, part) in enumerate(before.parts):
        if k >= len(now.parts) or now.parts[k] != (name, part):
            return name
    return None


def _layer_at(sent: Sent, tokens: int) -> Layer:
    """The layer in which the prompt's first so many tokens end, a little slack allowed."""
    end = 0
    for layer in LAYERS[:4]:
        end += sent.layers.get(layer, 0)
        if tokens + max(_SLACK, end // _SLACK_PART) < end:
            return layer
    return "C"


def _first(sent: Sent) -> Layer:
    return next((layer for layer in LAYERS if sent.layers.get(layer)), "B")


def _named(part: str | None) -> Layer | None:
    return None if part is None else next((layer for layer in LAYERS if layer == part), None)


def _conversation(part: str) -> Layer:
    """The layer of a part; what tools showed lies in the conversation, among its words."""
    named = _named(part)
    return "C" if named is None or named == "E" else named


def _life(caching: Caching, layer: Layer) -> Life:
    return caching.tail if layer in {"C", "E"} else caching.prefix


def _usd(tokens: int, now: Sent) -> float | None:
    """What it cost to send tokens anew beyond reading them; of what was written as many are taken as there are."""
    used, hour = now.usage, 0.0
    if used.cache_write:
        hour = min(used.cache_write_1h, used.cache_write) / used.cache_write
    written = min(tokens, used.cache_write)
    anew = written * (WRITE_1H * hour + WRITE * (1 - hour)) + (tokens - written)
    return usd_of(anew - tokens * READ, used, now.cost_usd)
