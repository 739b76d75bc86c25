"""The person's index: what they staged stays, and files of a commit are renewed where they stood as in HEAD.

Everything is done while `index.lock` is ours, as git's own commands do it. The new index is made in a file of ours and
put in the place of the old one by a rename. That comes before the branch moves: if the process is killed between the
two, the index holds the new files as staged, which is what is in the work tree, and the next mirror finds them so. The
other way round the index would hold the old ones, and the person's next `git commit` take the change back.

git holds a file for unchanged whose time is that of its entry, unless the index was written in the same second; those
it compares byte by byte. So the copy gets the time of the old index: with a later one a change that the person made
within that second would be hidden from git for good.

A lock that a killed git left would keep git from the repository for ever. It is removed where nobody can still hold it:
it is old, and no process of git is at work in this folder. One of onepen's own says so inside, and since the pen is
ours its maker is gone.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ...memory import files
from .errors import GitBusy
from .git import Git
from .objects import Entry, staged
from .repository import Repository

OLD_SECONDS = 600.0
_OURS = b"onepen: the git mirror is at work\n"
_PATIENCE = 1.0
_AGAIN = 0.05


@contextmanager
def locked(git: Git, repository: Repository, told: Callable[[str], None]) -> Iterator[None]:
    """Keeps other git processes from the index meanwhile; `told` hears of a stale lock that was removed.

    Raises GitBusy after a second's wait, or an OSError.
    """
    lock = repository.lock
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            files.create_exclusive(lock, _OURS)
            break
        except FileExistsError:
            if _removed(lock, git.root, told):
                continue
            if time.monotonic() > deadline:
                raise GitBusy(_holders(lock, git.root)) from None
            time.sleep(_AGAIN)
    try:
        yield
    finally:
        files.remove(lock)


def renewed(
    git: Git, repository: Repository, room: Path, before: Mapping[str, Entry], after: Mapping[str, Entry | None]
) -> Callable[[], None]:
    """Renew the index where it stood as `before` in HEAD; call it with the lock held.

    `after` is what the files are in the new commit, None where they are gone. Gives what puts the index back as it was.
    Raises NotMirrored or an OSError.
    """
    try:
        time_of = repository.index.stat()
        old = repository.index.read_bytes()
    except FileNotFoundError:
        return _nothing  # nothing is staged and nothing is tracked: the next git command of the person makes one
    for left in room.glob("mirror-index-*"):
        files.remove(left)
    own = room / f"mirror-index-{os.getpid()}"
    try:
        files.replace(own, old)
        files.DISK.keep_time(own, time_of)
        stands = staged(git, own, list(after))
        lines = [
            _line(path, entry, repository)
            for path, entry in after.items()
            if (path in stands, stands.get(path)) == (path in before, before.get(path)) != (entry is not None, entry)
        ]
        if not lines:
            return _nothing
        git("update-index", "-z", "--index-info", data=b"".join(lines), index=own)
        files.replace(repository.index, own.read_bytes())
    finally:
        files.remove(own)

    def put_back() -> None:
        files.replace(repository.index, old)
        files.DISK.keep_time(repository.index, time_of)

    return put_back


def _nothing() -> None:
    """The index is as it was."""


def _line(path: str, entry: Entry | None, repository: Repository) -> bytes:
    head = f"0 {repository.nothing}" if entry is None else f"{entry.mode} {entry.name}"
    return f"{head}\t{path}\0".encode("utf-8", "surrogateescape")


def _removed(lock: Path, root: Path, told: Callable[[str], None]) -> bool:
    """Whether a lock that nobody holds any more was taken away."""
    try:
        found = lock.lstat()
        ours = stat.S_ISREG(found.st_mode) and found.st_size == len(_OURS) and lock.read_bytes() == _OURS
        age = time.time() - found.st_mtime
        if not ours and (age < OLD_SECONDS or _processes(root) != []):
            return False
        if not os.path.samestat(found, lock.lstat()):
            return True
    except FileNotFoundError:
        return True
    files.remove(lock)
    if not ours:
        told(f"a stale index.lock was removed: it was {age / 60:.0f} minutes old, and no git process is at work here")
    return True


def _holders(lock: Path, root: Path) -> str:
    found = _processes(root)
    if found:
        return f"{lock.name} is there, and process {', '.join(found)} is at work here"
    return f"{lock.name} is there; if no git process is at work, remove {lock}"


def _processes(root: Path) -> list[str] | None:
    """The git processes that may be at work in a folder; None where the system doesn't tell.

    One whose folder can't be seen counts.
    """
    proc = Path("/proc")
    if not (proc / "self/stat").exists():
        return None
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            name = words[0].rpartition(b"/")[2]
            if name != b"git" and not name.startswith(b"git-"):
                continue
            where = (entry / "cwd").readlink()
        except FileNotFoundError:
            continue  # it ended
        except OSError:
            found.append(entry.name)
            continue
        if where.is_relative_to(root) or any(os.fsencode(root) in word for word in words[1:]):
            found.append(f"{entry.name} ({os.fsdecode(b' '.join(words[:2]))})")
    return found
