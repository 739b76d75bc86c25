"""Takes a removed client out of `batches/`: a batch of its own goes, of one that it shared its rows go.

What batches do is known to the orchestrator; here only the form of their files is. Each row is a line of tasks.jsonl
that names its client; it is found again in run.jsonl by its key, and in replies/ by the id of its task. tasks.jsonl is
written last: as long as a row of the client stands in it, it is known that something is still to be done.
"""

import json
import os
import re
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from .. import files, trash
from ..ids import ClientId
from ..links import resolve

BATCHES = "batches"
_SPEC, _TASKS, _JOURNAL, _REPLIES = "batch.toml", "tasks.jsonl", "run.jsonl", "replies"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]*-[0-9a-f]{8}")
_RAW = re.compile(r"input(?:\.[a-z]{1,8})?")
_MADE_OF_ALL = ("report.md", "progress.svg")


def forget_batches(root: Path, client: ClientId, disk: files.Disk) -> None:
    """Take the client out of all batches; raises LinkLeadsOut or an OSError, and can then be run again."""
    for folder in _folders(resolve(root, BATCHES)):
        rows = [(line, _said(line)) for line in _lines(folder / _TASKS)]
        theirs = [said for line, said in rows if _is_of(line, said, client)]
        if _is_whole(folder, rows, theirs, client):
            trash.discard(root, folder, disk=disk)
        elif theirs:
            _take_out(root, folder, client, rows, disk)


def _is_whole(folder: Path, rows: Collection[object], theirs: Collection[object], client: ClientId) -> bool:
    """Whether all of a batch is the client's: it says so, each of its rows does, or it was never begun."""
    if not os.path.lexists(folder / _SPEC) and not os.path.lexists(folder / _JOURNAL):
        # A copy of rows whose clients nobody knows, cut short by a crash: the same command makes it anew.
        return _NAME.fullmatch(folder.name) is not None and any(map(_RAW.fullmatch, os.listdir(folder)))  # noqa: PTH208
    return _spec(folder).get("client") == client or (bool(rows) and len(rows) == len(theirs))


def _take_out(
    root: Path, folder: Path, client: ClientId, rows: list[tuple[bytes, dict[str, Any]]], disk: files.Disk
) -> None:
    keys = {str(said.get("key")) for line, said in rows if _is_of(line, said, client)}
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if _RAW.fullmatch(name) or name in _MADE_OF_ALL:
            files.remove(folder / name, disk=disk)
    context = folder / "context"
    if not context.is_symlink() and os.path.lexists(context / client):
        trash.discard(root, context / client, disk=disk)
    journal = [(line, _said(line)) for line in _lines(folder / _JOURNAL)]
    tasks = {str(said["task"]) for _, said in journal if said.get("key") in keys and said.get("task")}
    _blank_replies(folder / _REPLIES, tasks, disk)
    _write(folder / _JOURNAL, b"".join(_without(line, said, keys, client) for line, said in journal), disk)
    left = b"".join(line for line, said in rows if not _is_of(line, said, client))
    _write(folder / _SPEC, _respelled(folder, b"".join(line for line, _ in rows), left), disk)
    _write(folder / _TASKS, left, disk)


def _respelled(folder: Path, before: bytes, after: bytes) -> bytes:
    """batch.toml with the hash and the number of the tasks that are left, where it was the hash of those before."""
    data = (folder / _SPEC).read_bytes()
    if _spec(folder).get("tasks_sha256") != files.sha256(before):
        return data  # written already, or no batch that anybody goes on with
    for name, value in (("tasks", str(after.count(b"\n"))), ("tasks_sha256", f'"{files.sha256(after)}"')):
        # Both stand before any text of several lines, which might hold such a line.
        data = re.sub(rb"(?m)^%s = .*$" % name.encode(), f"{name} = {value}".encode(), data, count=1)
    return data


def _blank_replies(folder: Path, tasks: Collection[str], disk: files.Disk) -> None:
    """Replies are found by the byte at which they begin: those of these tasks become blanks."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.glob("*.jsonl")):
        lines = _lines(path)
        kept = (b" " * (len(line) - 1) + b"\n" if _answers(line, tasks) else line for line in lines)
        _write(path, b"".join(kept), disk)


def _answers(line: bytes, tasks: Collection[str]) -> bool:
    id_ = _said(line).get("id")
    return isinstance(id_, str) and id_.rpartition("-")[0] in tasks


def _without(line: bytes, said: dict[str, Any], keys: Collection[str], client: ClientId) -> bytes:
    """A line of the run journal without what it says of these rows."""
    if said.get("key") in keys or said.get("client") == client:
        return b""
    named = said.get("keys")
    if not isinstance(named, list) or not any(key in keys for key in named):
        return line
    left = {**said, "keys": [key for key in named if key not in keys]}
    return json.dumps(left, ensure_ascii=False).encode() + b"\n"


def _is_of(line: bytes, said: dict[str, Any], client: ClientId) -> bool:
    """Whether a row is the client's; a line that can't be read is, if it looks so."""
    return said.get("client") == client if said else f'"client": "{client}"'.encode() in line


def _said(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _spec(folder: Path) -> dict[str, Any]:
    try:
        return {} if (folder / _SPEC).is_symlink() else tomllib.loads((folder / _SPEC).read_text())
    except (OSError, ValueError):
        return {}


def _folders(batches: Path) -> Iterator[Path]:
    """The folders of batches; no link is followed."""
    try:
        found = sorted(batches.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    yield from (path for path in found if not path.is_symlink() and path.is_dir())


def _lines(path: Path) -> list[bytes]:
    """The lines of a file with their ends, the last one with an end, too; none where there is no plain file."""
    if path.is_symlink() or not path.is_file():
        return []
    lines = path.read_bytes().split(b"\n")
    return [line + b"\n" for line in (lines if lines[-1] else lines[:-1])]


def _write(path: Path, data: bytes, disk: files.Disk) -> None:
    if not path.is_symlink() and path.is_file() and path.read_bytes() != data:
        files.replace(path, data, sync=True, disk=disk)
