"""The redo log: what makes a commit durable. This module is pure; pen.py and recovery.py carry out what it says.

One record is one line, `<crc32, 8 hex> <json>\\n`, and holds all of one or more commits: for each file that is
replaced, the pieces that change and the hash before and after; for each that goes, the hash before; for each file that
is only added to, the lines and where they go. How a file follows its records is said in settle.py.

- A line that is torn, zeroed or doesn't match its checksum, with no good record after it, is the tail of a write that
  was never acknowledged: it is cut. With a good record after it, also one whose line begins somewhere else than it was
  written, the log is damaged, and nothing is cut or written.
- A record that was written lazily says how far the log was synced then. What is bad behind that point is the tail of
  writes that a power cut may take in any order, with the records behind it, and is cut, too.
- Records of version 1 hold one commit each, and are read as what they mean today. Any other version is refused.
"""

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import MemoryFault
from ..history import sort_key
from ..ids import shown
from ..room import REDO_LOG
from .reach import may_remove, may_write
from .record import Addition, FileChange, Line, Record, Removal, Rewrite
from .splice import Splice

VERSION = 2
_HEAD = re.compile(rb"([0-9a-f]{8}) \{")
_DECODER = json.JSONDecoder()


class RedoDamaged(MemoryFault):
    """Raised when what is bad can't be the torn end of the last write: an acknowledged commit may be in it."""

    exit_code: ClassVar[int] = 6

    def __init__(self, path: str, line: int) -> None:
        super().__init__(
            f"{path}:{line}: this record is damaged and had been acknowledged; nothing was changed. Keep a copy of the "
            "file, then remove it to go on without the commits in it",
            hint="onepen doctor",
        )


class ForeignRedo(MemoryFault):
    """Raised when the redo log was not written here: for another workspace, by another version, or by no onepen."""

    exit_code: ClassVar[int] = 6

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was changed. Move the file away to go on without it")


@dataclass(frozen=True)
class Scan:
    """The good records of a redo log, and what comes after the last of them."""

    records: tuple[Record, ...]
    torn_tail: bytes


def encode(record: Record) -> bytes:
    """The record as its line."""
    found: dict[str, object] = {
        "v": VERSION,
        "workspace": record.workspace,
        "folder": record.folder,
        "epoch": record.epoch,
        "commits": record.commits,
        "files": [_to_json(change) for change in record.files],
    }
    if record.synced is not None:
        found["synced"] = record.synced
    body = json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def scan(data: bytes, path: str = REDO_LOG, at: int = 0) -> Scan:
    """Read a redo log, or what of it begins at byte `at`.

    Raises RedoDamaged, or ForeignRedo for a record of another version or for no file of memory.
    """
    records: list[Record] = []
    bad: tuple[int, int] | None = None  # line number, offset
    offset = 0
    for number, line in enumerate(_lines(data), start=1):
        body = _body(line)
        if body is None:
            bad = bad or (number, offset)
        elif bad is not None:
            if not _behind(body, at + bad[1]):
                raise RedoDamaged(path, bad[0])
        else:
            records.append(_record(body, path))
        offset += len(line)
    if bad is not None and _holds_record(data[bad[1] :], at + bad[1]):
        raise RedoDamaged(path, bad[0])
    return Scan(tuple(records), data[bad[1] :] if bad else b"")


def check_origin(record: Record, workspace: str, folder: str, accepted: str, path: str = REDO_LOG) -> None:
    """Raise ForeignRedo for a record that was not made for this workspace and in this folder, or accepted for it."""
    if record.workspace != workspace:
        reason = f"written for another workspace ({shown(record.workspace)}, this one is {workspace})"
        raise ForeignRedo(path, reason)
    if record.folder != folder and accepted != folder:
        reason = (
            "written in another folder, as when a workspace was copied or restored, or by a stranger. If the workspace "
            f"is your own copy, `echo {folder} > .onepen/redo/accepted` lets the next command finish its commits"
        )
        raise ForeignRedo(path, reason)


