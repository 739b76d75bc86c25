"""What a machine keeps of a workspace in `.onepen/` beside the redo log: its name, its counters and a reserve of space.

All of it can be lost: a new name is given, and the counters are found again in the logs and the redo log.
"""

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import files
from ..room import COUNTERS, MACHINE, read_room_file
from .identity import machine_mark

_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # nothing that is read for something else
_MACHINE = re.compile(r"[0-9a-z]{6}")
_COUNTERS = re.compile(r"(\d{1,18}) (\d{1,18})\n")
_BALLAST_BYTES = 1 << 20


@dataclass(frozen=True)
class Counters:
    """`epoch` counts the holders of the pen; `sequence` is the highest commit number this machine knows to be used."""

    epoch: int
    sequence: int


def new_machine() -> str:
    """Six characters at random."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(6))


def read_machine(room: Path) -> str | None:
    """The machine's name; None when there is none that can be read, or it was given to another folder."""
    name, _, mark = _text(room, MACHINE).strip().partition(" ")
    return name if _MACHINE.fullmatch(name) and mark == machine_mark(room.parent) else None


def name_machine(room: Path, new: Callable[[], str], disk: files.Disk) -> str:
    """Give the machine a name and keep it."""
    name = new()
    if not _MACHINE.fullmatch(name):
        raise ValueError(f"{name!r} is no machine name")
    files.replace(
        room.parent / MACHINE,
        f"{name} {machine_mark(room.parent)}\n".encode(),
        tmp=".machine.new.tmp",
        sync=True,
        disk=disk,
    )
    return name


def read_counters(room: Path) -> Counters | None:
    """The counters; None when they are missing or can't be read."""
    found = _COUNTERS.fullmatch(_text(room, COUNTERS))
    return Counters(int(found[1]), int(found[2])) if found else None


def write_counters(room: Path, counters: Counters, disk: files.Disk) -> None:
    text = f"{counters.epoch} {counters.sequence}\n"
    files.replace(room.parent / COUNTERS, text.encode(), tmp=".epoch.new.tmp", sync=True, disk=disk)


def unreadable(room: Path) -> tuple[str, ...]:
    """Which of the small files are there and make no sense, by workspace path; a name of another folder makes sense."""
    name = _text(room, MACHINE)
    bad = [COUNTERS] if (room.parent / COUNTERS).exists() and read_counters(room) is None else []
    bad += [MACHINE] if (room.parent / MACHINE).exists() and not _MACHINE.fullmatch(name.partition(" ")[0]) else []
    return tuple(bad)


def keep_ballast(room: Path, disk: files.Disk) -> None:
    """Hold some space of the disk, so that recovery can run when it is full; without it things work, too."""
    path = room / "ballast"
    with suppress(OSError):
        if path.exists() and path.lstat().st_size < _BALLAST_BYTES:
            files.remove(path, disk=disk)
        if not path.exists():
            files.create_exclusive(path, secrets.token_bytes(_BALLAST_BYTES), disk=disk)


def drop_ballast(room: Path, disk: files.Disk) -> bool:
    """Give the held space back; False when there was none."""
    if not (room / "ballast").exists():
        return False
    files.remove(room / "ballast", disk=disk)
    return True


def _text(room: Path, name: str) -> str:
    return read_room_file(room.parent, name).decode("utf-8", "replace")
