"""The redo log: what makes a commit durable. This module is pure; pen.py and recovery.py carry out what it says.

One record is one line, `<crc32, 8 hex> <json>\\n`, and holds all of a commit: for each file that is replaced, the
pieces that change and the hash before and after; for each file that is only added to, the lines and where they go.

- A line that is torn, zeroed or doesn't match its checksum, with no good record after it, is the tail of a write that
  was never acknowledged: it is cut. With a good record after it, also one whose line begins somewhere else than it was
  written, the log is damaged, and nothing is cut or written.
- Rolling forward looks at each file by itself: it is as before (apply), as after (nothing to do), or neither: then a
  person has edited it, and their file stays.
"""

import base64
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import MemoryFault
from ..files import sha256
from ..history import sort_key
from ..ids import shown
from ..room import REDO_LOG
from .reach import may_write
from .splice import Splice, spliced

VERSION = 1
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
class Rewrite:
    """A file that is replaced; `before` is None when it was absent."""

    path: str
    before: str | None
    after: str
    pieces: tuple[Splice, ...]


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

    @property
    def due(self) -> bytes:
        return (b"\n" if self.lead else b"") + b"".join(line.text for line in self.lines)


FileChange = Rewrite | Addition


@dataclass(frozen=True)
class Record:
    """One commit; paths are relative to the workspace, `folder` names the one that it was made in (identity.py)."""

    workspace: str
    epoch: int
    commit: str
    files: tuple[FileChange, ...]
    folder: str = ""


@dataclass(frozen=True)
class Scan:
    """The good records of a redo log, and what comes after the last of them."""

    records: tuple[Record, ...]
    torn_tail: bytes


@dataclass(frozen=True)
class Write:
    """The file is to be replaced by `data`; `before` is the hash of what stands there now (None: nothing)."""

    path: str
    data: bytes
    before: str | None


@dataclass(frozen=True)
class Append:
    """`data` is to be added to a file that now has `size` bytes."""

    path: str
    data: bytes
    size: int


@dataclass(frozen=True)
class Fine:
    """Nothing is to be done."""

    path: str


@dataclass(frozen=True)
class KeptBeside:
    """A person's version of the file stays; `due` is the text of `commit` that doesn't stand in it."""

    path: str
    due: bytes
    commit: str


Outcome = Write | Append | Fine | KeptBeside


