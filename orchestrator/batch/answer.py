"""What is told of batches: frozen values, each with the JSON that other programs rely on.

Fields are only ever added.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Json = Mapping[str, object]

BatchState = Literal["planned", "running", "stopped", "over_budget", "too_many_failures", "cancelled", "finished"]
"""planned: never begun; stopped: ended by a person or a crash, and can be resumed; finished: nothing is left to do."""

FailureClass = Literal["refused", "invalid", "overload", "timeout", "budget", "cancelled", "bug"]
"""refused: the model refused; invalid: no draft, no answer; overload: the server could not be asked to the end."""


@dataclass(frozen=True)
class Counts:
    """How many tasks stand where; `done` and the four others below `total` make up all."""

    in_review: int = 0
    committed: int = 0
    answered: int = 0
    refused: int = 0
    duplicate: int = 0
    failed: int = 0
    pending: int = 0
    running: int = 0

    @property
    def done(self) -> int:
        return self.in_review + self.committed + self.answered + self.refused + self.duplicate

    @property
    def total(self) -> int:
        return self.done + self.failed + self.pending + self.running

    def as_json(self) -> Json:
        return {"total": self.total, "done": self.done, **vars(self)}


@dataclass(frozen=True)
class Failures:
    """The failed tasks of one class: how many, and why the first of them failed."""

    kind: FailureClass
    count: int
    task: str
    line: int
    reason: str

    def as_json(self) -> Json:
        return dict(vars(self))


@dataclass(frozen=True)
class Waits:
    """Requests that are at a server in Message Batches; `expires` is when the last of them ends at the latest."""

    batches: tuple[str, ...] = ()
    requests: int = 0
    expires: str = ""

    def as_json(self) -> Json:
        return {"batches": list(self.batches), "requests": self.requests, "expires": self.expires}


@dataclass(frozen=True)
class BatchView:
    """One batch as it stands.

    `cost_usd` None: a part of it has no known price; then `tokens` is what is known. `seconds` are those in which it
    ran, all its runs together. `cached` is the share of the prompts' tokens that was read from a cache, None as long as
    nothing was sent. `left_seconds` is how long it may still take, None where nobody can say. `idle` are places for
    workers that nobody uses. `reason` says why it doesn't run; `again_usd` is what calls cost that a crash cut, with
    their most. `paid_again` counts those calls. `told` has lines for people.
    """

    batch: str
    name: str
    state: BatchState
    counts: Counts
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    client: str | None = None
    agent: str = ""
    model: str = ""
    created: str = ""
    review: str = "person"
    via: str = "messages"
    budget_usd: float | None = None
    concurrency: int = 0
    tokens: int = 0
    cached: float | None = None
    left_seconds: float | None = None
    idle: int = 0
    reason: str = ""
    failures: tuple[Failures, ...] = ()
    waits: Waits = Waits()
    paid_again: int = 0
    again_usd: float = 0.0
    report: str = ""
    told: tuple[str, ...] = ()
    interrupted: bool = False
    undone: bool = False

    @property
    def exit_code(self) -> int:
        """0 done, or the pilot is; 1 something failed or is left; 4 the budget is reached; 130 a person stopped it."""
        if self.interrupted:
            return 130
        if self.state == "over_budget":
            return 4
        return 1 if self.counts.failed or self.undone or self.state in {"too_many_failures", "cancelled"} else 0

    def as_json(self) -> Json:
        return {
            "batch": self.batch,
            "state": self.state,
            "counts": self.counts.as_json(),
            "cost_usd": self.cost_usd,
            "seconds": round(self.seconds, 3),
            "name": self.name,
            "client": self.client,
            "agent": self.agent,
            "model": self.model,
            "created": self.created,
            "review": self.review,
            "via": self.via,
            "budget_usd": self.budget_usd,
            "concurrency": self.concurrency,
            "tokens": self.tokens,
            "cached": self.cached,
            "left_seconds": self.left_seconds,
            "idle": self.idle,
            "reason": self.reason,
            "failures": [one.as_json() for one in self.failures],
            "waits": self.waits.as_json(),
            "paid_again": self.paid_again,
            "again_usd": self.again_usd,
            "report": self.report,
        }


@dataclass(frozen=True)
class BatchesResult:
    """The answer of `batch list`, the latest first; `notices` tell of folders that can't be read."""

    batches: tuple[BatchView, ...]
    notices: tuple[str, ...] = ()

    def as_json(self) -> Json:
        return {"batches": [one.as_json() for one in self.batches], "notices": list(self.notices)}


@dataclass(frozen=True)
class Range:
    """From the least to the most that something may come to."""

    least: float
    most: float

    def as_json(self) -> Json:
        return dict(vars(self))


@dataclass(frozen=True)
class BatchPlan:
    """What a batch would do, before anything of it is done: the answer of `batch run --dry-run`.

    `new`, `done` and `failed` are tasks by what is known of their keys, `twice` those rows that say the same as an
    earlier one; `begun` tells whether the batch is there already. `basis` says what the ranges rest on; `cost` and
    `tokens` None: nobody can say. `reviewers` says who has to agree, in words. `reads` are the first rows as they would
    be told to a sub-agent. `tasks_sha256` is the hash of its tasks.jsonl: what a person's word for it is bound to.
    """

    batch: str
    name: str
    tasks: int
    new: int
    done: int
    failed: int
    twice: int
    begun: bool
    client: str | None
    agent: str
    model: str
    via: str
    review: str
    reviewers: str
    concurrency: int
    cost: Range | None
    tokens: Range | None
    seconds: Range | None
    basis: str
    budget_usd: float | None
    budget_from: str
    free: bool = False
    tasks_sha256: str = ""
    reads: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dry_run: bool = True

    def as_json(self) -> Json:
        return {
            "batch": self.batch,
            "name": self.name,
            "tasks": self.tasks,
            "new": self.new,
            "done": self.done,
            "failed": self.failed,
            "twice": self.twice,
            "begun": self.begun,
            "client": self.client,
            "agent": self.agent,
            "model": self.model,
            "via": self.via,
            "review": self.review,
            "reviewers": self.reviewers,
            "concurrency": self.concurrency,
            "cost_usd": None if self.cost is None else self.cost.as_json(),
            "tokens": None if self.tokens is None else self.tokens.as_json(),
            "seconds": None if self.seconds is None else self.seconds.as_json(),
            "basis": self.basis,
            "budget_usd": self.budget_usd,
            "budget_from": self.budget_from,
            "reads": list(self.reads),
            "targets": list(self.targets),
            "notices": list(self.notices),
            "dry_run": self.dry_run,
        }
