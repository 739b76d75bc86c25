"""What was spent on a day before this process began, by the usage logs: where the day's budgets begin."""

from collections.abc import Iterable, Mapping
from datetime import date

from ...memory.ids import ClientId
from ...memory.workspace import Space
from ..usage import costs_on
from .account import Amount


def spent(spaces: Iterable[Space], day: date) -> Mapping[ClientId | None, Amount]:
    """For each client what its space has spent on that day; tokens are those without a known price."""
    return {space.client: _of(space, day) for space in spaces}


def _of(space: Space, day: date) -> Amount:
    usd, tokens = 0.0, 0
    for cost, unpriced in costs_on(space, day):
        usd, tokens = usd + cost, tokens + unpriced
    return Amount(usd, tokens)
