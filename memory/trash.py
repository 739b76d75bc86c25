"""Removing a folder for good: it goes in one step, and what was in it a moment later.

A folder that is being deleted is half there for as long as that takes, and for ever if the process is killed. So it is
first renamed into `.onepen/trash/`, where nobody reads, and then taken apart; what a crash leaves there is taken apart
the next time. Folders inside are renamed to the top of the trash instead of being entered, so no path gets long however
deep a worker nested them, and no link is ever followed.
"""

import errno
import os
from pathlib import Path

from . import files
from .links import LinkLeadsOut
from .room import ROOM

TRASH = f"{ROOM}/trash"
_OWNERS = 0o700
_BESIDE = ".onepen-trash"  # where another file system has to have one of its own


def discard(root: Path, folder: Path, *, disk: files.Disk = files.DISK) -> None:
    """Remove a folder (or whatever stands there) with all that is in it; one that is gone is fine.

    Raises LinkLeadsOut where the trash is no folder of ours, or an OSError: then it may be gone from its place, and the
    rest of it is removed by the next `empty`.
    """
    trash = _made(root / TRASH, root, disk)
    try:
        disk.rename(folder, trash / _name(folder))
    except FileNotFoundError:
        return
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
        trash = _made(folder.with_name(_BESIDE), folder.parent, disk)
        disk.rename(folder, trash / _name(folder))
    _take_apart(trash, disk)


def empty(root: Path, *, disk: files.Disk = files.DISK) -> None:
    """Remove what a crash left of earlier removals; raises LinkLeadsOut or an OSError."""
    if os.path.lexists(root / TRASH):
        _take_apart(_made(root / TRASH, root, disk), disk)


def measure(folder: Path) -> tuple[int, int]:
    """How many files a folder holds and their bytes; links count as files, what can't be read as nothing."""
    count = size = 0
    for here, _, names in os.walk(folder):
        for name in names:
            count += 1
            try:
                size += (Path(here) / name).lstat().st_size
            except OSError:
                continue
    return count, size


def _made(trash: Path, within: Path, disk: files.Disk) -> Path:
    if trash.is_symlink():
        raise LinkLeadsOut(trash.name, os.path.realpath(trash), "and what is to be removed goes into no other folder")
    files.make_folder(trash, within=within, disk=disk)
    return trash


def _name(path: Path) -> str:
    """A name that nothing else in the trash has: two things that are there at a time have two inodes."""
    return str(path.lstat().st_ino)


def _take_apart(trash: Path, disk: files.Disk) -> None:
    while found := list(os.scandir(trash)):
        for entry in found:
            path = trash / entry.name
            if not entry.is_dir(follow_symlinks=False):
                disk.unlink(path)
                continue
            for inner in list(os.scandir(path)):
                if inner.is_dir(follow_symlinks=False):
                    if inner.stat(follow_symlinks=False).st_mode & _OWNERS != _OWNERS:
                        disk.open_up(path / inner.name)  # what can't be written to can't be moved either
                    disk.rename(path / inner.name, trash / str(inner.inode()))
                else:
                    disk.unlink(path / inner.name)
            disk.rmdir(path)
    disk.rmdir(trash)
