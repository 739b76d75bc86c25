"""Whether a workspace still has all its parts: its folders, the cards and day logs of its commits, the history itself.

What is gone leaves no file that could be wrong, so it is looked for where it was once written down: in the commit logs
and in the counters of this machine.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from ..history import Commit, sort_key
from ..index.index import Index
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..room import ROOM
from ..target import Shelf
from ..workspace import SHELVES, Space, Workspace

_HOUSE_FOLDERS = ("agents", "projects", "research")
_CARD = re.compile(r"(projects|research)/([^/]+)\.md")
_DAY = re.compile(r"memory/(\d{4}-\d{2}-\d{2})\.md")
_STATUS = re.compile(r"^status:[ \t]*([\w-]+)", re.MULTILINE)


def folder_problems(space: Space) -> Iterator[Problem]:
    """Folders that are missing, that may not be read, and what stands in the place of one."""
    needed: tuple[str, ...] = _HOUSE_FOLDERS
    others: tuple[str, ...] = ("memory", "logs", "staging", "clients", "batches")
    if space.client is not None:
        made = (space.folder / "PERSONA.md").exists()
        needed, others = (SHELVES if made else ()), ("memory", "logs", "staging", *(() if made else SHELVES))
    for name in (*needed, *others):
        path = space.path(name)
        try:
            folder = resolve(space.root, path)
        except LinkLeadsOut:
            continue  # told where the folder is read
        if not os.path.lexists(folder) and not (space.root / path).is_symlink():
            if name in needed:
                again = "onepen init . makes an empty one" if space.client is None else "the next card makes it anew"
                message = f"this folder is missing: put it back from a backup or from git ({again})"
                yield Problem(path, 0, "folder_missing", "error", message)
        elif (reason := unusable(folder)) is not None:
            yield Problem(path, 0, "folder_unusable", "error", reason)


def room_problem(workspace: Workspace) -> Problem | None:
    """What stands in the place of the machine's own folder, if it is no folder that can be read."""
    room = workspace.machine_room
    if room.is_symlink():
        reason: str | None = "this is a link, and a folder of this machine's own is needed here"
    else:
        reason = unusable(room) if os.path.lexists(room) else None
    if reason is None:
        return None
    return Problem(ROOM, 0, "room_unfit", "error", f"{reason}: move it away, the next write makes it anew")


def unusable(folder: Path) -> str | None:
    """Why a folder that should be one can't be read."""
    try:
        os.scandir(folder).close()
    except NotADirectoryError:
        return "this is a file, and a folder is needed here"
    except FileNotFoundError:
        return "this is a link that leads to nothing, and a folder is needed here"
    except OSError as e:
        return f"this folder can't be read: {e.strerror}"
    return None


def lost_files(
    space: Space,
    commits: Sequence[Commit],
    indexes: dict[Shelf, Index | None],
    sealed: Collection[str],
    pending: Collection[str] = (),
) -> Iterator[Problem]:
    """Cards and day logs that commits wrote and that are gone without a trace; `commits` in their order.

    Paths in `pending` are yet to be written.
    """
    wrote = {path: commit for commit in commits for path in commit.paths if path not in pending}
    for path, commit in sorted(wrote.items()):
        inside = path.removeprefix(space.prefix)
        if _there(space.root, path) or path in commit.removed:
            continue
        card, day = _CARD.fullmatch(inside), _DAY.fullmatch(inside)
        if card is not None and card[2] != "_index" and not _archived(path, commits):
            index = indexes["projects" if card[1] == "projects" else "research"]
            if index is not None and index.card(card[2]) is None:
                message = (
                    f"commit {commit.id} wrote this card; it is gone, and its block in the index, too: put it back "
                    "from a backup or from git or, if it was to go, add its block with status: archived"
                )
                yield Problem(path, 0, "card_lost", "warning", message)
        elif day is not None and day[1] not in sealed:
            message = f"commit {commit.id} added to this log; it is gone: put it back from a backup or from git"
            yield Problem(path, 0, "day_lost", "error", message)
    tasks = sorted({commit.task for commit in commits if commit.task})
    if tasks and not os.path.lexists(space.folder / "staging"):
        message = (
            f"this folder is missing: what the commits of {len(tasks)} tasks came from can't be looked at any more "
            f"({', '.join(tasks[:3])}{', …' if len(tasks) > 3 else ''}): put it back from a backup or from git"
        )
        yield Problem(space.path("staging"), 0, "staging_missing", "warning", message)


def lost_history(workspace: Workspace, commits: Sequence[Commit], counted: int) -> Iterator[Problem]:
    """Commits that this machine counted, and that are in no log; `commits` of all spaces."""
    logs = workspace.root / "logs"
    if os.path.lexists(logs) and unusable(logs) is not None:
        return  # told already, and what is in it can't be known
    highest = max((sort_key(commit.id)[0] for commit in commits), default=0)
    if counted <= highest:
        return
    first, last = highest + 1, counted
    which = f"commit c{last}" if first == last else f"commits c{first}…c{last}"
    message = f"the history has lost {which}: put logs/ back from a backup or from git"
    if highest:
        message += ", unless they are on another branch"
    yield Problem("logs", 0, "history_lost", "warning" if highest else "error", message)


def _there(root: Path, path: str) -> bool:
    try:
        return os.path.lexists(resolve(root, path)) or (root / path).is_symlink()
    except (LinkLeadsOut, OSError):
        return True  # it can't be told, and the folder's own problem is


def _archived(path: str, commits: Sequence[Commit]) -> bool:
    """Whether the last status that commits gave a card is that it is archived."""
    last = ""
    for commit in commits:
        for change in commit.changes:
            if change.path == path:
                last = next(reversed(_STATUS.findall(change.new)), last)
    return last == "archived"
