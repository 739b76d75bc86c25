"""What a redo record holds: for each file of one or more commits, what is to become of it. Pure values.

Commits that were made durable together share a record. It holds each of their files once: as the first of them found
it and as the last leaves it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from .splice import Splice


@dataclass(frozen=True)
class Rewrite:
    """A file that is replaced; `before` is None when it was absent."""

    path: str
    before: str | None
    after: str
    pieces: tuple[Splice, ...]


@dataclass(frozen=True)
class Removal:
    """A file that goes."""

    path: str
    before: str
    after: ClassVar[None] = None
    pieces: ClassVar[tuple[Splice, ...]] = ()


@dataclass(frozen=True)
class Line:
    """A line with its newline; `seen` says how often it stood in the file already, so that an equal one counts."""

    text: bytes
    seen: int


@dataclass(frozen=True)
class Addition:
    """Lines added to a file that had `at` bytes; `lead` when its last line had no newline, so that one goes first."""

    path: str
    at: int
    lead: bool
    lines: tuple[Line, ...]

    @cached_property
    def due(self) -> bytes:
        return (b"\n" if self.lead else b"") + b"".join(line.text for line in self.lines)


Turn = Rewrite | Removal
"""A change of a file as a whole, from the content with one hash to that with another."""

FileChange = Turn | Addition


@dataclass(frozen=True)
class Record:
    """Commits that stand or fall together, in their order.

    Paths are relative to the workspace, `folder` names the one that it was made in (identity.py). `synced` is how much
    of the redo log was known to be on the disk when this was written; None where that was all of it (durability.py).
    """

    workspace: str
    epoch: int
    commits: tuple[str, ...]
    files: tuple[FileChange, ...]
    folder: str = ""
    synced: int | None = None

    @property
    def tag(self) -> str:
        """The last commit's id: what the temporary files of the record are named by."""
        return self.commits[-1]