def encode(record: Record) -> bytes:
    """The record as its line."""
    body = json.dumps(
        {
            "v": VERSION,
            "workspace": record.workspace,
            "folder": record.folder,
            "epoch": record.epoch,
            "commit": record.commit,
            "files": [_to_json(change) for change in record.files],
        },
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def scan(data: bytes, path: str = REDO_LOG) -> Scan:
    """Read a redo log; raises RedoDamaged, or ForeignRedo for a record of another version or for no file of memory."""
    records: list[Record] = []
    bad: tuple[int, int] | None = None  # line number, offset
    offset = 0
    for number, line in enumerate(_lines(data), start=1):
        body = _body(line)
        if body is None:
            bad = bad or (number, offset)
        elif bad is not None:
            raise RedoDamaged(path, bad[0])
        else:
            records.append(_record(body, path))
        offset += len(line)
    if bad is not None and _holds_record(data[bad[1] :]):
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


def settle(records: Iterable[Record], read: Callable[[str], bytes | None]) -> tuple[Outcome, ...]:
    """What is to be done so that each file is as the records say, or stays as a person left it; one outcome per path.

    `read` gives a file as it is now, None if it is absent.
    """
    chains: dict[str, list[tuple[str, FileChange]]] = {}
    for record in records:
        for change in record.files:
            chains.setdefault(change.path, []).append((record.commit, change))
    return tuple(settle_file(path, chain, read(path)) for path, chain in chains.items())


def settle_file(path: str, chain: Sequence[tuple[str, FileChange]], now: bytes | None) -> Outcome:
    """The outcome for one file and all that was done to it, oldest first, each with its commit's id."""
    rewrites = [(commit, change) for commit, change in chain if isinstance(change, Rewrite)]
    if rewrites:
        return _rewritten(path, rewrites, now)
    return _added(path, [change for _, change in chain if isinstance(change, Addition)], now)


def _rewritten(path: str, chain: Sequence[tuple[str, Rewrite]], now: bytes | None) -> Outcome:
    stands = None if now is None else sha256(now)
    done = max((k for k, (_, change) in enumerate(chain) if change.after == stands), default=None)
    start = 0 if done is None else done + 1
    if done is None:
        start = max((k for k, (_, change) in enumerate(chain) if change.before == stands), default=-1)
    if start < 0:
        return _kept(path, chain, b"" if now is None else now)
    data, version = now or b"", stands
    for k, (_, change) in enumerate(chain[start:], start):
        if change.before != version:
            return _kept(path, chain[k:], data)
        data, version = spliced(data, change.pieces), change.after
    return Fine(path) if version == stands else Write(path, data, stands)


def _kept(path: str, chain: Sequence[tuple[str, Rewrite]], now: bytes) -> Outcome:
    """A person's file: fine if each new line stands in it or was itself replaced by a later commit."""
    there = set(now.splitlines())
    due: list[bytes] = []
    for k, (_, change) in enumerate(chain):
        later = {line for _, other in chain[k + 1 :] for piece in other.pieces for line in piece.old.splitlines()}
        for piece in change.pieces:
            if any(line not in there and line not in later for line in piece.new.splitlines() if line.strip()):
                due.append(piece.new)
    return KeptBeside(path, b"".join(due), chain[-1][0]) if due else Fine(path)


def _added(path: str, chain: Sequence[Addition], now: bytes | None) -> Outcome:
    old = now or b""
    data = old
    for change in chain:
        data = _with_addition(data, change)
    if data == old:
        return Fine(path)
    if data.startswith(old):
        return Append(path, data[len(old) :], len(old))
    return Write(path, data, None if now is None else sha256(old))


def _with_addition(data: bytes, change: Addition) -> bytes:
    due, tail = change.due, data[change.at :]
    if tail.startswith(due):
        return data
    if tail and due.startswith(tail):
        return data[: change.at] + due  # the write was torn: complete it
    if tail and not tail.strip(b"\0"):
        return data[: change.at] + due  # a power cut left the new size without the data
    counts = Counter(line.rstrip(b"\r") for line in data.split(b"\n"))
    missing = b"".join(line.text for line in change.lines if counts[line.text.rstrip(b"\r\n")] <= line.seen)
    return data + (b"\n" if missing and data and not data.endswith(b"\n") else b"") + missing


@dataclass
class Chains:
    """The changes of a redo log by path, for readers who look at one file at a time."""

    by_path: dict[str, list[tuple[str, FileChange]]] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        for change in record.files:
            self.by_path.setdefault(change.path, []).append((record.commit, change))

    def overlay(self, path: str, now: bytes | None) -> bytes | None:
        """The file as it will be once the pending records are rolled forward."""
        chain = self.by_path.get(path)
        if chain is None:
            return now
        outcome = settle_file(path, chain, now)
        match outcome:
            case Write(data=data):
                return data
            case Append(data=data):
                return (now or b"") + data
            case _:
                return now


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


def _holds_record(tail: bytes) -> bool:
    """Whether a whole record stands in what is no line: of the last write only the end can be missing.

    Nothing or zeros may follow where that write broke off behind its record; anything else was written later.
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
        if whole and (found.start() > 0 or tail[end:].strip(b"\0")):
            return True
    return False


def _record(body: bytes, path: str) -> Record:
    try:
        found: dict[str, Any] = json.loads(body)
        if found.get("v") != VERSION:
            raise ForeignRedo(path, f"written by another version of onepen (record version {found.get('v')!r})")
        record = Record(
            str(found["workspace"]),
            int(found["epoch"]),
            str(found["commit"]),
            tuple(_from_json(change) for change in found["files"]),
            str(found.get("folder", "")),
        )
        sort_key(record.commit)  # it becomes part of file names
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise ForeignRedo(path, "holds a record that onepen doesn't write") from e
    for change in record.files:
        if not may_write(change.path):
            raise ForeignRedo(path, f"holds a record for {shown(change.path, 200)}, which no commit writes")
    return record


def _to_json(change: FileChange) -> dict[str, object]:
    if isinstance(change, Addition):
        lines = [[line.text.decode(), line.seen] for line in change.lines]
        return {"path": change.path, "at": change.at, "lead": change.lead, "append": lines}
    found: dict[str, object] = {"path": change.path, "before": change.before, "after": change.after}
    try:
        found["splices"] = [[piece.offset, piece.old.decode(), piece.new.decode()] for piece in change.pieces]
    except UnicodeDecodeError:  # a file of a project need not be UTF-8
        found["base64"] = True
        found["splices"] = [[piece.offset, _to_base64(piece.old), _to_base64(piece.new)] for piece in change.pieces]
    return found


def _from_json(found: Mapping[str, Any]) -> FileChange:
    if "append" in found:
        lines = tuple(Line(_text(text).encode(), _count(seen)) for text, seen in found["append"])
        return Addition(_text(found["path"]), _count(found["at"]), bool(found["lead"]), lines)
    to_bytes: Callable[[str], bytes] = base64.b64decode if found.get("base64") else str.encode
    pieces = tuple(Splice(_count(at), to_bytes(_text(old)), to_bytes(_text(new))) for at, old, new in found["splices"])
    before = found["before"]
    return Rewrite(_text(found["path"]), None if before is None else _text(before), _text(found["after"]), pieces)


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
