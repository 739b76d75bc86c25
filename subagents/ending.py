"""How an attempt ended; each ending says how many seconds it took."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reported:
    """The worker called `report`: what it says, which is a claim; the staging folder is what counts."""

    summary: str
    answer: str | None
    complete: bool
    seconds: float


@dataclass(frozen=True)
class Failed:
    """The worker ended without a report, or was ended for what it did; `signal` is a name such as "SIGSEGV"."""

    reason: str
    exit_code: int | None
    signal: str | None
    seconds: float


@dataclass(frozen=True)
class TimedOut:
    """The worker was ended at its limit: of time in all, or of silence."""

    kind: Literal["time", "silence"]
    seconds: float


@dataclass(frozen=True)
class Stopped:
    """The worker was ended because somebody asked for it."""

    seconds: float


Ending = Reported | Failed | TimedOut | Stopped
