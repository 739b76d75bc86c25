"""What was spent on a day before this process began, by the usage logs: where the day's budgets begin."""

from collections.abc import Iterable, Mapping
from datetime import date

from ...memory.ids import ClientId
from ...memory.workspace import Space
from ..usage import Booking, bookings_on
from .account import Amount


def spent(spaces: Iterable[Space], day: date) -> Mapping[ClientId | None, Amount]:
    """For each client what its space has spent on that day; tokens are those without a known price."""
    return {space.client: _of(space, day) for space in spaces}


def _of(space: Space, day: date) -> Amount:
    return _sum(bookings_on(space, day))


def _sum(booked: Iterable[Booking]) -> Amount:
    amount = Amount()
    for booking in booked:
        amount = amount + Amount(booking.cost_usd or 0.0, booking.unpriced)
    return amount
