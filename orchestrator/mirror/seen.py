"""Commits as they were just made, with their files as they stand then, until git has them.

What a later commit changes must not show in the git commit of an earlier one. Cards and indexes are kept whole; logs
only grow, so their size is enough. Where too much would have to be kept, only the names are: then what is missing is
one commit of git, with the files as they are by then.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from threading import Lock

from ...memory.history import Commit
from ...memory.links import LinkLeadsOut, resolve
from .lag import log_of

_MOST_BYTES = 16 << 20
_MOST = 256

Content = bytes | int | None
"""What a file holds, its size where it only grows, None where it isn't there."""


@dataclass(frozen=True)
class Seen:
    """Commits that git is to take as one; `files` are by workspace path, None where they were not kept."""

    commits: tuple[Commit, ...]
    files: Mapping[str, Content] | None


@dataclass(frozen=True)
class Group:
    """The same, as it is to be brought into git."""

    commits: tuple[Commit, ...]
    paths: tuple[str, ...]
    files: Mapping[str, Content] | None

    @property
    def when(self) -> datetime:
        return datetime.fromisoformat(self.commits[-1].time)


class Memory:
    """What was seen and is not in git yet; used by the thread that commits and the one that mirrors."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = Lock()
        self._seen: tuple[Seen, ...] = ()

    def saw(self, commits: Sequence[Commit]) -> None:
        """Commits that were made as one and stand now."""
        held = sum(_size(seen) for seen in self._seen)
        room = len(self._seen) < _MOST and held < _MOST_BYTES
        files = dict(self._contents(commits)) if room else None
        with self._lock:
            self._seen = (*self._seen, Seen(tuple(commits), files))

    @property
    def waiting(self) -> tuple[Seen, ...]:
        with self._lock:
            return self._seen

    def done(self, seen: Sequence[Seen]) -> None:
        """Git has these."""
        with self._lock:
            self._seen = self._seen[len(seen) :]

    def late(self) -> None:
        """Git can't follow for now: what these held is let go, and taken as it is when they are caught up with."""
        with self._lock:
            self._seen = tuple(replace(seen, files=None) for seen in self._seen)

    def _contents(self, commits: Sequence[Commit]) -> Iterator[tuple[str, Content]]:
        for path in paths_of(commits):
            try:
                real = resolve(self._root, path)
                yield path, real.stat().st_size if _grows(path) else real.read_bytes()
            except FileNotFoundError:
                yield path, None
            except (OSError, LinkLeadsOut):
                continue  # nothing can be said of it


def groups(lagging: Sequence[Commit], seen: Sequence[Seen]) -> tuple[Group, ...]:
    """What is to be brought into git, in order: as it was seen or, where that is not all, everything as one. Pure."""
    ids = [commit.id for commit in lagging]
    known = [one for one in seen if any(commit.id in ids for commit in one.commits)]
    if sum(len(one.commits) for one in known) == len(ids) and all(one.files is not None for one in known):
        return tuple(Group(one.commits, tuple(one.files or ()), one.files) for one in known)
    return (Group(tuple(lagging), paths_of(lagging), None),) if lagging else ()


def paths_of(commits: Sequence[Commit]) -> tuple[str, ...]:
    """The workspace paths that belong to commits: their files, and the logs that tell of them."""
    return tuple(dict.fromkeys(path for commit in commits for path in (*commit.paths, log_of(commit))))


def _grows(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return (folder.endswith("logs") and name.endswith(".jsonl")) or (folder.endswith("memory") and name[:1].isdigit())


def _size(seen: Seen) -> int:
    return sum(len(data) for data in (seen.files or {}).values() if isinstance(data, bytes))
