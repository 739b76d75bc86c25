"""What the service answers: frozen values, each with the JSON that other programs rely on.

Fields are only ever added (docs/reference/commands.md lists them). Times are ISO 8601 with offset, hashes are
sha256 in hex, costs are US dollars.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ..memory.recall.search import Hit
    from ..staging.finding import Finding
    from .batch.answer import BatchView
    from .mirror.standing import MirrorView
    from .sent import Difference, SentLayer

Json = Mapping[str, object]

TaskStatus = Literal[
    "queued",
    "running",
    "committed",
    "in_review",
    "answered",
    "sent_back",
    "refused",
    "failed",
    "timed_out",
    "interrupted",
    "cancelled",
    "quarantined",
    "over_budget",
]
DraftStatus = Literal["waiting", "approved", "committed", "sent_back", "refused", "conflict", "duplicate"]

Place = Literal["section", "target", "elsewhere"]

FAILED: frozenset[TaskStatus] = frozenset({"failed", "timed_out", "cancelled", "quarantined"})


def finding_json(finding: Finding) -> Json:
    return {"kind": finding.kind, "level": finding.level, "line": finding.line, "message": finding.message}


@dataclass(frozen=True)
class Beside:
    """Another draft that waits for the same target.

    `same` is "section" where both name the same one, "elsewhere" where they name two (so that both can stand), else
    "target". `diff` leads from the target with the draft that is looked at to the target with this one, "" where both
    come to the same; None where they are not set against each other.
    """

    id: str
    agent: str
    edit: str
    section: str | None
    same: Place
    diff: str | None = None

    def as_json(self) -> Json:
        shown = {} if self.diff is None else {"diff": self.diff}
        return {
            "id": self.id,
            "agent": self.agent,
            "edit": self.edit,
            "section": self.section,
            "same": self.same,
            **shown,
        }


@dataclass(frozen=True)
class DraftView:
    """A draft as a person decides on it; `diff` is None where only a list was asked for.

    `stages` are those that it has to pass by the policy: "checks", "model", "person". `path` is the draft file's
    workspace-relative path; `warnings` of a reviewer are in `findings`. For one that was committed, `diff` is what its
    commit did and `changed` are the files that it touched. `can_go_back` is False where the task's model can't follow
    remarks, so that `send-back` would be refused. `beside` are other drafts that wait for the same target.
    """

    id: str
    task: str
    agent: str
    client: str | None
    target: str
    status: DraftStatus
    provenance: str
    findings: tuple[Finding, ...]
    created: str
    sha256: str
    path: str
    title: str = ""
    edit: str = ""
    section: str | None = None
    sources: tuple[str, ...] = ()
    diff: str | None = None
    reason: str = ""
    commit: str | None = None
    stages: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    can_go_back: bool = True
    beside: tuple[Beside, ...] = ()

    @property
    def blocked(self) -> bool:
        return any(f.level == "block" for f in self.findings)

    @property
    def undecided(self) -> bool:
        return self.status in {"waiting", "approved", "conflict"}

    def as_json(self) -> Json:
        shown = {} if self.diff is None else {"diff": self.diff}
        return {
            "id": self.id,
            "task": self.task,
            "agent": self.agent,
            "client": self.client,
            "target": self.target,
            "status": self.status,
            "provenance": self.provenance,
            "findings": [finding_json(f) for f in self.findings],
            "created": self.created,
            "sha256": self.sha256,
            "path": self.path,
            "edit": self.edit,
            "section": self.section,
            "sources": list(self.sources),
            "commit": self.commit,
            "reason": self.reason,
            "stages": list(self.stages),
            "changed": list(self.changed),
            "beside": [other.as_json() for other in self.beside],
            **shown,
        }


@dataclass(frozen=True)
class DraftsResult:
    """The answer of `drafts` and `show`; `notices` tell of drafts that may wait and can't be listed."""

    drafts: tuple[DraftView, ...]
    notices: tuple[str, ...] = ()

    def as_json(self) -> Json:
        return {"drafts": [d.as_json() for d in self.drafts], "notices": list(self.notices)}


@dataclass(frozen=True)
class UsageTotals:
    """Tokens as the Messages API counts them: `input` is what was neither read from nor written to a cache."""

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0

    def as_json(self) -> Json:
        return {
            "input": self.input,
            "cache_write": self.cache_write,
            "cache_read": self.cache_read,
            "output": self.output,
        }


