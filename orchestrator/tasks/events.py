"""What can happen to a task, as frozen values: the run journal is a list of them, and the plan is a function of it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import PlainValidator

from ...memory.ids import AgentId, DraftId, TaskId
from ...staging.finding import Finding
from ...staging.verdict import Bound, Verdict

ATask = Annotated[TaskId, PlainValidator(TaskId)]
AnAgent = Annotated[AgentId, PlainValidator(AgentId)]
ADraft = Annotated[DraftId, PlainValidator(DraftId)]

StoppedBy = Literal["", "budget", "shared", "refusal", "call"]


@dataclass(frozen=True)
class DraftFacts:
    """What was found when a draft was collected: its file's name and hash, and the hashes of what it changes.

    `section` is that of the card's section, `index` that of the index lines (as in a verdict's `Bound`).
    `blocked` means that it can't be read as a draft at all (a link, not UTF-8, no target); `target` is then "".
    """

    id: ADraft
    name: str
    target: str
    sha256: str
    section: str = ""
    blocked: bool = False
    reason: str = ""
    index: str = ""


@dataclass(frozen=True)
class TaskAdded:
    """A person asked for it. `answer` tasks only print: they leave no draft; `budget_usd` is the task's own cap.

    `key` stands in the place of the task's id in the keys of its commits; "": the id does.
    """

    task: ATask
    agent: AnAgent
    answer: bool = False
    budget_usd: float | None = None
    key: str = ""


@dataclass(frozen=True)
class AttemptStarted:
    """A worker is about to be started for this attempt."""

    attempt: int


@dataclass(frozen=True)
class AttemptReported:
    """The worker called `report`, and its drafts were collected. `complete` False: it says that work is left."""

    attempt: int
    drafts: tuple[DraftFacts, ...] = ()
    answer: str = ""
    summary: str = ""
    complete: bool = True
    seconds: float = 0.0


@dataclass(frozen=True)
class AttemptFailed:
    """The attempt ended without a report; `again` False: trying again can't help.

    `kind` "budget": no further call could be paid, "shared": by a cap that it shares with others; "refusal": the model
    refused to go on, and `reason` has its words; "call": the model could not be asked.
    """

    attempt: int
    reason: str
    again: bool = True
    drafts: tuple[DraftFacts, ...] = ()
    seconds: float = 0.0
    kind: StoppedBy = ""


@dataclass(frozen=True)
class AttemptTimedOut:
    """The attempt was ended because it took too long, or said nothing for too long."""

    attempt: int
    kind: Literal["time", "silence"]
    after: float
    drafts: tuple[DraftFacts, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class AttemptLost:
    """The orchestrator died, or was told to stop, while the attempt was running.

    One that was cancelled tells the `drafts` that it had left until then; any other is done again.
    """

    attempt: int
    reason: str = "the orchestrator ended"
    drafts: tuple[DraftFacts, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Resumed:
    """A person asked to go on with it; `budget_usd` is the task's own cap from now on (None: as before)."""

    budget_usd: float | None = None


@dataclass(frozen=True)
class FoundDraft:
    """A draft that lay in an attempt's folder, of which the journal knew nothing any more."""

    attempt: int
    facts: DraftFacts


@dataclass(frozen=True)
class Rebuilt:
    """The journal was damaged: from here on, what the task's folder showed counts. `attempt` is its highest number."""

    attempt: int
    drafts: tuple[FoundDraft, ...] = ()


@dataclass(frozen=True)
class Cancelled:
    """A person asked to end it; only their `Resumed` makes it go on."""

    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """A reviewer spoke: the checks and the policy, a model, or a person. `findings` are what they had before them."""

    draft: ADraft
    verdict: Verdict
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Committed:
    """The draft is in memory, as this commit."""

    draft: ADraft
    commit: str


@dataclass(frozen=True)
class Undone:
    """A person undid the draft's commit, by commit `by`."""

    draft: ADraft
    commit: str
    by: str


@dataclass(frozen=True)
class CommitRefused:
    """The pen didn't take the draft: memory moved on, or its key is committed already."""

    draft: ADraft
    kind: Literal["conflict", "duplicate"]
    reason: str


@dataclass(frozen=True)
class Shown:
    """A person was shown the draft as it was then."""

    draft: ADraft
    bound: Bound


@dataclass(frozen=True)
class Edited:
    """The draft's file has other bytes than those last judged."""

    draft: ADraft
    sha256: str


AttemptEvent = AttemptStarted | AttemptReported | AttemptFailed | AttemptTimedOut | AttemptLost
TaskEvent = TaskAdded | AttemptEvent | Resumed | Rebuilt | Cancelled
DraftEvent = Judged | Committed | Undone | CommitRefused | Shown | Edited
Event = TaskEvent | DraftEvent