def _lines(data: bytes) -> list[bytes]:
    """Lines by newline alone: `splitlines` of bytes also cuts at a carriage return."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _body(line: bytes) -> bytes | None:
    """The JSON of a line whose checksum is right."""
    if not line.endswith(b"\n") or line[8:9] != b" ":
        return None
    body = line[9:-1]
    return body if line[:8] == b"%08x" % zlib.crc32(body) else None


def _behind(body: bytes, bad: int) -> bool:
    """Whether a record was written lazily while what is bad at that byte was not yet on the disk."""
    try:
        synced = json.loads(body).get("synced")
    except (ValueError, AttributeError, RecursionError):
        return False
    return type(synced) is int and synced <= bad


def _holds_record(tail: bytes, bad: int) -> bool:
    """Whether a whole record stands in what is no line: of the last write only the end can be missing.

    Nothing or zeros may follow where that write broke off behind its record; anything else was written later. What was
    written lazily may be broken in any way.
    """
    for found in _HEAD.finditer(tail):
        start = found.end() - 1
        try:
            text = tail[start:].decode("utf-8", "replace")
            value, length = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            continue
        end = start + len(text[:length].encode())
        body = tail[start:end]
        # The keys keep out what a card may hold: inside a record, quotes are escaped.
        whole = isinstance(value, dict) and "workspace" in value and found[1] == b"%08x" % zlib.crc32(body)
        if whole and (found.start() > 0 or tail[end:].strip(b"\0")) and not _behind(body, bad):
            return True
    return False


def _record(body: bytes, path: str) -> Record:
    try:
        found: dict[str, Any] = json.loads(body)
        commits = _commits(found, path)
        record = Record(
            str(found["workspace"]),
            int(found["epoch"]),
            commits,
            tuple(_from_json(change) for change in found["files"]),
            str(found.get("folder", "")),
            None if found.get("synced") is None else _count(found["synced"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise ForeignRedo(path, "holds a record that onepen doesn't write") from e
    for change in record.files:
        if not may_write(change.path):
            raise ForeignRedo(path, f"holds a record for {shown(change.path, 200)}, which no commit writes")
        if isinstance(change, Removal) and not may_remove(change.path):
            raise ForeignRedo(path, f"holds a record for {shown(change.path, 200)}, which no commit removes")
    return record


def _commits(found: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """The ids of a record's commits, at least one; of version 1 it is the only one. Raises ForeignRedo for others."""
    version = found.get("v")
    if type(version) is not int or version not in (1, VERSION):
        raise ForeignRedo(path, f"written by another version of onepen (record version {repr(version)[:40]})")
    commits = tuple(_text(commit) for commit in ([found["commit"]] if version == 1 else found["commits"]))
    if not commits:
        raise ValueError("a record without a commit")
    for commit in commits:
        sort_key(commit)  # it becomes part of file names
    return commits


def _to_json(change: FileChange) -> dict[str, object]:
    match change:
        case Addition():
            lines = [[line.text.decode(), line.seen] for line in change.lines]
            return {"path": change.path, "at": change.at, "lead": change.lead, "append": lines}
        case Removal():
            return {"path": change.path, "before": change.before, "remove": True}
        case Rewrite():
            found: dict[str, object] = {"path": change.path, "before": change.before, "after": change.after}
    try:
        found["splices"] = [[piece.offset, piece.old.decode(), piece.new.decode()] for piece in change.pieces]
    except UnicodeDecodeError:  # a file of a project need not be UTF-8
        found["base64"] = True
        found["splices"] = [[piece.offset, _to_base64(piece.old), _to_base64(piece.new)] for piece in change.pieces]
    return found


def _from_json(found: Mapping[str, Any]) -> FileChange:
    path = _text(found["path"])
    if "append" in found:
        lines = tuple(Line(_text(text).encode(), _count(seen)) for text, seen in found["append"])
        return Addition(path, _count(found["at"]), bool(found["lead"]), lines)
    if "remove" in found:
        if found["remove"] is not True:
            raise TypeError("no removal")
        return Removal(path, _text(found["before"]))
    to_bytes: Callable[[str], bytes] = base64.b64decode if found.get("base64") else str.encode
    pieces = tuple(Splice(_count(at), to_bytes(_text(old)), to_bytes(_text(new))) for at, old, new in found["splices"])
    before = found["before"]
    return Rewrite(path, None if before is None else _text(before), _text(found["after"]), pieces)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise TypeError("no count")
    return value


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
