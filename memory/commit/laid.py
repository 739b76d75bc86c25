"""The new versions of files, laid beside the old ones before a commit, so that a full disk shows before it stands.

They are noted in `.onepen/redo/laid` first: a process that dies between laying them and the commit leaves files that no
record names, and the next opening finds them by the note. The note is not synced: that would be one more wait in each
commit. A power cut may leave it empty, and what was laid whole; then the workspace is searched for such files. A file
in a folder that is yet to be made isn't laid: readers would see the folder before the commit.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .. import files
from ..history import sort_key
from ..links import LinkLeadsOut, resolve
from ..room import read_room_file
from .record import FileChange, Rewrite

NOTE = ".onepen/redo/laid"
_NOTE_TMP = ".laid.new.tmp"
_LAID = re.compile(r"\..+\.(c\d+-[0-9a-z]{6})\.tmp")
_ELSEWHERE = frozenset({".onepen", ".git", "staging"})


@dataclass(frozen=True)
class Laid:
    """What was laid for one commit, as workspace path and the file beside it."""

    commit: str
    places: Mapping[str, Path]

    def take_up(self, disk: files.Disk) -> None:
        """Remove it again: there will be no commit."""
        for path in self.places.values():
            with suppress(OSError):
                disk.unlink(path)


def lay(
    root: Path,
    commit: str,
    changes: Sequence[tuple[FileChange, Path]],
    contents: Mapping[str, bytes],
    disk: files.Disk,
    tags: Mapping[str, str] | None = None,
) -> Laid:
    """Lay the files that a commit replaces, each change given with its real file; raises OSError, then none is left.

    `tags` are those that are not the commit's id, by path.
    """
    is_there = cache(Path.is_dir)
    due = [(change, real) for change, real in changes if isinstance(change, Rewrite) and is_there(real.parent)]
    if not due:
        return Laid(commit, {})
    note = {"commit": commit, "files": [[change.path, change.before, change.after] for change, _ in due]}
    files.replace(root / NOTE, json.dumps(note).encode() + b"\n", tmp=_NOTE_TMP, disk=disk)
    tag = tags or {}
    laid = files.lay(
        [
            (real, files.tmp_name(real.name, tag.get(change.path, commit)), contents[change.path])
            for change, real in due
        ],
        disk=disk,
    )
    return Laid(commit, {change.path: beside for (change, _), beside in zip(due, laid, strict=True)})


def clear(root: Path, recorded: Iterable[str], highest: int, disk: files.Disk) -> None:
    """Remove what was laid for a commit that is not among those recorded, and so never was.

    What may be a person's text stays, and what can't be removed, too: `doctor` shows it. `highest` is the highest
    number that a commit has.
    """
    with suppress(OSError):
        files.remove((root / NOTE).with_name(_NOTE_TMP), disk=disk)
    try:
        note = json.loads(read_room_file(root, NOTE) or b"null")
        commit, noted = str(note["commit"]), [(str(path), before, after) for path, before, after in note["files"]]
        sort_key(commit)  # it becomes part of file names
    except (ValueError, TypeError, KeyError):
        if os.path.lexists(root / NOTE):  # a power cut has cut it short
            _clear_above(root, highest, disk)
            with suppress(OSError):
                files.remove(root / NOTE, disk=disk)
        return
    if commit in recorded:
        return  # rolling forward looks after them
    for path, before, after in noted:
        with suppress(OSError, LinkLeadsOut):
            real = resolve(root, path)
            tmp = real.with_name(files.tmp_name(real.name, commit))
            left = tmp.read_bytes()
            stands = files.sha256(real.read_bytes()) if real.exists() else None
            if stands == before or not left or files.sha256(left) in (before, after):
                disk.unlink(tmp)


def _clear_above(root: Path, highest: int, disk: files.Disk) -> None:
    """Remove what was laid for commits whose number none has: they never swapped anything, so none is a person's."""
    for path in root.rglob(".*.tmp"):
        laid = _LAID.fullmatch(path.name)
        if laid and sort_key(laid[1])[0] > highest and not _ELSEWHERE.intersection(path.relative_to(root).parts):
            with suppress(OSError):
                disk.unlink(path)
