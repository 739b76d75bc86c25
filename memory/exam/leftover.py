"""Temporary files that a process which was killed left behind, and which of them belong to a write that is going on.

A pen that is held writes at any moment, and each of its commits is in flight for a few milliseconds. What it lays
beside a file carries the commit's id, and the id stands in the redo log or in the note of what was laid; anything else
that is still there when the examination ends was left.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator

from ..commit.laid import NOTE
from ..files import being_written, is_tmp
from ..guard import UnsafeFile, list_beneath
from ..problem import Problem
from ..room import RoomUnfit, read_room_file
from ..view import View
from ..workspace import Space
from .legible import names_in
from .names import name_problems

MAX_TASK_FILES = 20_000
_COMMIT = re.compile(r"c\d+-[0-9a-z]{6}")


def staging_leftovers(space: Space) -> Iterator[Problem]:
    """What a process that was killed left among the tasks; nothing there is opened for reading: workers write it."""
    folder = space.folder / "staging"
    for task in names_in(folder):
        if (folder / task).is_symlink() or not (folder / task).is_dir():
            continue
        try:
            paths = list_beneath(folder / task, max_files=MAX_TASK_FILES)
        except (UnsafeFile, OSError):
            continue  # whoever reads the task says so
        for path in paths:
            head, _, name = path.rpartition("/")
            if is_tmp(name) and not being_written(folder / task / path):
                yield from name_problems(space.path(f"staging/{task}/{head}/" if head else f"staging/{task}/"), [name])


def without_writing(view: View, found: Iterable[Problem], *, held: bool) -> list[Problem]:
    """The problems without those leftovers that a write needs, or that rolling forward is going to look at."""
    problems = list(found)
    if not any(problem.kind == "leftover" for problem in problems):
        return problems
    needed = set(view.pending_commits()) | ({_laid(view)} if held else set())
    foreign = view.refused() is not None
    return [
        p for p in problems if p.kind != "leftover" or not _in_use(view, p.path, needed, held=held, foreign=foreign)
    ]


def _in_use(view: View, path: str, needed: Collection[str], *, held: bool, foreign: bool) -> bool:
    """Whether a temporary file is somebody's: it may also hold a person's save that was swapped out."""
    tag = path.removesuffix(".tmp").rpartition(".")[2]
    if tag in needed or (foreign and _COMMIT.fullmatch(tag) is not None):
        return True
    place = view.workspace.root / path
    return held and (not os.path.lexists(place) or being_written(place))


def _laid(view: View) -> str:
    """The commit whose files were laid last."""
    try:
        return str(json.loads(read_room_file(view.workspace.root, NOTE) or b"{}").get("commit", ""))
    except (ValueError, AttributeError, RoomUnfit, OSError):
        return ""
