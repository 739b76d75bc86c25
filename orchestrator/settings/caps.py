"""What work may cost in a workspace: the workspace's limits, bound by what the person allows.

A workspace can only tighten. What it says counts up to the person's own caps; where the person set none, up to
onepen's cautious ones. `--budget` tightens one task, and is the person's word as good as the config's.
"""

import math
from dataclasses import dataclass, fields

from ...memory.settings import LimitSettings
from ..gateway.account import Caps

NAMES = tuple(field.name for field in fields(Caps))
"""The caps, in the order in which people are told of them."""

_NONE = Caps()
_CONFIG = "your config"
_WORKSPACE = "onepen.toml"
_WISHED = "[wishes] in onepen.toml, as you allowed it"


@dataclass(frozen=True)
class Cap:
    """One cap as it counts, and where it is set: what has to be changed to have more."""

    name: str
    value: float
    source: str


def caps_in_force(limits: LimitSettings, own: Caps, *, raised: Caps = _NONE, budget_usd: float | None = None) -> Caps:
    """The caps that count: `own` are the person's, `raised` what they allowed this workspace beyond the usual."""
    values = {cap.name: cap.value for cap in explained(limits, own, raised=raised, budget_usd=budget_usd)}
    return Caps(
        task_usd=values["task_usd"],
        day_usd=values["day_usd"],
        client_day_usd=values["client_day_usd"],
        task_tokens=int(values["task_tokens"]),
        day_tokens=int(values["day_tokens"]),
    )


def ceiling(limits: LimitSettings, own: Caps, *, raised: Caps = _NONE) -> float:
    """How much --budget can give a task at the most."""
    return caps_in_force(limits, own, raised=raised, budget_usd=math.inf).task_usd or 0.0


def explained(
    limits: LimitSettings, own: Caps, *, raised: Caps = _NONE, budget_usd: float | None = None
) -> tuple[Cap, ...]:
    """Each cap with where it comes from."""
    cautious = LimitSettings()
    return tuple(_cap(name, limits, own, raised, cautious, budget_usd) for name in NAMES)


def _cap(
    name: str, limits: LimitSettings, own: Caps, raised: Caps, cautious: LimitSettings, budget_usd: float | None
) -> Cap:
    allowed: float | None = getattr(raised, name)
    bounds = [Cap(name, getattr(limits, name), _WORKSPACE) if allowed is None else Cap(name, allowed, _WISHED)]
    word = budget_usd if name == "task_usd" else None
    mine: float | None = getattr(own, name)
    if mine is not None:
        bounds.insert(0, Cap(name, mine, _CONFIG))
    elif allowed is None and word is None:
        usual = getattr(cautious, name)
        bounds.append(Cap(name, usual, f"onepen's caution: for more, write {name} under [budget] in your config"))
    if word is not None:
        bounds.insert(0, Cap(name, word, "--budget"))
    return min(bounds, key=lambda cap: cap.value)  # of equal ones the first: what the person would look at first
