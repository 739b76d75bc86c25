"""What is told of a response beside its four counters: where its prompt came from, what it called, what missed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Layer = Literal["B", "A", "I", "S", "C", "E"]
"""A part of a prompt: rules and tools, persona, index, synthesis, conversation, and what tools showed of memory."""

LAYERS: tuple[Layer, ...] = get_args(Layer)

Cause = Literal[
    "changed", "expired", "too short", "model changed", "tools changed", "no counters", "gone", "renewed"
]  # fmt: skip
"""Why less was read from the cache than had been put there.

"changed": the layer's own text; "expired": the marks lived shorter than the pause; "too short": below what the model
caches; "no counters": the server tells of no cache; "gone": the server no longer had it, and nobody knows why.
"renewed" is no miss: index, synthesis and conversation were begun anew.
"""

_CAUSES = frozenset(get_args(Cause))
UNCACHED = frozenset({"too short", "no counters"})
"""The causes by which nothing was put into the cache, or nobody can say so."""


@dataclass(frozen=True)
class Missed:
    """What a response read anew that had been in the cache, from `layer` on.

    `usd` is what that cost beyond reading it from the cache, None where no price is known. `after` are the seconds
    since the request before, None where nobody knows them; `said` is the server's own word, "" for none.
    """

    layer: Layer
    cause: Cause
    tokens: int = 0
    usd: float | None = None
    after: int | None = None
    said: str = ""

    def as_json(self) -> dict[str, object]:
        return {
            "layer": self.layer,
            "cause": self.cause,
            "tokens": self.tokens,
            "usd": None if self.usd is None else round(self.usd, 6),
            **({} if self.after is None else {"after": self.after}),
            **({"said": self.said} if self.said else {}),
        }


@dataclass(frozen=True)
class Measured:
    """One response as the meter sees it.

    `layers` are tokens of its prompt, estimated and scaled to the server's count; {} where nobody measured. `tools` are
    those that it called, in order. `whole` are cards that it had shown as a whole though they have sections, with the
    tokens of each. `short` are layers whose mark ends a prefix that is too short to be cached.
    """

    layers: Mapping[str, int] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    missed: Missed | None = None
    whole: Mapping[str, int] = field(default_factory=dict)
    short: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """What there is to tell."""
        told = {
            "layers": dict(self.layers),
            "tools": list(self.tools),
            "missed": None if self.missed is None else self.missed.as_json(),
            "whole": dict(self.whole),
            "short": list(self.short),
        }
        return {name: value for name, value in told.items() if value}


def measured_in(line: Mapping[str, object]) -> Measured:
    """What a line of the usage log tells; what can't be read is as if it weren't there."""
    return Measured(
        layers={name: n for name, n in _counts(line.get("layers")).items() if name in LAYERS},
        tools=_words(line.get("tools")),
        missed=_missed(line.get("missed")),
        whole=_counts(line.get("whole")),
        short=tuple(name for name in _words(line.get("short")) if name in LAYERS),
    )


def _counts(value: object) -> dict[str, int]:
    given: dict[object, object] = value if isinstance(value, dict) else {}
    return {str(name): n for name, n in given.items() if isinstance(n, int) and not isinstance(n, bool) and n > 0}


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()


def _missed(value: object) -> Missed | None:
    match value:
        case {"layer": str(layer), "cause": str(cause), "tokens": int(tokens), **more} if (
            layer in LAYERS and cause in _CAUSES
        ):
            usd, after = more.get("usd"), more.get("after")
            return Missed(
                layer,
                cause,  # type: ignore[arg-type]
                max(0, tokens),
                float(usd) if isinstance(usd, int | float) and usd >= 0 else None,
                after if isinstance(after, int) else None,
                str(more.get("said", "")),
            )
    return None
