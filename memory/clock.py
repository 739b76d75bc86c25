"""The time, passed in: `Clock` is the seam, `SystemClock` the real one."""

from datetime import UTC, datetime, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo


class Clock(Protocol):
    """Says what time it is in the workspace's zone, as an aware datetime."""

    def now(self) -> datetime: ...


class SystemClock:
    """The machine's clock, told in `zone` (an IANA name) or, with None, in the system's own zone."""

    def __init__(self, zone: str | None = None) -> None:
        self._zone: tzinfo | None = ZoneInfo(zone) if zone else None

    def now(self) -> datetime:
        return datetime.now(UTC).astimezone(self._zone)
