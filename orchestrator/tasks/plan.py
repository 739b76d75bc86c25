"""What happens next with a task: a pure function of what has happened so far.

Theory of operation
===================

A task is a list of events (events.py), kept in its run journal. `step` takes the state and one event and gives the
new state and the instructions that have become due; `replay` folds a whole journal. There is no clock here, no file
and no await: the driver carries instructions out and answers each with an event.

    instruction          is answered by
    Spawn(attempt)       AttemptStarted, then AttemptReported | AttemptFailed | AttemptTimedOut | AttemptLost
    Review(draft)        Judged
    Commit(draft)        Committed | CommitRefused | Edited
    AskPerson(draft)     Judged, whenever the person gets to it
    Stop(attempt)        AttemptLost

**Due is a function of the state.** `due(state)` says what is left to do; the instructions of a step are those that
are due now and were not before. So a crash loses nothing: whatever was not journalled is due again after the replay.
A journal whose last word on a draft is "accepted" has a `Commit` due, and the pen finds by the key whether that
commit was made before the crash.

**Late and double events change nothing.** The tables below list what each event may meet; any other pair is ignored.
An attempt's events carry its number, and only the attempt that is alive is listened to.

**Attempts.** A worker that crashes is tried again, three times in all; then the task is put in quarantine. A time-out
is not tried again by itself: it would likely take as long, and cost as much; its drafts are kept and marked
incomplete. Nor is one whose next call its budget can't pay, or whose model refuses: the same would come of it. An
orchestrator that dies costs no try. A person's `resume` starts counting anew.

**Sent back.** A draft that was sent back makes a new attempt that gets the reason and the draft. Several drafts sent
back together make one attempt: it waits until every draft of the last one has been looked at. A reviewer that is no
person can send back three times; after that a person decides. Such a reviewer speaks once on a draft, and before any
person: when a person was quicker, its verdict comes late.

**Undone.** A draft whose commit was undone waits for a person, as it did before: its key is free again, and it may be
approved, changed or refused.

**Cancelled.** The worker is told and ended, whatever it has left waits for a person, and nobody else is asked about it.

**A damaged journal.** `Rebuilt` tells of the drafts that lay in the task's folder and that no readable line knew. They
wait for a person, whatever was decided on them before; a new attempt starts only when a person asks for it again.

**Keys.** Exactly once is promised per key, and the key is the task and the target. An attempt may well propose two
changes of one card, so each draft of a target has a slot: the first has the plain key, the next "#2" behind it. A new
attempt of the same round counts from one again, so what it repeats is a duplicate; after a send-back, slots that a
living draft of an earlier round holds are passed over.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from ...staging.verdict import Accepted, Bound, Escalated, Refused, SentBack, Verdict
from ..results import DraftStatus
from .events import (
    AttemptFailed,
    AttemptLost,
    AttemptReported,
    AttemptStarted,
    AttemptTimedOut,
    Cancelled,
    CommitRefused,
    Committed,
    DraftFacts,
    Edited,
    Event,
    Judged,
    Rebuilt,
    Resumed,
    Shown,
    TaskAdded,
    Undone,
)
from .taskstate import AskPerson, Commit, DraftState, Instruction, Phase, Review, Spawn, Stop, TaskState, unanswered

__all__ = [
    "DRAFT_TRANSITIONS",
    "MAX_CRASHES",
    "MAX_ROUNDS",
    "STOPPED",
    "TRANSITIONS",
    "AskPerson",
    "Commit",
    "DraftState",
    "Instruction",
    "Review",
    "Row",
    "Spawn",
    "Stop",
    "TaskState",
    "due",
    "key_of",
    "replay",
    "step",
]

MAX_CRASHES = 3
MAX_ROUNDS = 3
CUT_SHORT = "its attempt ended before it was done"
LEFT_OPEN = "its worker says that something is left open"
FOUND = "found in its folder when the damaged run journal was rebuilt: look at it again"


def step(state: TaskState, event: Event) -> tuple[TaskState, tuple[Instruction, ...]]:
    """The state after the event, and what has become due by it."""
    after = _gather(_apply(state, event))
    before_due = set(due(state))
    return after, tuple(i for i in due(after) if i not in before_due)


def replay(events: Iterable[Event]) -> TaskState:
    """The state after a journal; call `due` for what is left to do."""
    state = TaskState()
    for event in events:
        state = _gather(_apply(state, event))
    return state


def due(state: TaskState) -> tuple[Instruction, ...]:
    """Everything that is left to do, in the order in which to do it."""
    found: list[Instruction] = []
    if state.phase == "cancelled" and state.alive:
        found.append(Stop(state.alive))
    for draft in state.drafts:
        if draft.status == "approved":
            found.append(Commit(draft.id, cast(Accepted, draft.verdict)))
        elif draft.status == "waiting":
            for_person = draft.reviewed or state.phase == "cancelled"
            found.append(AskPerson(draft.id) if for_person else Review(draft.id))
    if state.phase == "queued":
        back = unanswered(state)
        feedback = "\n".join(f"{d.facts.name}: {d.reason}" for d in back) or None
        found.append(Spawn(state.attempt + 1, feedback, tuple(d.id for d in back)))
    return tuple(found)


def key_of(state: TaskState, draft: DraftState, target: str) -> str:
    """The key under which `draft` is committed to `target` (which a person may have changed since)."""
    slot = draft.slot
    if target != draft.facts.target:
        taken = {d.slot for d in state.drafts if d.id != draft.id and d.facts.target == target}
        slot = _free(taken)
    return f"{state.key or state.task} {target}" + (f"#{slot}" if slot > 1 else "")


# -- tasks -------------------------------------------------------------------------------------------------------------

TaskHandler = Callable[[TaskState, Event], TaskState]


@dataclass(frozen=True)
class Row:
    """Events of this kind, met in one of these phases, lead to one of those."""

    event: type
    phases: tuple[str, ...]
    then: tuple[str, ...]
    do: TaskHandler


def _added(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, TaskAdded)
    return replace(
        state,
        task=event.task,
        agent=event.agent,
        answer_only=event.answer,
        budget_usd=event.budget_usd,
        key=event.key,
        phase="queued",
    )


def _started(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, AttemptStarted)
    if event.attempt != state.attempt + 1:
        return state
    back = tuple(d.id for d in unanswered(state))
    fresh = bool(set(back) - set(state.feedback))
    return replace(
        state,
        phase="running",
        attempt=event.attempt,
        alive=event.attempt,
        feedback=back,
        round=state.round + fresh,
        reason="",
        stopped_by="",
    )


def _reported(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, AttemptReported)
    if event.attempt != state.alive:
        return state
    ended = _ended(state, event.drafts, event.seconds, incomplete="" if event.complete else LEFT_OPEN)
    answered = tuple(replace(d, answered=True) if d.id in state.feedback else d for d in ended.drafts)
    ended = replace(ended, drafts=answered, feedback=(), answer=event.answer, summary=event.summary)
    if not event.drafts and not event.answer.strip():
        return replace(ended, phase="failed", reason="the worker reported, but left neither a draft nor an answer")
    return replace(ended, phase="settled")


def _failed(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, AttemptFailed)
    if event.attempt != state.alive:
        return state
    state = replace(state, stopped_by=event.kind)
    if event.kind in _PHASES:
        ended = _ended(state, event.drafts, event.seconds, incomplete=CUT_SHORT)
        return replace(ended, phase=_PHASES[event.kind], reason=event.reason)
    crashes = state.crashes + 1
    if event.again and crashes < MAX_CRASHES:
        return replace(
            state, phase="queued", alive=0, crashes=crashes, reason=event.reason, seconds=state.seconds + event.seconds
        )
    ended = _ended(state, event.drafts, event.seconds, incomplete=CUT_SHORT)
    return replace(ended, phase="quarantined" if event.again else "failed", crashes=crashes, reason=event.reason)


_PHASES: Mapping[str, Phase] = {"budget": "over_budget", "shared": "over_budget", "refusal": "refused"}


def _timed_out(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, AttemptTimedOut)
    if event.attempt != state.alive:
        return state
    said = f"no word for {event.after:g} s" if event.kind == "silence" else f"not done after {event.after:g} s"
    return replace(_ended(state, event.drafts, event.seconds, incomplete=CUT_SHORT), phase="timed_out", reason=said)


def _lost(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, AttemptLost)
    if event.attempt != state.alive:
        return state
    return replace(state, phase="interrupted", alive=0, reason=event.reason)


def _stopped(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, AttemptReported | AttemptFailed | AttemptTimedOut | AttemptLost)
    if event.attempt != state.alive:
        return state
    whole = isinstance(event, AttemptReported) and event.complete
    return _ended(state, event.drafts, event.seconds, incomplete="" if whole else CUT_SHORT)


def _resumed(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, Resumed)
    if state.alive:
        return state
    budget = state.budget_usd if event.budget_usd is None else event.budget_usd
    return replace(state, phase="queued", crashes=0, reason="", budget_usd=budget)


def _rebuilt(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, Rebuilt)
    phase, found = state.phase, state
    for attempt in sorted({draft.attempt for draft in event.drafts}):
        facts = tuple(draft.facts for draft in event.drafts if draft.attempt == attempt)
        found = _ended(replace(found, alive=attempt), facts, 0.0, incomplete="")
    known = {d.id for d in state.drafts}
    again = tuple(d if d.id in known else replace(d, reviewed=True, reason=d.reason or FOUND) for d in found.drafts)
    if event.drafts:
        phase = "settled"
    elif phase == "running":
        phase = "interrupted"
    attempt = max(state.attempt, event.attempt)
    return replace(found, phase=phase, alive=0, attempt=attempt, drafts=again)


def _cancelled(state: TaskState, event: Event) -> TaskState:
    assert isinstance(event, Cancelled)
    return replace(state, phase="cancelled", reason=event.reason)


STOPPED: tuple[Phase, ...] = (
    "failed",
    "timed_out",
    "interrupted",
    "cancelled",
    "quarantined",
    "over_budget",
    "refused",
)
"""Where a task goes on only when a person asks for it."""

TRANSITIONS: tuple[Row, ...] = (
    Row(TaskAdded, ("new",), ("queued",), _added),
    Row(AttemptStarted, ("queued",), ("running",), _started),
    Row(AttemptReported, ("running",), ("settled", "failed", "queued"), _reported),
    Row(AttemptFailed, ("running",), ("queued", "quarantined", "failed", "over_budget", "refused"), _failed),
    Row(AttemptTimedOut, ("running",), ("timed_out",), _timed_out),
    Row(AttemptLost, ("running",), ("interrupted",), _lost),
    Row(AttemptReported, ("cancelled",), ("cancelled",), _stopped),
    Row(AttemptFailed, ("cancelled",), ("cancelled",), _stopped),
    Row(AttemptTimedOut, ("cancelled",), ("cancelled",), _stopped),
    Row(AttemptLost, ("cancelled",), ("cancelled",), _stopped),
    Row(Resumed, STOPPED, ("queued",), _resumed),
    Row(Rebuilt, ("queued",), ("settled", "queued"), _rebuilt),
    Row(Rebuilt, ("running",), ("settled", "interrupted", "queued"), _rebuilt),
    Row(Rebuilt, ("settled",), ("settled", "queued"), _rebuilt),
    *(Row(Rebuilt, (phase,), ("settled", phase, "queued"), _rebuilt) for phase in STOPPED),
    Row(
        Cancelled,
        ("queued", "running", "settled", *(phase for phase in STOPPED if phase != "cancelled")),
        ("cancelled",),
        _cancelled,
    ),
)

_TASK_TABLE: Mapping[tuple[type, str], TaskHandler] = {
    (row.event, phase): row.do for row in TRANSITIONS for phase in row.phases
}

# -- drafts ------------------------------------------------------------------------------------------------------------

# What each word on a draft may meet, and what comes of it. A verdict is named by its class.
DRAFT_TRANSITIONS: tuple[tuple[str, tuple[DraftStatus, ...], tuple[DraftStatus, ...]], ...] = (
    ("Accepted", ("waiting", "conflict", "sent_back", "refused"), ("approved",)),
    ("SentBack", ("waiting", "conflict", "refused"), ("sent_back", "waiting")),
    ("Refused", ("waiting", "conflict", "sent_back"), ("refused",)),
    ("Escalated", ("waiting",), ("waiting",)),
    ("Committed", ("waiting", "approved", "conflict", "sent_back", "refused", "duplicate"), ("committed",)),
    ("Undone", ("committed",), ("waiting",)),
    ("CommitRefused", ("approved",), ("conflict", "duplicate")),
    ("Shown", ("waiting", "conflict", "sent_back", "refused"), ("waiting", "conflict", "sent_back", "refused")),
    ("Edited", ("approved",), ("waiting",)),
)

_DRAFT_TABLE: frozenset[tuple[str, DraftStatus]] = frozenset(
    (word, status) for word, statuses, _ in DRAFT_TRANSITIONS for status in statuses
)


def _judge(state: TaskState, draft: DraftState, verdict: Verdict) -> DraftState:
    judged = replace(draft, verdict=verdict, reason=verdict.reason, reviewed=True)
    match verdict:
        case Accepted():
            return replace(judged, status="approved")
        case SentBack(reviewer=reviewer) if reviewer.startswith("user:") or state.round < MAX_ROUNDS:
            return replace(judged, status="sent_back", answered=False)
        case SentBack():
            return replace(judged, reason=f"sent back {state.round} times already; now: {verdict.reason}")
        case Refused():
            return replace(judged, status="refused")
        case Escalated():
            return judged


def _comes_late(draft: DraftState, verdict: Verdict) -> bool:
    """Whether somebody was quicker than a reviewer that is no person: it doesn't overrule them."""
    return not verdict.reviewer.startswith("user:") and (draft.reviewed or draft.status != "waiting")


