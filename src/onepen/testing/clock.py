"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime, timedelta


class FixedClock:
    """Says the time it was given; `step` is added after each look, so that times can differ."""

    def __init__(self, at: datetime | str, *, step: timedelta = timedelta(0)) -> None:
        moment = datetime.fromisoformat(at) if isinstance(at, str) else at
        if moment.tzinfo is None:
            raise ValueError("a clock needs an aware time, with its offset")
        self._now = moment
        self._step = step

    def now(self) -> datetime:
        now = self._now
        self.move(self._step)
        return now

    def move(self, by: timedelta) -> None:
        """Moves the clock, forwards or backwards, by so much real time: an hour may come twice on its face."""
        self._now = (self._now.astimezone(UTC) + by).astimezone(self._now.tzinfo)
