"""Moving things out of the way: a file that was left over, a line that was cut short. Nothing of them is thrown away.

They are kept in `.onepen/aside/`, under the path that they had and a few digits of their content's hash, so doing it
again after an interruption ends with the same names. What is kept there belongs to this machine and never travels;
whoever looked at it may delete it.
"""

import os
import stat
from pathlib import Path

from . import files
from .errors import MemoryFault
from .links import resolve
from .room import ROOM
from .view import read_file

ASIDE = f"{ROOM}/aside"


class NotThatAnyMore(MemoryFault):
    """Raised when what was to be moved aside is not what it was when it was looked at; nothing was changed."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path}: it has changed meanwhile; nothing was done", hint="onepen doctor")


def file_aside(root: Path, path: str, *, disk: files.Disk = files.DISK) -> str:
    """Move a file out of the way; gives its new workspace path.

    Raises LinkLeadsOut, NotThatAnyMore for one that is gone or no plain file, or an OSError.
    """
    folder, _, base = path.rpartition("/")
    real = (resolve(root, folder) if folder else root) / base
    if not os.path.lexists(real) or not stat.S_ISREG(real.lstat().st_mode) or files.being_written(real):
        raise NotThatAnyMore(path)
    name = _name(path, read_file(root, path) or b"")
    kept = root / name
    files.make_folder(kept.parent, within=root, disk=disk)
    if kept.exists():
        files.remove(real, disk=disk)  # the same bytes are kept there already
    else:
        disk.rename(real, kept)
        files.sync_folder(kept.parent, disk=disk)
    files.sync_folder(real.parent, disk=disk)
    return name


def line_aside(root: Path, path: str, line: int, sha256: str, *, disk: files.Disk = files.DISK) -> str:
    """Take one line, of this hash, out of a file and keep it; `line` counts from 1. Gives the path of what is kept.

    The other lines stay byte for byte. Raises LinkLeadsOut, NotThatAnyMore, FileMovedOn when another program wrote the
    file at the same moment (its version stays), or an OSError.
    """
    real = resolve(root, path)
    data = read_file(root, path)
    lines = _lines(data or b"")
    if data is None or line > len(lines) or files.sha256(lines[line - 1].rstrip(b"\n")) != sha256:
        raise NotThatAnyMore(path)
    gone = lines[line - 1]
    name = _name(path, gone)
    files.make_folder((root / name).parent, within=root, disk=disk)
    files.replace(root / name, gone, sync=True, disk=disk)
    rest = b"".join(lines[: line - 1] + lines[line:])
    files.swap(real, rest, tmp=files.tmp_name(real.name, "new"), before=files.sha256(data), disk=disk)
    files.sync_folder(real.parent, disk=disk)
    return name


def lines_added(root: Path, path: str, text: str, before: str | None, *, disk: files.Disk = files.DISK) -> None:
    """Replace a text file whose text is `before` (None: absent) by one that has more lines.

    Raises LinkLeadsOut, FileMovedOn when it has changed meanwhile, or an OSError.
    """
    real = resolve(root, path)
    known = None if before is None else files.sha256(before.encode())
    files.swap(real, text.encode(), tmp=files.tmp_name(real.name, "new"), before=known, disk=disk)
    files.sync_folder(real.parent, disk=disk)


def _lines(data: bytes) -> list[bytes]:
    """Split at newlines alone: a carriage return in a damaged line ends none."""
    parts = data.split(b"\n")
    ended = [part + b"\n" for part in parts[:-1]]
    return ended + ([parts[-1]] if parts[-1] else [])


def _name(path: str, data: bytes) -> str:
    return f"{ASIDE}/{path}.{files.sha256(data)[:8]}"
