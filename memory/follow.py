"""The history of a space for who asks again and again: of a log that has grown only what is new is parsed.

A log that was replaced or cut (git does both) is read anew. It is for the process that holds the pen: what it commits
is in the files, so no redo record is asked.
"""

import os
from dataclasses import dataclass, field
from itertools import pairwise

from .history import Commit, log_paths, parse_commits, sort_key
from .view import View, open_file
from .workspace import Space

_TAIL = 512


@dataclass
class _Log:
    """What is known of one log file."""

    inode: int = 0
    size: int = 0
    tail: bytes = b""
    commits: dict[Commit, None] = field(default_factory=dict)


class Followed:
    """The commits of one space, kept in memory between two looks."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._logs: dict[str, _Log] = {}
        self._sorted: tuple[Commit, ...] = ()

    def commits(self, view: View) -> tuple[Commit, ...]:
        """All commits of the space, by id, as `read_commits` gives them."""
        paths = log_paths(self._space)
        changed = set(paths) != set(self._logs)
        self._logs = {path: self._logs.get(path, _Log()) for path in paths}
        grown: list[Commit] = []
        for path, log in self._logs.items():
            new = _read_on(log, view, path)
            changed = changed or new is None
            grown += new or ()
        if grown and not changed and _follow_on(self._sorted, grown):
            self._sorted += tuple(grown)
        elif grown or changed:
            every = dict.fromkeys(commit for log in self._logs.values() for commit in log.commits)
            self._sorted = tuple(sorted(every, key=lambda commit: sort_key(commit.id)))
        return self._sorted


def _follow_on(known: tuple[Commit, ...], grown: list[Commit]) -> bool:
    """Whether new commits stand in their order behind all that are known, as where one machine writes alone."""
    keys = [sort_key(commit.id) for commit in (*known[-1:], *grown)]
    return all(one < other for one, other in pairwise(keys))


def _read_on(log: _Log, view: View, path: str) -> tuple[Commit, ...] | None:
    """What is new in a log; None where it was replaced, so that all of it is."""
    fd = open_file(view.workspace.root, path)
    if fd is None:
        return ()
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(file.fileno())
        file.seek(max(0, log.size - len(log.tail)))
        same = found.st_ino == log.inode and found.st_size >= log.size and file.read(len(log.tail)) == log.tail
        if same and found.st_size == log.size:
            return ()
        if not same:
            log.inode, log.size, log.tail, log.commits = found.st_ino, 0, b"", {}
        file.seek(log.size)
        data = file.read()
    whole = data[: data.rfind(b"\n") + 1]
    log.size += len(whole)
    log.tail = (log.tail + whole)[-_TAIL:]
    new = parse_commits(whole.decode("utf-8", "replace"), path)[0]
    log.commits.update(dict.fromkeys(new))
    return new if same else None
