"""Limits that the kernel keeps for one process: memory, processor time, the size of a file (setrlimit(2))."""

import os
import resource
from contextlib import suppress
from pathlib import Path

from .confinement import Confinement


def limit(confinement: Confinement) -> None:
    """Set them, for this process and what it starts; one that was lower already stays."""
    for kind, most in _limits(confinement).items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def _limits(confinement: Confinement) -> dict[int, int]:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: confinement.cpu_seconds,
        resource.RLIMIT_DATA: confinement.memory_bytes,
        resource.RLIMIT_FSIZE: confinement.file_bytes,
        resource.RLIMIT_MEMLOCK: 1 << 16,
        resource.RLIMIT_NOFILE: confinement.open_files,
    }
    for name in ("RLIMIT_MSGQUEUE", "RLIMIT_NICE", "RLIMIT_RTPRIO"):
        if hasattr(resource, name):
            limits[getattr(resource, name)] = 0
    if confinement.commands:
        limits[resource.RLIMIT_NPROC] = _processes() + confinement.processes
    return limits


def _processes() -> int:
    """How many threads this user has now: the kernel's limit counts those, whoever started them."""
    user, count = os.getuid(), 0
    with suppress(FileNotFoundError):
        for process in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                if process.name.isdigit() and process.stat().st_uid == user:
                    count += _threads(process)
    return count


def _threads(process: Path) -> int:
    after_name = (process / "stat").read_text(errors="replace").rpartition(")")[2]
    return int(after_name.split()[17])
