"""Which commit numbers and keys are used, read from the commit logs of the spaces.

Only the beginning of each line is looked at, and of a log that has grown only what is new: a pen asks before every
commit, and git may have replaced a log since. The key of a commit that was undone is free again.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ..history import log_paths, sort_key
from ..undone import undone
from ..view import open_file
from ..workspace import Space

_HEAD = re.compile(
    rb'\{"v":\d+,"id":"(c[1-9]\d{0,17}-[0-9a-z]{6})","key":(null|"(?:[^"\\]|\\.)*")(?:,"undoes":"([^"\\]*)")?'
)
_JSON = json.JSONEncoder(ensure_ascii=False)
_TAIL = 512


@dataclass
class _Log:
    """What is known of one log file."""

    inode: int = 0
    size: int = 0
    tail: bytes = b""
    keys: dict[bytes, list[str]] = field(default_factory=dict)
    undoings: dict[str, str] = field(default_factory=dict)
    highest: int = 0


class Ledger:
    """The used numbers and keys; `highest` only ever grows."""

    def __init__(self, root: Path, highest: int = 0) -> None:
        self._root = root
        self._logs: dict[str, _Log] = {}
        self.highest = highest

    def look(self, space: Space) -> None:
        """Take in what the logs of a space say now."""
        there, folder = log_paths(space), space.path("logs/")
        for path in [path for path in self._logs if path.startswith(folder) and path not in there]:
            del self._logs[path]
        for path in there:
            log = self._logs.setdefault(path, _Log())
            fd = open_file(self._root, path)
            if fd is not None:  # else it was taken away since it was listed
                with os.fdopen(fd, "rb") as file:
                    _read_on(log, file)
            self.highest = max(self.highest, log.highest)

    def known(
        self, space: Space, key: str, given: Sequence[str] = (), undoings: Mapping[str, str] | None = None
    ) -> str | None:
        """The commit of a space that has this key and was not undone, by the logs as they were last looked at.

        `given` are commits with this key that are in no log yet, `undoings` those that undid another.
        """
        wanted = _as_key(key)
        folder = space.path("logs/")
        logs = [log for path, log in self._logs.items() if path.startswith(folder)]
        found = [commit for log in logs for commit in log.keys.get(wanted, ())] + list(given)
        if not found:
            return None
        in_logs = {commit: other for log in logs for commit, other in log.undoings.items()}
        gone = undone(in_logs | dict(undoings or {}))
        return next((commit for commit in found if commit not in gone), None)


def _read_on(log: _Log, file: BinaryIO) -> None:
    found = os.fstat(file.fileno())
    file.seek(max(0, log.size - _TAIL))
    same = found.st_ino == log.inode and found.st_size >= log.size and file.read(len(log.tail)) == log.tail
    if same and found.st_size == log.size:
        return
    if not same:
        log.inode, log.size, log.tail, log.keys, log.undoings = found.st_ino, 0, b"", {}, {}
    file.seek(log.size)
    data = file.read()
    for line in data.split(b"\n"):
        head = _HEAD.match(line)
        commit, key, undoes = (head[1].decode(), head[2], head[3]) if head else _by_json(line)
        if commit:
            log.highest = max(log.highest, sort_key(commit)[0])
            if key != b"null":
                log.keys.setdefault(key, []).append(commit)
            if undoes:
                log.undoings[commit] = undoes.decode("utf-8", "replace")
    whole = data[: data.rfind(b"\n") + 1]
    log.size += len(whole)
    log.tail = (log.tail + whole)[-_TAIL:]


def _by_json(line: bytes) -> tuple[str, bytes, bytes]:
    """Id, key and what is undone, of a line that another program wrote in its own way; no id if it is no commit."""
    try:
        found = json.loads(line)
        commit, key, undoes = found["id"], found.get("key"), found.get("undoes")
        sort_key(commit)
    except (ValueError, TypeError, KeyError, AttributeError):
        return "", b"null", b""
    return commit, _as_key(key) if isinstance(key, str) else b"null", str(undoes or "").encode()


def _as_key(key: str) -> bytes:
    return _JSON.encode(key).encode()
