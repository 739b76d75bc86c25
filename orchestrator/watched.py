"""What `status --watch` tells of those who are at work now: frozen values, as they cross the socket."""

from dataclasses import dataclass

from .results import Json, TaskStatus


@dataclass(frozen=True)
class WorkerView:
    """One task that somebody is at work on: its attempt (0: none began yet), since when, and the latest that was heard.

    `cost_usd` is what the attempt has cost so far, None where a part of it has no known price.
    """

    task: str
    agent: str
    client: str | None
    attempt: int
    since: str
    doing: str
    cost_usd: float | None = 0.0

    def as_json(self) -> Json:
        return {
            "task": self.task,
            "agent": self.agent,
            "client": self.client,
            "attempt": self.attempt,
            "since": self.since,
            "doing": self.doing,
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True)
class LeftView:
    """A task whose work has ended, and where that left it; `number` counts them from the process's beginning."""

    number: int
    task: str
    agent: str
    client: str | None
    status: TaskStatus
    reason: str = ""

    def as_json(self) -> Json:
        return {
            "task": self.task,
            "agent": self.agent,
            "client": self.client,
            "status": self.status,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class WorkersView:
    """Everybody at work, oldest first; `waiting` tasks have no place yet, and `left` are those that ended last."""

    workers: tuple[WorkerView, ...] = ()
    waiting: int = 0
    left: tuple[LeftView, ...] = ()