def _decide(state: TaskState, draft: DraftState, event: Event) -> DraftState:
    match event:
        case Judged(verdict=verdict) if _comes_late(draft, verdict):
            return draft
        case Judged(verdict=verdict, findings=findings):
            return replace(_judge(state, draft, verdict), findings=findings)
        case Committed(commit=commit):
            return replace(draft, status="committed", commit=commit, reason="")
        case Undone(commit=commit, by=by):
            if commit != draft.commit:
                return draft
            reason = f"{commit} was undone, by {by}"
            return replace(draft, status="waiting", reviewed=True, verdict=None, commit=None, reason=reason)
        case CommitRefused(kind=kind, reason=reason):
            return replace(draft, status=kind, reason=reason)
        case Shown(bound=bound):
            return replace(draft, shown=bound)
        case Edited():
            return replace(draft, status="waiting", reviewed=True, verdict=None, reason="changed after it was accepted")
    return draft


# -- both --------------------------------------------------------------------------------------------------------------


def _apply(state: TaskState, event: Event) -> TaskState:
    if isinstance(event, Judged | Committed | Undone | CommitRefused | Shown | Edited):
        draft = state.draft(event.draft)
        word = type(event.verdict if isinstance(event, Judged) else event).__name__
        if draft is None or (word, draft.status) not in _DRAFT_TABLE:
            return state
        changed = _decide(state, draft, event)
        return replace(state, drafts=tuple(changed if d.id == draft.id else d for d in state.drafts))
    handler = _TASK_TABLE.get((type(event), state.phase))
    return state if handler is None else handler(state, event)


