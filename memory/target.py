"""Where a change to memory may go, matched whole by a small grammar and built again from its parts.

    projects/<id>.md          a project's card
    projects/<id>/<path>      a file of that project
    research/<id>.md          a finding
    MEMORY.md, USER.md        what the agent has learned; who it works with

Targets are relative to a space (the root, or `clients/<client>/`); no target can name another space.
"""

import re
from dataclasses import dataclass
from typing import Literal

from .errors import MemoryFault
from .ids import CardId, shown

_SEGMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_MAX_DEPTH = 8

Shelf = Literal["projects", "research"]


class BadTarget(MemoryFault):
    """Raised when text names no place that a draft may change."""

    exit_code = 2

    def __init__(self, text: str, rule: str) -> None:
        super().__init__(
            f"target {shown(text)}: {rule}; a target is projects/<id>.md, projects/<id>/<path>, research/<id>.md, "
            "MEMORY.md or USER.md"
        )


@dataclass(frozen=True)
class CardTarget:
    """A card on one of the two shelves of a space."""

    shelf: Shelf
    card: CardId

    def __str__(self) -> str:
        return f"{self.shelf}/{self.card}.md"


@dataclass(frozen=True)
class FileTarget:
    """A file of a project; `path` is made of safe segments joined by '/'."""

    project: CardId
    path: str

    def __str__(self) -> str:
        return f"projects/{self.project}/{self.path}"


@dataclass(frozen=True)
class NoteTarget:
    """MEMORY.md or USER.md of a space."""

    name: Literal["MEMORY.md", "USER.md"]

    def __str__(self) -> str:
        return self.name


Target = CardTarget | FileTarget | NoteTarget


def parse_target(text: str) -> Target:
    """The target that `text` names; raises BadTarget (or BadId for a card's id)."""
    if text == "MEMORY.md":
        return NoteTarget("MEMORY.md")
    if text == "USER.md":
        return NoteTarget("USER.md")
    shelf, slash, rest = text.partition("/")
    if not slash or shelf not in ("projects", "research"):
        raise BadTarget(text, "no such place")
    head, slash, path = rest.partition("/")
    if not slash:
        if not head.endswith(".md"):
            raise BadTarget(text, "a card is a .md file")
        return CardTarget("projects" if shelf == "projects" else "research", CardId(head[: -len(".md")]))
    if shelf != "projects":
        raise BadTarget(text, "only projects have files of their own")
    segments = path.split("/")
    if len(segments) > _MAX_DEPTH:
        raise BadTarget(text, f"at most {_MAX_DEPTH} folders deep")
    for segment in segments:
        if not _SEGMENT.fullmatch(segment) or segment.endswith("."):
            raise BadTarget(text, f"{shown(segment)} is no safe file name")
        if segment.split(".")[0].lower() in CardId.reserved:
            raise BadTarget(text, f"{shown(segment)} is a reserved name")
    return FileTarget(CardId(head), "/".join(segments))
