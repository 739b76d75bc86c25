"""Puts a filter of filter.py in force, for this process and all that it starts (seccomp(2))."""

import ctypes
import os

from ..libc import libc
from .filter import SIZE

_PR_GET_SECCOMP, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 21, 22, 38, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def offered() -> bool:
    """Whether this kernel knows filters."""
    found: int = libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0)
    return found >= 0


def no_new_privileges() -> None:
    """No program gives this process more rights any more, whatever its file says; raises OSError."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def install(code: bytes) -> None:
    """Put a filter in force, as `packed` makes it; raises OSError."""
    _prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(_Program(len(code) // SIZE, code)))


def _prctl(*arguments: object) -> None:
    whole = [a if not isinstance(a, int) else ctypes.c_ulong(a) for a in arguments] + [ctypes.c_ulong(0)] * 3
    if libc().prctl(*whole[:5]) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
