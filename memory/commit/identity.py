"""Which folder on which machine a workspace is: what a clone or a copy of it can't bring along.

A copy of `.onepen/` made with the workspace would give out the commit numbers of the original under its name, and a
redo log that somebody put into a repository would be taken for one's own. So both are bound to the numbers that the
file system gave to the folder (its inodes), which neither git nor `cp -r` can choose.
"""

import socket
from pathlib import Path

from ..files import sha256
from ..room import ROOM

ACCEPTED = f"{ROOM}/redo/accepted"
"""A person who says that a redo log made elsewhere is theirs writes the name of this folder into it."""


def folder_name(root: Path) -> str:
    """A name for this very folder: another one for each copy, the same after it was renamed."""
    return _hashed(*_inodes(root))


def machine_mark(root: Path) -> str:
    """A mark for this folder on this machine and disk; it may change without need, as when a disk is mounted anew."""
    return _hashed(socket.gethostname(), root.stat().st_dev, *_inodes(root))


def _inodes(root: Path) -> tuple[int, int]:
    return root.stat().st_ino, (root / ROOM).lstat().st_ino


def _hashed(*parts: object) -> str:
    return sha256(" ".join(map(str, parts)).encode())[:16]
