"""What a sub-agent starts from, gathered once and stored under its own hash.

Workers that start from the same memory read the same folder, so the beginning of their prompts is the same to the byte.
A snapshot is never changed; `.onepen/cache/` may be deleted at any time and the next `store` writes it again.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import files
from .archive import at_work
from .budget import within_budget
from .errors import MemoryFault
from .fence import Fences, fences_of
from .view import View
from .workspace import Space, Workspace

SNAPSHOT_FILES = ("RULES.md", "OPS.md", "BRIEF.md", "agents.md", "projects.md", "research.md")
"""The files of a snapshot, in the order in which they stand in a prompt."""


class SnapshotIncomplete(MemoryFault):
    """Raised when a folder lacks a file that every snapshot has."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(f"{folder}: no snapshot here, {name} is missing")


@dataclass(frozen=True)
class Snapshot:
    """`files` holds a pair of name and text for each of SNAPSHOT_FILES; a text is empty or ends with a newline."""

    sha: str
    files: tuple[tuple[str, str], ...]

    def text(self, name: str) -> str:
        return dict(self.files)[name]


def snapshot_of(texts: dict[str, str]) -> Snapshot:
    """The snapshot of these texts; a name without text is there all the same, empty."""
    whole = tuple((name, _closed(texts.get(name, ""))) for name in SNAPSHOT_FILES)
    digest = hashlib.sha256()
    for name, text in whole:
        data = text.encode()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return Snapshot(digest.hexdigest(), whole)


def take(view: View, space: Space) -> Snapshot:
    """What a sub-agent of this space starts from, as it is now; what an index leaves out for its budget is said in it.

    Raises what `view` raises for a file that can't be read.
    """
    house, fences = view.workspace.house, fences_of(view.workspace.root)
    return _made(
        view.text("agents/RULES.md") or "",
        joined(view, [operating_rules(view), *_own(space, "OPS.md")]),
        joined(view, [house.path("BRIEF.md"), *_own(space, "BRIEF.md")]),
        view.text("agents/_index.md") or "",
        view.text(space.index_path("projects")) or "",
        view.text(space.index_path("research")) or "",
        view.workspace.settings.limits.index_tokens,
        fences,
    )


@lru_cache(maxsize=16)
def _made(
    rules: str, ops: str, brief: str, agents: str, projects: str, research: str, budget: int, fences: Fences
) -> Snapshot:
    """The snapshot of what was read; remembered, since a thousand attempts may start from the same texts."""

    def index(path: str, text: str) -> str:
        """What stands in an index was written by agents, too: it comes between fences."""
        kept = within_budget(at_work(text), budget).text
        return fences.around(path, kept) if kept.strip() else ""

    return snapshot_of(
        {
            "RULES.md": rules,
            "OPS.md": ops,
            "BRIEF.md": brief,
            "agents.md": within_budget(agents, budget, what="agents").text,
            "projects.md": index("projects/_index.md", projects),
            "research.md": index("research/_index.md", research),
        }
    )


def store(workspace: Workspace, snapshot: Snapshot) -> Path:
    """The folder of a snapshot, written if it isn't there yet; safe beside others that store the same."""
    folder = workspace.machine_room / "cache" / "context" / snapshot.sha
    files.make_folder(folder)
    for name, text in snapshot.files:
        path = folder / name
        data = text.encode()
        if not path.is_file() or path.read_bytes() != data:
            files.replace(path, data)
    return folder


def load(folder: Path) -> Snapshot:
    """The snapshot in a folder; raises SnapshotIncomplete."""
    texts = {}
    for name in SNAPSHOT_FILES:
        try:
            texts[name] = (folder / name).read_bytes().decode()
        except FileNotFoundError as e:
            raise SnapshotIncomplete(folder, name) from e
    return snapshot_of(texts)


def operating_rules(view: View) -> str:
    """The path of the house's operating rules: OPS.md or, where there is none, AGENTS.md."""
    return "AGENTS.md" if view.bytes("OPS.md") is None and view.bytes("AGENTS.md") is not None else "OPS.md"


def joined(view: View, paths: list[str]) -> str:
    """The texts of those files that are there, each after the first introduced by its path."""
    texts = [(path, text) for path in paths if (text := view.text(path))]
    parts = [_closed(text) if k == 0 else f"\n({path})\n\n{_closed(text)}" for k, (path, text) in enumerate(texts)]
    return "".join(parts)


def _own(space: Space, name: str) -> list[str]:
    return [] if space.client is None else [space.path(name)]


def _closed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
