"""How a file follows its records: from what stands there now and what was done to it, what is to be done. Pure.

A file is as before (apply), as after (nothing to do), or neither: then a person has edited it, and their file stays. It
stays, too, where it is as before because a person put that back: then it is newer than the last record. Lines that were
added are asked for one by one. Rolling forward does what is said here, and a reader sees it done.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..files import sha256
from .record import Addition, FileChange, Record, Removal, Turn
from .splice import spliced


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
class Remove:
    """The file is to go; `before` is the hash of what stands there now."""

    path: str
    before: str


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


@dataclass(frozen=True)
class Spared:
    """A person's version of the file stays, though `commit` was to remove it."""

    path: str
    commit: str


Course = Write | Append | Remove | Fine | KeptBeside | Spared
"""What is to become of a file."""

Chain = Sequence[tuple[str, FileChange]]
"""All that was done to one file, oldest first, each with the id of its commit."""


def settle_file(path: str, chain: Chain, now: bytes | None, *, newer: bool = False) -> Course:
    """What is to become of one file, from all that was done to it and what stands there now; None if it is absent.

    `newer` says that what stands there was written behind the last record.
    """
    turns = [(commit, change) for commit, change in chain if not isinstance(change, Addition)]
    if turns:
        return _turned(path, turns, now, newer=newer)
    return _added(path, [change for _, change in chain if isinstance(change, Addition)], now)


def _turned(path: str, chain: Sequence[tuple[str, Turn]], now: bytes | None, *, newer: bool) -> Course:
    stands = None if now is None else sha256(now)
    done = max((k for k, (_, change) in enumerate(chain) if change.after == stands), default=None)
    start = 0 if done is None else done + 1
    if done is None:
        start = max((k for k, (_, change) in enumerate(chain) if change.before == stands), default=-1)
    if start < 0:
        return _kept(path, chain, now)
    data, version = now, stands
    for _, change in chain[start:]:
        if change.before != version:
            return _kept(path, chain[start:], now)
        data = None if isinstance(change, Removal) else spliced(data or b"", change.pieces)
        version = change.after
    if version == stands:
        return Fine(path)
    if newer:
        return _kept(path, chain[start:], now)
    if data is not None:
        return Write(path, data, stands)
    assert stands is not None, "an absent file was to become absent, and that is fine"
    return Remove(path, stands)


def _kept(path: str, chain: Sequence[tuple[str, Turn]], now: bytes | None) -> Course:
    """A person's file: fine if each new line stands in it or was itself replaced by a later commit."""
    last, removal = chain[-1]
    if isinstance(removal, Removal):
        return Spared(path, last)
    there = set((now or b"").splitlines())
    due: list[bytes] = []
    for k, (_, change) in enumerate(chain):
        if any(isinstance(other, Removal) for _, other in chain[k:]):
            continue  # what it brought was to go
        later = {line for _, other in chain[k + 1 :] for piece in other.pieces for line in piece.old.splitlines()}
        for piece in change.pieces:
            if any(line not in there and line not in later for line in piece.new.splitlines() if line.strip()):
                due.append(piece.new)
    return KeptBeside(path, b"".join(due), last) if due else Fine(path)


def _added(path: str, chain: Sequence[Addition], now: bytes | None) -> Course:
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
            self.by_path.setdefault(change.path, []).append((record.tag, change))

    def overlay(self, path: str, now: bytes | None, *, newer: bool = False) -> bytes | None:
        """The file as it will be once the pending records are rolled forward."""
        chain = self.by_path.get(path)
        if chain is None:
            return now
        match settle_file(path, chain, now, newer=newer):
            case Write(data=data):
                return data
            case Append(data=data):
                return (now or b"") + data
            case Remove():
                return None
            case _:
                return now

    def ends(self, path: str) -> bool:
        """Whether the last that was done to a file is that it went."""
        return isinstance(self.by_path[path][-1][1], Removal)
