"""What a sub-agent starts from, gathered once and stored under its own hash.

Workers that start from the same memory read the same folder, so the beginning of their prompts is the same to the byte.
A snapshot is never changed; `.onepen/cache/` may be deleted at any time and the next `store` writes it again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from . import files
from .budget import first_lines, shares
from .errors import MemoryFault
from .fence import Fences, fences_of
from .overview import overview, overview_of
from .settings import LimitSettings
from .target import Shelf
from .tokens import estimate
from .view import View
from .workspace import SHELVES, Space, Workspace

SNAPSHOT_FILES = ("RULES.md", "OPS.md", "BRIEF.md", "agents.md", "projects.md", "research.md")
"""The files of a snapshot, in the order in which they stand in a prompt."""


INDEX_LEAST = 300
"""How many tokens (estimated) an index gets at least, however long the notes are."""
REGISTRY_TOKENS = 400
_DEFINITION = 400
"""What is kept free for the agent's own prompt, which stands behind the snapshot."""
_ARCHIVED = 40
"""What the line takes that counts the archived cards of an index in their place."""
_WHOLE = "whole"


class SnapshotIncomplete(MemoryFault):
    """Raised when a folder lacks a file that every snapshot has."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(f"{folder}: no snapshot here, {name} is missing")


@dataclass(frozen=True)
class Snapshot:
    """`files` holds a pair of name and text for each of SNAPSHOT_FILES; a text is empty or ends with a newline.

    `whole` are the files that stand there only in part, by their workspace path: a worker reads on in them.
    """

    sha: str
    files: tuple[tuple[str, str], ...]
    whole: tuple[tuple[str, str], ...] = ()

    def text(self, name: str) -> str:
        return dict(self.files)[name]


def snapshot_of(texts: Mapping[str, str], whole: Mapping[str, str] | None = None) -> Snapshot:
    """The snapshot of these texts; a name without text is there all the same, empty."""
    files = tuple((name, _closed(texts.get(name, ""))) for name in SNAPSHOT_FILES)
    kept = tuple(sorted((whole or {}).items()))
    digest = hashlib.sha256()
    for name, text in (*files, *((f"{_WHOLE}/{path}", text) for path, text in kept)):
        data = text.encode()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return Snapshot(digest.hexdigest(), files, kept)


def take(view: View, space: Space, *, tools: int = 0) -> Snapshot:
    """What a sub-agent of this space starts from, as it is now; `tools` are the tokens of its tools.

    What is left out for a budget is said in the text. Raises what `view` raises for a file that can't be read.
    """
    house = view.workspace.house
    return _made(
        _read(view, ["agents/RULES.md"]),
        _read(view, [operating_rules(view), *_own(space, "OPS.md")]),
        _read(view, [house.path("BRIEF.md"), *_own(space, "BRIEF.md")]),
        view.text("agents/_index.md") or "",
        *(_File(path, view.bytes(path) or b"") for path in map(space.index_path, SHELVES)),
        view.workspace.settings.limits,
        tools,
        fences_of(view.workspace.root),
    )


_Texts = tuple[tuple[str, str], ...]


class _File(NamedTuple):
    path: str
    data: bytes


@lru_cache(maxsize=4)
def _made(
    rules: _Texts,
    ops: _Texts,
    brief: _Texts,
    agents: str,
    projects: "_File",
    research: "_File",
    limits: LimitSettings,
    tools: int,
    fences: Fences,
) -> Snapshot:
    """The snapshot of what was read; remembered, since a thousand attempts may start from the same texts."""
    notes = {path: text for part in (rules, ops, brief) for path, text in part}
    cut = {path: first_lines(text, limits.note_tokens, path) for path, text in notes.items()}
    registry = overview(agents, min(REGISTRY_TOKENS, limits.index_tokens), "agents/_index.md")
    whole = {path: text for path, text in notes.items() if cut[path].left_out}
    if registry.left_out:
        whole["agents/_index.md"] = agents
    shown = {path: one.text for path, one in cut.items()}
    before = sum(map(estimate, (*shown.values(), registry.text)))
    indexes = {shelf: file for shelf, file in zip(SHELVES, (projects, research), strict=True) if file.data.strip()}
    sizes = {shelf: file.data for shelf, file in indexes.items()}
    budgets = index_budgets(sizes, limits.start_tokens - tools - before - _DEFINITION, limits.index_tokens)

    def index(shelf: Shelf) -> str:
        """What stands in an index was written by agents, too: it comes between fences."""
        if shelf not in indexes:
            return ""
        path, file = f"{shelf}/_index.md", indexes[shelf]
        return fences.around(path, overview_of(file.data, budgets[shelf], path, file.path).text)

    return snapshot_of(
        {
            "RULES.md": _joined(rules, shown),
            "OPS.md": _joined(ops, shown),
            "BRIEF.md": _joined(brief, shown),
            "agents.md": registry.text,
            "projects.md": index("projects"),
            "research.md": index("research"),
        },
        whole,
    )


def forget() -> None:
    """Forgets the snapshots that were made, as a process that has just come up."""
    _made.cache_clear()


def index_budgets(indexes: Mapping[Shelf, bytes], room: int, most: int) -> dict[Shelf, int]:
    """How many tokens each index gets of `room`: at least so much that it says something, at most `most`."""
    wanted = [_wanted(data, most) for data in indexes.values()]
    return dict(zip(indexes, shares(wanted, max(room, len(indexes) * INDEX_LEAST)), strict=True))


def _wanted(data: bytes, most: int) -> int:
    """How many tokens of an index are wanted; of a large one all, unseen: no byte is less than a fifth of a token."""
    return most if len(data) > 5 * most else min(most, estimate(data.decode(errors="replace")) + _ARCHIVED)


def store(workspace: Workspace, snapshot: Snapshot) -> Path:
    """The folder of a snapshot, written if it isn't there yet; safe beside others that store the same."""
    folder = workspace.machine_room / "cache" / "context" / snapshot.sha
    write(folder, snapshot, within=workspace.root)
    return folder


