"""What pruning would remove, or removed, as values."""

from dataclasses import dataclass
from typing import Literal

from .results import Json

Kind = Literal["staging", "transcripts", "history"]


@dataclass(frozen=True)
class PruneWish:
    """What is to go: of a client's space, of the house's own (None), or of `every` one.

    Days are ISO dates, and what is from before them goes; None: nothing of that kind.
    """

    client: str | None = None
    every: bool = False
    staging: str | None = None
    transcripts: str | None = None
    history: str | None = None


@dataclass(frozen=True)
class PrunedKind:
    """One kind in one space: `count` tasks, transcripts or commits, which lie in `files` files and are `bytes` long."""

    client: str | None
    kind: Kind
    before: str
    count: int
    files: int
    bytes: int

    def as_json(self) -> Json:
        return {
            "client": self.client,
            "kind": self.kind,
            "before": self.before,
            "count": self.count,
            "files": self.files,
            "bytes": self.bytes,
        }


@dataclass(frozen=True)
class PruneResult:
    """The answer of `prune`: each kind that goes, or went; with `dry_run` nothing was removed."""

    kinds: tuple[PrunedKind, ...]
    notices: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def bytes(self) -> int:
        return sum(kind.bytes for kind in self.kinds)

    def as_json(self) -> Json:
        return {"pruned": [kind.as_json() for kind in self.kinds], "bytes": self.bytes, "dry_run": self.dry_run}


@dataclass(frozen=True)
class RemovalResult:
    """A client that goes, or went, with all that is in its space: `waiting` are drafts that wait for a person.

    `batches` counts those that hold tasks of it: those of its own go, and its rows go out of others. `commit` is the
    house's commit that holds its tombstone; None in rehearsal.
    """

    client: str
    title: str
    cards: int
    days: int
    chats: int
    tasks: int
    waiting: int
    commits: int
    files: int
    bytes: int
    commit: str | None = None
    notices: tuple[str, ...] = ()
    dry_run: bool = False
    batches: int = 0

    def as_json(self) -> Json:
        counts = ("cards", "days", "chats", "tasks", "waiting", "commits", "batches", "files", "bytes")
        told: Json = {"client": self.client, "title": self.title, **{name: getattr(self, name) for name in counts}}
        return {**told, "commit": self.commit, "dry_run": self.dry_run}
