"""What can happen to a batch, as frozen values: its run journal is a list of them."""

from dataclasses import dataclass

from .answer import FailureClass


@dataclass(frozen=True)
class RunStarted:
    """A process begins with it, or goes on; `review` and `budget_usd` are those that counted."""

    concurrency: int
    budget_usd: float | None = None
    review: str = "person"
    max_failures: int | None = None
    user: str = ""
    pid: int = 0


@dataclass(frozen=True)
class RunEnded:
    """Why a run came to its end by itself or by a person's word; one that was killed has none.

    "sample": the pilot is done; "finished": nothing is left to start.
    """

    why: str
    reason: str = ""


@dataclass(frozen=True)
class TaskMade:
    """The task `task` lies in staging/ for the item of this key; it takes the place of an earlier one."""

    key: str
    task: str


@dataclass(frozen=True)
class TaskOver:
    """Nothing is left to do for it without a person: its status, and what it has cost until now.

    `kind` is the class of a failure, None for none. `cost_usd` None: a part of it has no known price. `cut` counts the
    calls that were out when their process was killed, so that they may have been paid for nothing: `cut_usd` is the
    most that they have cost, a part of `cost_usd`.
    """

    key: str
    task: str
    status: str
    reason: str = ""
    kind: FailureClass | None = None
    cost_usd: float | None = 0.0
    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    cut: int = 0
    cut_usd: float = 0.0
    seconds: float = 0.0
    attempts: int = 0
    drafts: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


@dataclass(frozen=True)
class DoneBefore:
    """The key is done already: committed as `commit`, or by a task of another batch."""

    key: str
    commit: str = ""
    task: str = ""


@dataclass(frozen=True)
class Retried:
    """A person asked for failed tasks again."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class BatchCancelled:
    """A person asked to end it; only their word makes it go on."""

    user: str = ""


@dataclass(frozen=True)
class DayTold:
    """The day log of a space (`client` None: the house's) has its line for this day."""

    day: str
    client: str | None = None
    commit: str = ""


Event = RunStarted | RunEnded | TaskMade | TaskOver | DoneBefore | Retried | BatchCancelled | DayTold
