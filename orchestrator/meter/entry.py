"""A line of the usage log with where and when it was written."""

from dataclasses import dataclass
from functools import cached_property

from ..usage import Booking
from .rates import base


@dataclass(frozen=True)
class Entry:
    """`client` is the space's, None for the house; `time` stands as the line has it."""

    client: str | None
    booking: Booking
    time: str

    @property
    def day(self) -> str:
        return self.time[:10]

    @cached_property
    def key(self) -> tuple[object, ...]:
        """The attempt, review or turn that the line belongs to."""
        return (self.client, *self.booking.whole_key)

    @cached_property
    def base(self) -> float:
        """What it cost, in base tokens."""
        return base(self.booking.usage)
