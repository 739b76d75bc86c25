"""Where a task stands: its drafts, its attempts, and the instructions that the plan gives. Values only."""

from dataclasses import dataclass
from typing import Literal

from ...memory.ids import AgentId, DraftId, TaskId
from ...staging.finding import Finding
from ...staging.verdict import Accepted, Bound, Verdict
from ..results import DraftStatus, TaskStatus
from .events import DraftFacts, StoppedBy

Phase = Literal[
    "new",
    "queued",
    "running",
    "settled",
    "failed",
    "timed_out",
    "interrupted",
    "cancelled",
    "quarantined",
    "over_budget",
    "refused",
]


@dataclass(frozen=True)
class Spawn:
    """Start this attempt; `feedback` and the named drafts are what was sent back."""

    attempt: int
    feedback: str | None = None
    drafts: tuple[DraftId, ...] = ()


@dataclass(frozen=True)
class Review:
    draft: DraftId


@dataclass(frozen=True)
class Commit:
    draft: DraftId
    verdict: Accepted


@dataclass(frozen=True)
class AskPerson:
    draft: DraftId


@dataclass(frozen=True)
class Stop:
    attempt: int


Instruction = Spawn | Review | Commit | AskPerson | Stop


@dataclass(frozen=True)
class DraftState:
    """One draft: where it lies (attempt and file name), what was last shown of it, and what was decided.

    `incomplete` says why it may not be all that was asked for, "" when nothing says so.
    `findings` are those that the last verdict was given with: once a draft is committed, nothing else can be said of
    it, since the card that it made is there.
    """

    facts: DraftFacts
    attempt: int
    round: int
    slot: int
    shown: Bound
    status: DraftStatus = "waiting"
    incomplete: str = ""
    reviewed: bool = False
    answered: bool = False
    verdict: Verdict | None = None
    commit: str | None = None
    reason: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def id(self) -> DraftId:
        return self.facts.id


@dataclass(frozen=True)
class TaskState:
    """One task. `alive` is the attempt that has a worker now (0: none); `attempt` counts those ever started.

    `budget_usd` is the task's own cap; it tightens what a person's and the workspace's caps leave, and never widens it.
    `key` stands in the keys of its commits. `stopped_by` is what the last attempt was stopped by, if it failed.
    """

    task: TaskId | None = None
    agent: AgentId | None = None
    answer_only: bool = False
    phase: Phase = "new"
    attempt: int = 0
    alive: int = 0
    crashes: int = 0
    round: int = 0
    feedback: tuple[DraftId, ...] = ()
    drafts: tuple[DraftState, ...] = ()
    answer: str = ""
    summary: str = ""
    reason: str = ""
    seconds: float = 0.0
    budget_usd: float | None = None
    key: str = ""
    stopped_by: StoppedBy = ""

    def draft(self, id_: str) -> DraftState | None:
        return next((d for d in self.drafts if d.id == id_), None)

    @property
    def status(self) -> TaskStatus:
        """The word for people and programs."""
        return _status(self)


def _status(state: TaskState) -> TaskStatus:
    words = {d.status for d in state.drafts}
    if state.phase == "queued" or state.phase == "new":
        return "sent_back" if unanswered(state) else "queued"
    if state.phase == "running":
        return "running"
    if state.phase != "settled" and (not words or words & {"waiting", "approved", "conflict"}):
        return state.phase
    if words & {"waiting", "approved", "conflict"}:
        return "in_review"
    if words & {"committed", "duplicate"}:
        return "committed"
    if words & {"refused", "sent_back"}:
        return "refused" if state.phase == "settled" else state.phase
    return "answered" if state.phase == "settled" else state.phase


def unanswered(state: TaskState) -> tuple[DraftState, ...]:
    """The drafts that were sent back and that no attempt has answered yet."""
    return tuple(d for d in state.drafts if d.status == "sent_back" and not d.answered)
