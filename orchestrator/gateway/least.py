"""From how many tokens on a prompt is cached: by the person's word, by a table, and by what servers' counters taught.

A mark whose prefix is shorter does nothing, and no server says so. The lengths differ by model, and sources by each
other; for models that stand in no source, 1,024 is the most frequent one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...subagents.model import Usage

SHORTEST = 512
"""What no model goes below."""
USUAL = 1_024

LEAST_OF = {
    "opus-5-5": USUAL,
    "opus-5": 512,
    "fable-5": 512,
    "mythos-5": 512,
    "opus-4-7": 2_048,
    "opus-4-6": 4_096,
    "opus-4-5": 4_096,
    "haiku-4-5": 4_096,
    "haiku-3-5": 2_048,
    "haiku-3": 2_048,
}
"""Tokens by what a model's name holds, the first that fits."""


def least_of(model: str, told: Mapping[str, int] | None = None) -> int:
    """The tokens that a prefix of this model's prompts needs; `told` is the person's word, by the model's id."""
    if told and model in told:
        return told[model]
    return next((tokens for name, tokens in LEAST_OF.items() if name in model), USUAL)


@dataclass
class _Bounds:
    most: int | None = None  # so many tokens were cached
    least: int = 0  # so many were not


@dataclass
class Taught:
    """What counters have shown of models at their servers, each by a name for both."""

    _seen: dict[str, _Bounds] = field(default_factory=dict)

    def saw(self, place: str, usage: Usage) -> None:
        """A reply to a request with marks up to its end."""
        bounds = self._seen.setdefault(place, _Bounds())
        cached = usage.cache_read + usage.cache_write
        if cached:
            bounds.most = cached if bounds.most is None else min(bounds.most, cached)
        else:
            bounds.least = max(bounds.least, usage.prompt_total + 1)

    def least(self, place: str, model: str, told: Mapping[str, int] | None = None) -> int:
        """As `least_of`, corrected by what was seen; a server that has cached nothing yet teaches nothing."""
        known, bounds = least_of(model, told), self._seen.get(place, _Bounds())
        if bounds.most is None or (told and model in told):
            return known
        return min(max(known, bounds.least), bounds.most)
