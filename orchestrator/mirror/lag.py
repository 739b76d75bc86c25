"""Which commits of onepen git doesn't have: those whose lines git's copy of the commit logs lacks.

So git itself remembers how far it follows, in the one place that can't be wrong: nothing is mirrored twice, also when
the person committed the files by hand, went back in git's history, or cloned it, and a crash between the two commits
leaves nothing behind. Logs only grow, so one whose size is the same in git is not read; one that was added to is told
by the hash of its beginning; only where lines came by a merge or were pruned are both read and compared.
"""

from collections.abc import Sequence
from pathlib import Path

from ...memory.history import Commit, log_paths, parse_commits, sort_key
from ...memory.workspace import Space
from .git import Git
from .objects import Kept, kept_out, object_name, own_path, sizes
from .repository import Repository


def log_of(commit: Commit) -> str:
    """The workspace path of the log in which a commit's line stands."""
    first = commit.paths[0].split("/") if commit.paths else []
    prefix = f"clients/{first[1]}/" if first[:1] == ["clients"] and len(first) > 2 else ""
    return f"{prefix}logs/commits-{commit.time[:7]}.jsonl"


def lagging(git: Git, repository: Repository, spaces: Sequence[Space]) -> tuple[tuple[Commit, ...], Kept]:
    """The commits that git lacks, by id, and the logs by which nothing can be told, since they are kept out of git.

    Raises NotMirrored or an OSError.
    """
    paths = {own: path for space in spaces for path in log_paths(space) if (own := own_path(git.root, path))}
    kept = kept_out(git, list(paths))
    there = sizes(git, repository.head, list(paths))
    found: dict[str, Commit] = {}
    for path in paths:
        name, size = there.get(path, ("", 0))
        if path not in kept and (git.root / path).stat().st_size != size:
            found |= {commit.id: commit for commit in _new(git, repository, path, name, size)}
    return tuple(sorted(found.values(), key=lambda commit: sort_key(commit.id))), kept


def _new(git: Git, repository: Repository, path: str, name: str, size: int) -> list[Commit]:
    """The commits of a log that aren't in git's copy of it, the object `name` of `size` bytes."""
    data = whole_lines(git.root / path)
    if not name:
        return _commits(data, path)
    if object_name(data[:size], repository.hashes) == name:
        return _commits(data[size:], path)
    known = {commit.id for commit in _commits(git("cat-file", "blob", name).out, path)}
    return [commit for commit in _commits(data, path) if commit.id not in known]


def whole_lines(path: Path) -> bytes:
    """A log up to its last whole line: a commit may be adding one right now."""
    data = path.read_bytes()
    return data[: data.rfind(b"\n") + 1]


def _commits(data: bytes, path: str) -> list[Commit]:
    return list(parse_commits(data.decode("utf-8", "replace"), path)[0])
