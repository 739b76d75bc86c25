"""Where the state of a task puts it among the tasks of a batch. Pure."""

from typing import Literal, get_args

from ..tasks.taskstate import TaskState
from .answer import FailureClass

Place = Literal["pending", "running", "in_review", "committed", "answered", "refused", "duplicate", "failed"]
PLACES: tuple[Place, ...] = get_args(Place)

DONE: frozenset[Place] = frozenset({"in_review", "committed", "answered", "refused", "duplicate"})
OVER: frozenset[Place] = DONE | {"failed"}

GOES_ON: frozenset[FailureClass] = frozenset({"overload", "timeout", "budget", "cancelled", "bug"})
"""Failures after which the same task goes on, with the replies that it got. Others are the model's, asked anew."""


def place_of(state: TaskState) -> tuple[Place, FailureClass | None]:
    """Where a task stands that nobody is at work on, and the class of its failure.

    What was interrupted, or what a cap that others share has kept from going on, is neither done nor failed: pending.
    """
    words = {draft.status for draft in state.drafts}
    match state.phase:
        case "timed_out":
            return _kept(state, "timeout")
        case "cancelled":
            return _kept(state, "cancelled")
        case "refused":
            return _kept(state, "refused")
        case "over_budget":
            return ("pending", None) if state.stopped_by == "shared" else _kept(state, "budget")
        case "quarantined":
            return _kept(state, "bug")
        case "failed":
            return _kept(state, _class_of(state))
        case "settled" if words and words <= {"duplicate"}:
            return "duplicate", None
        case "settled":
            return _settled(state), None
    return "pending", None


def _kept(state: TaskState, kind: FailureClass) -> tuple[Place, FailureClass | None]:
    """What a task left that didn't come to its end: drafts that were committed count, the others wait for a person."""
    if any(draft.status == "committed" for draft in state.drafts):
        return "committed", None
    return "failed", kind


def _class_of(state: TaskState) -> FailureClass:
    if state.stopped_by == "call":
        return "overload"
    return "invalid" if state.crashes == 0 and state.summary else "bug"


def _settled(state: TaskState) -> Place:
    """Where a task stands whose worker has reported; a draft that is still to be judged by no person keeps it open."""
    if any(draft.status == "waiting" and not draft.reviewed for draft in state.drafts):
        return "pending"
    match state.status:
        case "in_review":
            return "in_review"
        case "committed":
            return "committed"
        case "refused":
            return "refused"
    return "answered"
