"""What a run of a batch does next: decided from values alone."""

from dataclasses import dataclass
from typing import Literal

Why = Literal["finished", "stopped", "over_budget", "too_many_failures", "cancelled", "sample"]


UNREACHED = 10
"""After how many tasks in a row whose server could not be asked nothing more is started."""


@dataclass(frozen=True)
class Bounds:
    """What a person set for this run."""

    concurrency: int
    max_failures: int | None = None


@dataclass(frozen=True)
class Moment:
    """Where a run stands.

    `left` tasks could be started, `at_work` are being worked on, `parked` wait for a server, `beyond` are those that a
    pilot leaves for later. `failed` counts since the run began, `unreached` the tasks that failed last, in a row, since
    their server could not be asked. `presses` are Ctrl-C, `cancelled` a person's word to end it; `short` says which cap
    that all tasks share was reached, "" for none.
    """

    left: int
    at_work: int
    parked: int = 0
    beyond: int = 0
    failed: int = 0
    unreached: int = 0
    presses: int = 0
    cancelled: bool = False
    short: str = ""


@dataclass(frozen=True)
class Start:
    """Start one more task."""


@dataclass(frozen=True)
class Wait:
    """Wait until a task that is at work is over."""


@dataclass(frozen=True)
class Deliver:
    """Nobody is at work, and some wait for a server: send what they ask, and wait for answers."""


@dataclass(frozen=True)
class End:
    """The run is over."""

    why: Why
    reason: str = ""


def next_step(moment: Moment, bounds: Bounds) -> Start | Wait | Deliver | End:
    """What to do now. Whatever keeps the next task from starting lets those that are at work come to their end."""
    ending = _ending(moment, bounds)
    if ending is not None:
        return Wait() if moment.at_work else ending
    if moment.left:
        return Start() if moment.at_work < bounds.concurrency else Wait()
    if moment.at_work:
        return Wait()
    if moment.parked:
        return Deliver()
    return End("sample" if moment.beyond else "finished")


def _ending(moment: Moment, bounds: Bounds) -> End | None:
    """Why nothing more may start; None as long as something may."""
    if moment.cancelled:
        return End("cancelled")
    if moment.presses:
        return End("stopped")
    if moment.short:
        return End("over_budget", moment.short)
    if bounds.max_failures is not None and moment.failed >= max(1, bounds.max_failures):
        words = f"{moment.failed} tasks failed in this run, and --max-failures is {bounds.max_failures}"
        return End("too_many_failures", words)
    if moment.unreached >= UNREACHED:
        return End("too_many_failures", f"the last {moment.unreached} tasks in a row could not ask their server")
    return None
