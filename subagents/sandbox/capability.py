"""Capabilities: what makes root root (capabilities(7)). A worker of root's has none;
root's files stay its own.

One is kept where it must be: the right to open files that another user owns. Somebody who runs onepen as root over
their own files (in a container) could not have them read otherwise, and Landlock says which files those are.
"""

import ctypes
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..libc import libc

_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_CAP_AMBIENT, _CLEAR_ALL = 24, 28, 47, 4
_NO_ROOT_LOCKED = 0b11 | 0b1100 | 0b11000000  # no capability comes with user id 0, none with a change of it, no ambient
_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_DAC_OVERRIDE = 1
_MOST = 64


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = tuple(
        (f"{name}{half}", ctypes.c_uint32) for half in (0, 1) for name in ("effective", "permitted", "inherited")
    )


def kept_for(folders: Iterable[Path], user: int) -> frozenset[int]:
    """Which capabilities a process of `user` keeps that is to read and write these folders."""
    if user == 0 and any(_owner(folder) not in (None, 0) for folder in folders):
        return frozenset({_DAC_OVERRIDE})
    return frozenset()


def drop(kept: frozenset[int]) -> None:
    """Give up all capabilities but these, for ever, also for what is started. Raises OSError."""
    for number in range(_MOST):
        # Behind the last one there is nothing to drop, and without CAP_SETPCAP there is nothing that counts.
        if number not in kept and libc().prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break
    libc().prctl(_PR_CAP_AMBIENT, _CLEAR_ALL, 0, 0, 0)
    if not kept:
        libc().prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)
    mask = sum(1 << number for number in kept)
    sets = _Sets(effective0=mask, permitted0=mask)
    if libc().capset(ctypes.byref(_Header(_VERSION, 0)), ctypes.byref(sets)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _owner(path: Path) -> int | None:
    with suppress(OSError):
        return path.stat().st_uid
    return None
