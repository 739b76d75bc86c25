"""What ended a conversation with a worker, and the ending that it makes with how its process ended."""

from dataclasses import dataclass, replace
from signal import Signals

from ..memory.ids import shown
from .ending import Ending, Failed, Reported, Stopped, TimedOut

GRACE = 2.0
"""Seconds that a worker has to end by itself after its report, a refusal or `cancel`."""


@dataclass(frozen=True)
class Unreported:
    """The worker won't say more, and has not reported."""


@dataclass(frozen=True)
class Refused:
    """The worker was told that its attempt is over."""

    reason: str


@dataclass(frozen=True)
class Flood:
    """The worker printed or left more than is borne."""

    reason: str


Outcome = Reported | TimedOut | Stopped | Unreported | Refused | Flood


@dataclass(frozen=True)
class Remains:
    """What is known of a worker that has ended.

    `status` is its exit status, negative for a signal; `not_started` why its process never became a worker, `misread`
    why a message of it was not understood, `last_line` what it said last on stderr.
    """

    status: int
    not_started: str | None = None
    misread: str | None = None
    last_line: str = ""


def ending_of(outcome: Outcome, remains: Remains, seconds: float) -> Ending:
    """How the attempt ended after so many seconds."""
    if isinstance(outcome, Reported | TimedOut | Stopped):
        return replace(outcome, seconds=seconds)
    exit_code = remains.status if remains.status >= 0 else None
    signal = Signals(-remains.status).name if remains.status < 0 else None
    if not isinstance(outcome, Unreported):
        return Failed(outcome.reason, exit_code, signal, seconds)
    if remains.not_started is not None:
        return Failed(f"the worker could not be started: {remains.not_started}", None, None, seconds)
    how = f"ended by {signal}" if signal else f"exited with {exit_code}"
    reason = f"the worker {how} without a report"
    if remains.misread is not None:
        reason += f"; a message of it was not understood: {remains.misread}"
    if remains.last_line:
        reason += f"; its last words: {shown(remains.last_line, 200)}"
    return Failed(reason, exit_code, signal, seconds)


def why_ended(outcome: Outcome) -> str:
    """Why a worker that was still running was ended, for its log."""
    if isinstance(outcome, Reported):
        return f"it had reported {GRACE:g} s before"
    if isinstance(outcome, TimedOut):
        return "its time was up" if outcome.kind == "time" else "it was silent for too long"
    if isinstance(outcome, Stopped):
        return "the attempt was stopped"
    return "it had closed its stdout" if isinstance(outcome, Unreported) else outcome.reason
