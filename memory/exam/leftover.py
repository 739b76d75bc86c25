"""Temporary files that a process which was killed left behind, and which of them belong to a write that is going on.

A pen that is held writes at any moment, and each of its commits is in flight for a few milliseconds. What it lays
beside a file carries the commit's id, and the id stands in the redo log or in the note of what was laid; anything else
that is still there when the examination ends was left.
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

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


def work_leftovers(space: Space) -> Iterator[Problem]:
    """What a process that was killed left among tasks and batches; nothing there is opened: workers write it."""
    for top in ("staging", "batches") if space.client is None else ("staging",):
        folder = space.folder / top
        for one in names_in(folder):
            if not (folder / one).is_symlink() and (folder / one).is_dir():
                yield from _below(folder / one, space.path(f"{top}/{one}/"))


def _below(folder: Path, shown: str) -> Iterator[Problem]:
    try:
        paths = list_beneath(folder, max_files=MAX_TASK_FILES)
    except (UnsafeFile, OSError):
        return  # whoever reads the task or the batch says so
    for path in paths:
        head, _, name = path.rpartition("/")
        if is_tmp(name) and not being_written(folder / path):
            yield from name_problems(f"{shown}{head}/" if head else shown, [name])


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