@dataclass(frozen=True)
class TaskView:
    """One task and where it stands; `reason` says why it failed, or what it waits for.

    `cost_usd` None: a part of it has no known price. `stages` are told in rehearsal only: what its draft would have to
    pass at the most. A rehearsed task that is not made yet has the id "". `batch` is the one that it belongs to.
    """

    task: str
    agent: str
    client: str | None
    status: TaskStatus
    attempts: int
    text: str
    drafts: tuple[DraftView, ...] = ()
    answer: str | None = None
    usage: UsageTotals = UsageTotals()
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    reason: str = ""
    created: str = ""
    left_out: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    target: str | None = None
    model: str = ""
    inputs: tuple[str, ...] = ()
    stages: tuple[str, ...] | None = None
    batch: str = ""

    def as_json(self) -> Json:
        foretold = {} if self.stages is None else {"stages": list(self.stages)}
        return {
            "task": self.task or None,
            "agent": self.agent,
            "client": self.client,
            "status": self.status,
            "attempts": self.attempts,
            "text": self.text,
            "drafts": [
                {
                    "id": d.id,
                    "target": d.target,
                    "status": d.status,
                    "sha256": d.sha256,
                    "findings": [finding_json(f) for f in d.findings],
                    "path": d.path,
                    "commit": d.commit,
                }
                for d in self.drafts
            ],
            "answer": self.answer,
            "usage": self.usage.as_json(),
            "cost_usd": self.cost_usd,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
            "created": self.created,
            "left_out": list(self.left_out),
            "target": self.target,
            "model": self.model,
            "inputs": list(self.inputs),
            "batch": self.batch or None,
            **foretold,
        }


@dataclass(frozen=True)
class DelegateResult:
    """The answer of `delegate`, `resume` and `send-back`.

    `notices` are for people (what recovery did, what inputs were left out); `interrupted` means that the person
    asked to stop; `undone` that a part of what was asked could not be done, as a notice says. With `dry_run` nothing
    was done, and `tasks` are as they would go on.
    """

    tasks: tuple[TaskView, ...]
    notices: tuple[str, ...] = ()
    interrupted: bool = False
    undone: bool = False
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        if self.interrupted:
            return 130
        if any(t.status == "over_budget" for t in self.tasks):
            return 4
        unfinished = any(t.status in FAILED or t.status in {"interrupted", "refused"} for t in self.tasks)
        return 1 if unfinished or self.undone else 0

    def as_json(self) -> Json:
        return {"tasks": [t.as_json() for t in self.tasks], "dry_run": self.dry_run}


@dataclass(frozen=True)
class CommitResult:
    """The answer of `log` and `add`: the commit and the workspace-relative paths that it touched.

    With `dry_run` nothing was written: `paths` are those that would be touched, `commit` is None. `again`: the request
    was done before, and this is what it came to then.
    """

    commit: str | None
    paths: tuple[str, ...]
    notices: tuple[str, ...] = ()
    dry_run: bool = False
    again: bool = False

    def as_json(self) -> Json:
        return {"commit": self.commit, "paths": list(self.paths), "dry_run": self.dry_run}


@dataclass(frozen=True)
class OrchestratorView:
    """The process that holds the pen now."""

    pid: int
    since: str
    version: str

    def as_json(self) -> Json:
        return {"pid": self.pid, "since": self.since, "version": self.version}


