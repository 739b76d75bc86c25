"""Rolls the redo log forward: carries out, file by file, what `settle.settle_file` says.

The same code brings the files of a commit up to date when another program got in between, so there is one way only in
which a file follows its record.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .. import files
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..view import read_with_time
from .record import Addition, Record, Removal, Turn
from .removal import clear_folders, take_out
from .settle import Append, Chain, Chains, Fine, KeptBeside, Remove, Spared, Write, settle_file

_TRIES = 5


@dataclass
class Rollforward:
    """What was done: the files touched, which are to be synced before the log is trimmed, and what to tell."""

    touched: set[Path] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


def roll_forward(root: Path, records: Iterable[Record], disk: files.Disk, *, written: int | None = None) -> Rollforward:
    """Bring every file to where the records say; raises OSError when the disk refuses, and can then be run again.

    `written` is the nanosecond at which the last record was: what is newer was put there by a person.
    """
    done = Rollforward()
    chains = Chains()
    for record in records:
        chains.add(record)
    for path, chain in chains.by_path.items():
        try:
            follow(root, path, chain, done, disk, written=written)
        except LinkLeadsOut as e:
            done.problems.append(Problem(path, 0, "link_leads_out", "error", e.message))
    return done


def follow(
    root: Path, path: str, chain: Chain, done: Rollforward, disk: files.Disk, *, written: int | None = None
) -> None:
    """Bring one file to where its chain of changes says, however often another program gets in between."""
    real = resolve(root, path)
    done.touched.add(real)
    _clear_tmp(path, real, [(tag, change) for tag, change in chain if not isinstance(change, Addition)], done, disk)
    tmp = files.tmp_name(real.name, chain[-1][0])
    for _ in range(_TRIES):
        data, at = read_with_time(root, path)
        course = settle_file(path, chain, data, newer=written is not None and at > written)
        try:
            match course:
                case Fine():
                    if isinstance(chain[-1][1], Removal):
                        clear_folders(root, path, disk)
                    return
                case Write(data=new, before=before):
                    files.make_folder(real.parent, within=root, disk=disk)
                    files.swap(real, new, tmp=tmp, before=before, disk=disk)
                case Append(data=new, size=size):
                    files.make_folder(real.parent, within=root, disk=disk)
                    files.append(real, new, expect_size=size, disk=disk)
                case Remove(before=before):
                    if (root / path).is_symlink():  # a person put it there since, and what it leads to is theirs
                        _spare(path, chain[-1][0], done)
                        return
                    take_out(root, path, tag=chain[-1][0], before=before, disk=disk)
                case Spared(commit=commit):
                    _spare(path, commit, done)
                    return
                case KeptBeside():
                    files.make_folder(real.parent, within=root, disk=disk)
                    _keep_beside(path, real, course, done, disk)
                    return
        except files.FileMovedOn:
            continue  # look again at what stands there now
    raise BlockingIOError(f"{path}: another program keeps changing this file")


def _keep_beside(path: str, real: Path, kept: KeptBeside, done: Rollforward, disk: files.Disk) -> None:
    beside = real.with_name(f"{real.name}.due-{kept.commit}")
    files.replace(beside, kept.due, tmp=files.tmp_name(beside.name, kept.commit), sync=True, disk=disk)
    message = (
        f"was edited while commit {kept.commit} was being written; your version stays, what was to be written is "
        f"in {beside.name}"
    )
    done.problems.append(Problem(path, 0, "kept_beside", "warning", message))


def _spare(path: str, commit: str, done: Rollforward) -> None:
    message = f"was edited while commit {commit} was removing it; your version stays"
    done.problems.append(Problem(path, 0, "kept_instead", "warning", message))


def _clear_tmp(path: str, real: Path, chain: Sequence[tuple[str, Turn]], done: Rollforward, disk: files.Disk) -> None:
    """Remove what was swapped in or taken out, unless it holds a person's save that came out with it.

    What was written lazily may have been swapped in for several commits at once, by the tag of the last of them.
    """
    known = {version for _, change in chain for version in (change.before, change.after)}
    for k, (tag, change) in enumerate(chain):
        tmp = real.with_name(files.tmp_name(real.name, tag))
        try:
            left = tmp.read_bytes()
        except FileNotFoundError:
            continue
        stands = files.sha256(real.read_bytes()) if real.exists() else None
        earlier = {other.before for _, other in chain[: k + 1]}
        never_swapped = change.after is not None and stands in earlier and stands != change.after
        if never_swapped or files.sha256(left) in known or not left:
            disk.unlink(tmp)  # or what came out was what the commit had read
        elif stands == change.after:
            disk.rename(tmp, real)
        else:
            kept = real.with_name(f"{real.name}.kept-{tag}")
            disk.rename(tmp, kept)
            message = f"a version of this file that another program saved during commit {tag} is in {kept.name}"
            done.problems.append(Problem(path, 0, "kept_beside", "warning", message))
