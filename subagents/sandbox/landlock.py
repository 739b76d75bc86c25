"""Landlock: a process gives up its rights on all files but those below some folders, for ever (landlock(7)).

The rights are the kernel's to know: each version of the interface (ABI) knows more of them, and what it doesn't know it
doesn't restrict. What remains open for that reason is told by `Level.gaps`.
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from ..libc import libc

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH

EXECUTE, WRITE, READ, LIST, REMOVE_FOLDER, REMOVE = (1 << k for k in range(6))
MAKE_FOLDER, MAKE_FILE, MAKE_SOCKET, MAKE_FIFO = 1 << 7, 1 << 8, 1 << 9, 1 << 10
MAKE_LINK, REFER, TRUNCATE = 1 << 12, 1 << 13, 1 << 14

LOOK = READ | LIST
RUN = LOOK | EXECUTE
DRAFT = LOOK | WRITE | TRUNCATE | MAKE_FILE | REMOVE
OWN = DRAFT | EXECUTE | MAKE_FOLDER | REMOVE_FOLDER | MAKE_LINK | MAKE_FIFO | REFER
_OF_FILES = EXECUTE | WRITE | READ | TRUNCATE

_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many rights on files each version knows."""
_PORTS = 0b11  # bind and connect, TCP
_SCOPES = 0b11  # abstract sockets, signals

Rule = tuple[Path, int]


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The version of Landlock that this kernel offers; 0 where it has none, or it is switched off or hidden."""
    if sys.platform != "linux":
        return 0
    found: int = _syscall()(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(found, 0)


def restrict(rules: Iterable[Rule], abi: int) -> None:
    """Hold this process, and all that it starts, to these rules; what is missing, or a link, is left out.

    Raises OSError.
    """
    call = _syscall()
    handled = (1 << _KNOWN[min(abi, 5)]) - 1
    attributes = _Ruleset(handled, _PORTS, _SCOPES)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _checked(call(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0)))
    try:
        for path, rights in rules:
            _allow(call, ruleset, path, rights & handled)
        _checked(call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def set_apart(abi: int) -> None:
    """Let this process, and all that it starts, signal none but each other, not even who holds them: from version 6 on.

    Raises OSError.
    """
    if abi < 6:
        return
    call = _syscall()
    ruleset = _checked(call(_CREATE, ctypes.byref(_Ruleset(0, 0, _SCOPES)), ctypes.c_size_t(24), ctypes.c_uint32(0)))
    try:
        _checked(call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0)))
    finally:
        os.close(ruleset)


def _allow(call: "ctypes._NamedFuncPointer", ruleset: int, path: Path, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return
    try:
        kind = stat.S_IFMT(os.fstat(fd).st_mode)
        if kind == stat.S_IFLNK:
            return
        if kind != stat.S_IFDIR:
            rights &= _OF_FILES
        rule = _PathBeneath(rights, fd)
        _checked(call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0)))
    finally:
        os.close(fd)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _syscall() -> "ctypes._NamedFuncPointer":
    return libc().syscall