@dataclass(frozen=True)
class StatusResult:
    """Whose turn it is; `timezone_source` is "onepen.toml" or "system".

    `tasks` are those that still need somebody, newest first. One that failed is listed for a week; after that it can
    be resumed by its id. `sandbox` is the level that holds workers here, `sandbox_gaps` what it leaves open to a
    worker. What was spent today is the whole workspace's where no client is named; tokens without a
    known price are told apart. `batches` are those that run or could go on.
    """

    workspace: str
    name: str
    client: str | None
    timezone: str
    timezone_source: str
    orchestrator: OrchestratorView | None
    tasks: tuple[TaskView, ...]
    drafts_waiting: int
    spend_today_usd: float
    sandbox: str
    clients: tuple[str, ...]
    cards: int
    recovery_pending: bool
    suggestion: str
    notices: tuple[str, ...] = ()
    client_titles: Mapping[str, str] = field(default_factory=dict)
    unpriced_tokens_today: int = 0
    git: MirrorView | None = None
    durability: str = "full"
    sandbox_words: str = ""
    sandbox_gaps: tuple[str, ...] = ()
    batches: tuple[BatchView, ...] = ()

    def as_json(self) -> Json:
        return {
            "workspace": self.workspace,
            "name": self.name,
            "client": self.client,
            "timezone": self.timezone,
            "timezone_source": self.timezone_source,
            "orchestrator": None if self.orchestrator is None else self.orchestrator.as_json(),
            "tasks": [t.as_json() for t in self.tasks],
            "drafts_waiting": self.drafts_waiting,
            "spend_today_usd": self.spend_today_usd,
            "sandbox": self.sandbox,
            "sandbox_gaps": list(self.sandbox_gaps),
            "clients": list(self.clients),
            "cards": self.cards,
            "recovery_pending": self.recovery_pending,
            "next": self.suggestion,
            "notices": list(self.notices),
            "client_titles": dict(self.client_titles),
            "unpriced_tokens_today": self.unpriced_tokens_today,
            "batches": [one.as_json() for one in self.batches],
            "git": None if self.git is None else self.git.as_json(),
            "durability": self.durability,
        }


@dataclass(frozen=True)
class Elsewhere:
    """What waits in a space in which nobody stands now: drafts, and tasks that were interrupted."""

    client: str | None
    drafts: int
    interrupted: int

    @property
    def name(self) -> str:
        return self.client or "the house"

    def as_json(self) -> Json:
        return {"client": self.client, "drafts_waiting": self.drafts, "interrupted": self.interrupted}


@dataclass(frozen=True)
class SearchResult:
    """The answer of `search`."""

    query: str
    since: str | None
    until: str | None
    hits: tuple[Hit, ...]

    def as_json(self) -> Json:
        return {
            "query": self.query,
            "since": self.since,
            "until": self.until,
            "hits": [
                {"path": h.path, "line": h.line, "date": h.date, "score": round(h.score, 4), "text": h.text}
                for h in self.hits
            ],
        }


@dataclass(frozen=True)
class ContextResult:
    """The answer of `context`: the layers of a prompt, their files and estimated sizes.

    `chat` is the chat that goes on with them; None: one that would begin now. `tools` are the tools as they are sent,
    `tool_tokens` stand in layer B. `notices` say what stands there in part.
    """

    layers: tuple[SentLayer, ...]
    chat: str | None = None
    tools: str = field(default="", repr=False)
    tool_tokens: int = 0
    notices: tuple[str, ...] = ()

    @property
    def total_tokens(self) -> int:
        return sum(layer.tokens for layer in self.layers)

    def as_json(self) -> Json:
        return {
            "chat": self.chat,
            "layers": [
                {
                    "name": layer.name,
                    "tokens": layer.tokens,
                    "sha256": layer.sha256,
                    "mark": layer.mark,
                    "life": layer.life,
                    "bytes": len(layer.text.encode(errors="replace")),
                    "files": [
                        {
                            "path": file.path,
                            "tokens": file.tokens,
                            "bytes": file.bytes,
                            "sha256": file.sha256,
                            "left_out": file.left_out,
                            "units": file.units,
                        }
                        for file in layer.files
                    ],
                }
                for layer in self.layers
            ],
            "tool_tokens": self.tool_tokens,
            "total_tokens": self.total_tokens,
            "notices": list(self.notices),
        }


@dataclass(frozen=True)
class ContextDiff:
    """The answer of `context --diff`: how a prompt that begins now differs from a chat's."""

    difference: Difference

    def as_json(self) -> Json:
        found = self.difference
        return {
            "chat": found.chat,
            "at": found.at,
            "changes": [
                {
                    "name": one.name,
                    "tokens_before": one.tokens[0],
                    "tokens": one.tokens[1],
                    "bytes_before": one.bytes[0],
                    "bytes": one.bytes[1],
                    "diff": one.diff,
                }
                for one in found.changes
            ],
            "rewritten_tokens": found.rewritten,
            "base_tokens": round(found.base_tokens, 1),
        }