def write(folder: Path, snapshot: Snapshot, *, within: Path) -> None:
    """Writes a snapshot into a folder below `within`, as far as it isn't there yet; `load` gives it back."""
    files.make_folder(folder, within=within)
    for name, text in snapshot.files:
        path = folder / name
        data = text.encode()
        if not path.is_file() or path.read_bytes() != data:
            files.replace(path, data)
    for name, text in snapshot.whole:
        path, data = folder / _WHOLE / name, text.encode()
        if not path.is_file() or path.read_bytes() != data:
            files.make_folder(path.parent, within=folder)
            files.replace(path, data)


def load(folder: Path) -> Snapshot:
    """The snapshot in a folder; raises SnapshotIncomplete."""
    texts = {}
    for name in SNAPSHOT_FILES:
        try:
            texts[name] = (folder / name).read_bytes().decode()
        except FileNotFoundError as e:
            raise SnapshotIncomplete(folder, name) from e
    below = folder / _WHOLE
    whole = {path.relative_to(below).as_posix(): path.read_bytes().decode() for path in below.rglob("*.md")}
    return snapshot_of(texts, whole)


def operating_rules(view: View) -> str:
    """The path of the house's operating rules: OPS.md or, where there is none, AGENTS.md."""
    return "AGENTS.md" if view.bytes("OPS.md") is None and view.bytes("AGENTS.md") is not None else "OPS.md"


def _read(view: View, paths: Sequence[str]) -> _Texts:
    return tuple((path, text) for path in paths if (text := view.text(path)))


def _joined(texts: _Texts, shown: Mapping[str, str]) -> str:
    """The texts as they are shown, each after the first introduced by its path."""
    parts = [
        _closed(shown[path]) if k == 0 else f"\n({path})\n\n{_closed(shown[path])}" for k, (path, _) in enumerate(texts)
    ]
    return "".join(parts)


def _own(space: Space, name: str) -> list[str]:
    return [] if space.client is None else [space.path(name)]


def _closed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