def _gather(state: TaskState) -> TaskState:
    """Queues one attempt for all that was sent back, once every draft of the last one was looked at.

    Only a task whose attempt reported goes on by itself; any other waits for a person's `resume`.
    """
    if state.phase != "settled" or not unanswered(state):
        return state
    if any(d.status == "waiting" and not d.reviewed for d in state.drafts):
        return state
    return replace(state, phase="queued", crashes=0)


def _ended(state: TaskState, found: tuple[DraftFacts, ...], seconds: float, *, incomplete: str) -> TaskState:
    known = {d.id for d in state.drafts}
    drafts = list(state.drafts)
    held: dict[str, set[int]] = {}
    for d in drafts:
        if d.round < state.round and d.status not in {"sent_back", "refused"}:
            held.setdefault(d.facts.target, set()).add(d.slot)
    for facts in found:
        if facts.id in known:
            continue
        taken = held.setdefault(facts.target, set())
        slot = _free(taken)
        taken.add(slot)
        drafts.append(
            DraftState(
                facts=facts,
                attempt=state.alive,
                round=state.round,
                slot=slot,
                shown=Bound(sha256=facts.sha256, section=facts.section, index=facts.index),
                status="refused" if facts.blocked else "waiting",
                reviewed=facts.blocked,
                incomplete=incomplete,
                reason=facts.reason,
            )
        )
    return replace(state, alive=0, drafts=tuple(drafts), seconds=state.seconds + seconds)


def _free(taken: set[int]) -> int:
    return next(n for n in range(1, len(taken) + 2) if n not in taken)
