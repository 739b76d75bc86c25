"""A line of the usage log with where and when it was written."""

from dataclasses import dataclass

from ..usage import Booking


@dataclass(frozen=True)
class Entry:
    """`client` is the space's, None for the house; `time` stands as the line has it."""

    client: str | None
    booking: Booking
    time: str

    @property
    def day(self) -> str:
        return self.time[:10]
