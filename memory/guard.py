"""Opens what a worker or a stranger made, without being led anywhere else.

A worker can put a link, a FIFO, a device, a hard link to somebody's file or a sparse giant where a draft should be, and
can exchange one for the other while it is being looked at. So there is no "check, then open": the kernel is asked to
open *beneath* a folder and to follow nothing (`openat2`, see openat2(2)); what came out is examined by its descriptor.
Where there is no `openat2`, each part of the path is opened by itself with O_NOFOLLOW.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

from .errors import MemoryFault
from .ids import shown

Kind = Literal[
    "link",
    "not_regular",
    "hard_link",
    "too_large",
    "outside",
    "missing",
    "other_device",
    "too_many",
    "unreadable",
    "changing",
]
_BENEATH = 0x01 | 0x02 | 0x04 | 0x08  # RESOLVE_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY
_NO_LINKS = 0x02 | 0x04  # RESOLVE_NO_MAGICLINKS, _NO_SYMLINKS
_AT_FDCWD = -100
_LOOK = getattr(os, "O_PATH", 0) | os.O_CLOEXEC  # with O_NOFOLLOW it would open a link itself (openat2(2))
_OPENAT2 = 437  # the same number on every architecture
_AS_A_PLACE = getattr(os, "O_PATH", os.O_RDONLY)  # who may read what lies in a folder need not be allowed to list it
_KINDS: dict[int, tuple[Kind, str]] = {
    errno.ELOOP: ("link", "is a link, or lies behind one"),
    errno.EXDEV: ("other_device", "lies on another file system"),
    errno.ENOENT: ("missing", "is not there"),
    errno.ENOTDIR: ("missing", "is not there"),
    errno.ENAMETOOLONG: ("missing", "has a name that is too long"),
    errno.ENXIO: ("not_regular", "is no regular file"),
    errno.ENODEV: ("not_regular", "is no regular file"),
    errno.EACCES: ("unreadable", "may not be read"),
    errno.EPERM: ("unreadable", "may not be read"),
}


class UnsafeFile(MemoryFault):
    """Raised when a file is not a plain one of its folder; `kind` says what it is. Its content was not used."""

    def __init__(self, kind: Kind, path: str, reason: str) -> None:
        super().__init__(f"{shown(path, 200)}: {reason}")
        self.kind: Kind = kind
        self.path = path


def read_beneath(root: Path, relative: str, *, max_bytes: int, one_link: bool = True) -> bytes:
    """The bytes of a regular file below `root`, read once; nothing on the way may be a link.

    `one_link` refuses a file that has a second name somewhere. Raises UnsafeFile, or OSError for `root` itself.
    """
    _check_relative(relative)
    top = os.open(root, _AS_A_PLACE | _FOLDER)
    try:
        fd = _open_beneath(top, relative, _READ)
        try:
            found = _check_plain(fd, relative, one_link=one_link)
            if found.st_size > max_bytes:
                raise UnsafeFile("too_large", relative, f"has {found.st_size} bytes, at most {max_bytes} are read")
            data = _read_all(fd, relative, max_bytes)
            if one_link:
                _check_still_there(top, relative, found)
                _check_name_was_kept(fd, relative)
            return data
        finally:
            os.close(fd)
    finally:
        os.close(top)


def open_beneath(root: Path, relative: str) -> int:
    """A descriptor for reading a regular file below `root`; nothing on the way may be a link.

    It never waits, as opening a FIFO would. Raises UnsafeFile, or OSError for `root` itself.
    """
    _check_relative(relative)
    with _folder(root) as top:
        fd = _open_beneath(top, relative, _READ)
    try:
        _check_plain(fd, relative, one_link=False)
    except UnsafeFile:
        os.close(fd)
        raise
    return fd


def list_beneath(root: Path, *, max_files: int) -> tuple[str, ...]:
    """The relative paths of everything below `root` that is not a folder, sorted; links are named, never followed.

    A name that is not UTF-8 keeps its bytes as surrogates. Raises UnsafeFile (`too_many`) when there are more than
    `max_files` entries, folders included.
    """
    found: list[str] = []
    folders = [""]
    seen = 0
    with _folder(root, os.O_RDONLY) as top:
        while folders:
            folder = folders.pop()
            try:
                fd = _open_beneath(top, folder, os.O_RDONLY | os.O_DIRECTORY) if folder else os.dup(top)
            except UnsafeFile:
                found.append(folder)  # changed into something else since it was listed, or too deep: named, not entered
                continue
            try:
                with os.scandir(fd) as entries:
                    for entry in entries:
                        seen += 1
                        if seen > max_files:
                            raise UnsafeFile("too_many", folder or ".", f"more than {max_files} entries")
                        path = f"{folder}/{entry.name}" if folder else entry.name
                        (folders if entry.is_dir(follow_symlinks=False) else found).append(path)
            finally:
                os.close(fd)
    return tuple(sorted(found))


def leads_straight(path: Path) -> bool | None:
    """Whether no part of an absolute path is a link; None where that can't be told at once: it isn't there, say."""
    if sys.platform != "linux":
        return None
    call, how = _call(_LOOK, _NO_LINKS)
    fd, code = call(_AT_FDCWD, os.fsencode(path), how)
    if fd >= 0:
        os.close(fd)
        return True
    return False if code == errno.ELOOP else None


def _check_plain(fd: int, relative: str, *, one_link: bool) -> os.stat_result:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise UnsafeFile("not_regular", relative, "is no regular file")
    if one_link and found.st_nlink > 1:
        raise UnsafeFile("hard_link", relative, f"has {found.st_nlink} names (hard links)")
    return found


def _check_still_there(top: int, relative: str, read: os.stat_result) -> None:
    """A hard link to somebody's file has two names only until its maker removes the one that we opened: then the
    descriptor shows one name, and it isn't ours. So what was read must stand under our name, with no other, still.
    """
    fd = _open_beneath(top, relative, _READ)
    try:
        if not os.path.samestat(read, _check_plain(fd, relative, one_link=True)):
            raise UnsafeFile("changing", relative, "is being exchanged while it is read")
    finally:
        os.close(fd)


def _check_name_was_kept(fd: int, relative: str) -> None:
    """Between two looks a name can go and come back, so that each of them finds the one link of somebody's file. The
    kernel knows better: a name that was taken away since the descriptor was opened is never that descriptor's again
    (d_path, as /proc tells it). So the one link that was counted meanwhile was ours.
    """
    try:
        path = os.readlink(b"/proc/self/fd/%d" % fd)  # noqa: PTH115 - bytes: a name need not be UTF-8
    except OSError:
        return  # no /proc here: what the two looks say has to do
    if not path.endswith(b"/" + os.fsencode(relative.rpartition("/")[2])):
        raise UnsafeFile("changing", relative, "is being exchanged while it is read")


def _check_relative(relative: str) -> None:
    parts = relative.split("/")
    if "\0" in relative or any(part in ("", ".", "..") for part in parts):
        raise UnsafeFile("outside", relative, "is no path below its folder")


def _open_beneath(top: int, relative: str, flags: int) -> int:
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = _openat2(top, relative, flags)
        return _open_by_parts(top, relative, flags) if fd is None else fd
    except OSError as e:
        if e.errno not in _KINDS:
            raise
        kind, reason = _KINDS[e.errno]
        raise UnsafeFile(kind, relative, reason) from e


def _openat2(top: int, relative: str, flags: int) -> int | None:
    """None where the kernel, or the container around us, has no openat2."""
    if sys.platform != "linux":
        return None
    call, how = _call(flags, _BENEATH)
    for _ in range(20):  # EAGAIN: something was renamed during the walk, and the kernel can't be sure
        fd, code = call(top, os.fsencode(relative), how)
        if fd >= 0:
            return fd
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    if code in (errno.ENOSYS, errno.EPERM, errno.EINVAL):
        return None
    raise OSError(code, os.strerror(code), relative)


@cache
def _call(flags: int, resolve: int) -> "tuple[Callable[[int, bytes, Any], tuple[int, int]], Any]":
    """The system call and its `struct open_how`; made once, since making them costs more than calling."""
    import ctypes

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    how = (ctypes.c_uint64 * 3)(flags, 0, resolve)

    def call(top: int, relative: bytes, how: object) -> tuple[int, int]:
        return syscall(_OPENAT2, top, relative, how, 24), ctypes.get_errno()

    return call, how


def _open_by_parts(top: int, relative: str, flags: int) -> int:
    *folders, name = relative.split("/")
    device = os.fstat(top).st_dev
    here = os.dup(top)
    try:
        for part in folders:
            below = _open_part(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, here)
            os.close(here)
            here = below
            if os.fstat(here).st_dev != device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
        fd = _open_part(name, flags, here)
        if os.fstat(fd).st_dev != device:
            os.close(fd)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), relative)
        return fd
    finally:
        os.close(here)


def _open_part(name: str, flags: int, here: int) -> int:
    try:
        return os.open(name, flags, dir_fd=here)
    except NotADirectoryError:
        # Linux says ENOTDIR for a link when O_DIRECTORY and O_NOFOLLOW are given together.
        if stat.S_ISLNK(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


def _read_all(fd: int, relative: str, max_bytes: int) -> bytes:
    pieces: list[bytes] = []
    left = max_bytes + 1  # one more than allowed shows that the file grew since its size was asked
    while left > 0:
        piece = os.read(fd, min(left, 1 << 20))
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        left -= len(piece)
    raise UnsafeFile("too_large", relative, f"has more than {max_bytes} bytes")


@contextmanager
def _folder(root: Path, how: int = _AS_A_PLACE) -> Iterator[int]:
    fd = os.open(root, how | _FOLDER)
    try:
        yield fd
    finally:
        os.close(fd)
