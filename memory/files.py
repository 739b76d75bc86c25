"""The two writing primitives, replace and append, and their syncs: nothing else in onepen opens a file for writing.

Facts that this module is built on:

- A rename is atomic for those who read, but the *data* of the new file may come to the disk after the rename. After a
  power cut a file can then be empty. So what replaces a file is synced before the rename, when it must last.
- A write may be short, and a full disk shows in the middle of it. Every write is looped; a failed append is cut off.
- git and many editors replace a file instead of writing into it, so a descriptor can point to a file that has no name
  any more. After an append the name is compared with the descriptor.
- `fsync` that failed may succeed the next time without the data having reached the disk. It is never tried again.
- A workspace can be moved away at any moment. So whoever makes folders says within which one that has to be there;
  unasked, only a file's own folder is made: nothing is begun anew where a workspace was.
- A process can be killed between making a temporary file and renaming it. So its name is always the same one, and the
  next write takes it over; a lock, which ends with its holder, tells whether somebody is still writing into it.

A link is not followed by `replace`: it would become a plain file. Callers resolve links first (links.py).
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .disk import DISK as DISK
from .disk import NO_LINKS as NO_LINKS
from .disk import Disk as Disk
from .errors import MemoryFault

_TMP = re.compile(r"\..+\.[a-z0-9-]+\.tmp")
_OPEN_AT_ONCE = 64  # files; a process may not have many more
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_LOOK = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class FileMovedOn(MemoryFault):
    """Raised when a file is not, or no longer, what its writer had read; nothing of it was overwritten."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path


def sha256(data: bytes) -> str:
    """The hash by which files, drafts and sections are compared, in hex."""
    return hashlib.sha256(data).hexdigest()


def tmp_name(name: str, tag: str) -> str:
    """The name of the file that is to replace `name`; the tag is a commit's id, so recovery finds it again."""
    return f".{name}.{tag}.tmp"


def being_written(path: Path) -> bool:
    """Whether a process is writing into this temporary file right now, or has just renamed it."""
    try:
        fd = os.open(path, _LOOK)
    except OSError:
        return not os.path.lexists(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def is_tmp(name: str) -> bool:
    """Whether a file name is one that `tmp_name` makes: left over, if no pen is writing."""
    return _TMP.fullmatch(name) is not None


def replace(path: Path, data: bytes, *, tmp: str | None = None, sync: bool = False, disk: Disk = DISK) -> None:
    """Give `path` the content `data` in one step; mode and owner stay, new files get 0600 and new folders 0700.

    `tmp` names the file beside it that is renamed, for a writer who holds the pen, and the folder is there; without it,
    two processes may write at once, and one of the two contents stays. `sync` waits until content and name last.
    Raises OSError that names the path; then `path` is as it was, unless it was the sync of the folder that failed.
    """
    if tmp is not None:
        beside = _write_beside(path, data, tmp, sync, disk)
        with _named(path), _without(beside, disk):
            disk.rename(beside, path)
    else:
        _make_last(path.parent, disk)
        with _named(path), _claimed(path, disk) as (beside, fd), _without(beside, disk):
            _fill(fd, path, data, sync, disk)
            disk.rename(beside, path)
    if sync:
        sync_folder(path.parent, disk=disk)


def swap(path: Path, data: bytes, *, tmp: str, before: str | None, disk: Disk = DISK) -> None:
    """Replace the file whose hash is `before` (None: absent) by `data`, synced, or raise FileMovedOn and leave it."""
    (beside,) = lay([(path, tmp, data)], disk=disk)
    swap_in(beside, path, before=before, disk=disk)


def lay(wanted: Sequence[tuple[Path, str, bytes]], *, disk: Disk = DISK) -> list[Path]:
    """Write beside each path, as the file of that name, what is to become its content; raises OSError, leaving none.

    All are on their way to the disk before the first is waited for.
    """
    laid: list[Path] = []
    try:
        for start in range(0, len(wanted), _OPEN_AT_ONCE):
            _lay(wanted[start : start + _OPEN_AT_ONCE], laid, disk)
    except BaseException:
        for beside in laid:
            with suppress(OSError):
                disk.unlink(beside)
        raise
    return laid


def swap_in(beside: Path, path: Path, *, before: str | None, stood: bytes | None = None, disk: Disk = DISK) -> None:
    """Replace the file whose hash is `before` (None: absent) by the one that was laid beside it.

    The two files are exchanged and what came out is compared, so that a save by an editor at the same moment is not
    lost; with `stood`, the content that has this hash, byte by byte, which is quicker. The folder is not synced.
    Raises FileMovedOn: `path` is as another program left it.
    """
    with _named(path):
        with _without(beside, disk):
            if before is None:
                _put_new(beside, path, disk)
                return
            try:
                swapped = disk.exchange(beside, path)
            except FileNotFoundError as e:
                raise FileMovedOn(path, "was removed while it was being changed") from e
            if not swapped:
                if not _holds(path, before, stood):
                    raise FileMovedOn(path, "was changed by another program meanwhile")
                disk.rename(beside, path)
                return
        # From here on `beside` is what stood at `path`: it may be a person's only copy, so it goes only when known.
        if _holds(beside, before, stood):
            disk.unlink(beside)
            return
        disk.exchange(beside, path)
        disk.unlink(beside)
        raise FileMovedOn(path, "was changed by another program meanwhile")


def take_out(path: Path, *, tmp: str, before: str, disk: Disk = DISK) -> None:
    """Remove the file whose hash is `before`, or raise FileMovedOn and leave it. The folder is not synced.

    It is renamed to `tmp` and looked at there, so that a save by an editor at the same moment is not lost: it is put
    back, or stays there if that program has made a newer one already.
    """
    beside = path.with_name(tmp)
    with _named(path):
        if not _holds(path, before):
            raise FileMovedOn(path, "was changed or removed by another program meanwhile")
        try:
            disk.rename(path, beside)
        except FileNotFoundError as e:
            raise FileMovedOn(path, "was removed by another program meanwhile") from e
        if _holds(beside, before):
            disk.unlink(beside)
            return
        _put_new(beside, path, disk)
        raise FileMovedOn(path, "was changed by another program meanwhile")


def append(
    path: Path,
    data: bytes,
    *,
    sync: bool = False,
    expect_size: int | None = None,
    own_line: bool = False,
    disk: Disk = DISK,
) -> None:
    """Add `data` at the end of `path`, which is created (0600) if it is missing.

    `expect_size` is the size that the caller saw; `own_line` puts a newline first if the last line has none.
    Raises FileMovedOn when the size is another one (nothing was written) or when the name points to another file
    afterwards (`data` went into the one that is gone); OSError when the disk refuses, and then what was added is cut.
    """
    if not os.path.lexists(path):
        _make_last(path.parent, disk)
    with _named(path), _opened(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, disk) as fd:
        size = os.fstat(fd).st_size
        if expect_size is not None and size != expect_size:
            raise FileMovedOn(path, f"has {size} bytes, {expect_size} were expected")
        if own_line and size and os.pread(fd, 1, size - 1) != b"\n":
            data = b"\n" + data
        try:
            _write_all(fd, data, disk)
        except OSError:
            with suppress(OSError):
                disk.truncate(fd, size)
            raise
        if sync:
            disk.sync(fd)
        if not same_file(fd, path):
            raise FileMovedOn(path, "was replaced by another program while a line was added")


def append_record(path: Path, record: str, *, sync: bool = True, disk: Disk = DISK) -> None:
    """Add one line to a journal and wait until it is on the disk; a torn last line stays a line of its own."""
    if "\n" in record:
        raise ValueError("a record is one line")
    append(path, record.encode() + b"\n", sync=sync, own_line=True, disk=disk)


def create_exclusive(path: Path, data: bytes, *, sync: bool = False, disk: Disk = DISK) -> None:
    """Make a new file (0600) with all of `data`, or nothing; raises FileExistsError when the name is taken."""
    _make_last(path.parent, disk)
    with _named(path), _opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, disk) as fd, _without(path, disk):
        _write_all(fd, data, disk)
        if sync:
            disk.sync(fd)
    if sync:
        sync_folder(path.parent, disk=disk)


def open_log(path: Path, *, most: int, disk: Disk = NO_LINKS) -> int:
    """A descriptor that adds to a log (0600); one of `most` bytes or more becomes `<name>.1`, and a new one begins.

    Raises OSError where something else than a plain file stands there.
    """
    _make_last(path.parent, disk)
    with _named(path):
        with suppress(FileNotFoundError):
            if path.lstat().st_size >= most:
                disk.rename(path, path.with_name(f"{path.name}.1"))
        fd = disk.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(errno.EINVAL, "a plain file is needed here", str(path))
        return fd


def make_folder(path: Path, *, within: Path | None, disk: Disk = DISK) -> None:
    """Make a folder and those missing above it, 0700, where `within`, one of those, is there (None: no workspace's)."""
    if path.is_dir():
        return
    if path == within:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    make_folder(path.parent, within=within, disk=disk)
    with _named(path):
        try:
            disk.mkdir(path)
        except FileExistsError:
            if not path.is_dir():
                raise


def _make_last(folder: Path, disk: Disk) -> None:
    """Make a file's folder, if it alone is missing."""
    make_folder(folder, within=folder.parent, disk=disk)


def truncate(path: Path, size: int, *, disk: Disk = DISK) -> None:
    """Cut a file to `size` bytes and wait until that is on the disk."""
    with _named(path), _opened(path, os.O_WRONLY, disk) as fd:
        disk.truncate(fd, size)
        disk.sync(fd)


def set_mode(path: Path, mode: int, *, disk: Disk = DISK) -> None:
    """Let a file be used for no more and no less than `mode` says."""
    with _named(path), _opened(path, os.O_RDONLY | os.O_NOFOLLOW, disk) as fd:
        disk.chmod(fd, mode)


def sync_file(path: Path, *, disk: Disk = DISK) -> None:
    """Wait until the content of a file is on the disk."""
    with _named(path), _opened(path, os.O_RDONLY, disk) as fd:
        disk.sync(fd)


def sync_folder(path: Path, *, disk: Disk = DISK) -> None:
    """Wait until the names in a folder are on the disk."""
    with _named(path), _opened(path, os.O_RDONLY | os.O_DIRECTORY, disk) as fd:
        disk.sync_folder(fd)


def remove(path: Path, *, disk: Disk = DISK) -> None:
    """Remove a file; one that is already gone is fine."""
    with _named(path), suppress(FileNotFoundError):
        disk.unlink(path)


@contextmanager
def scratch() -> Iterator[Path]:
    """A private folder among the system's temporary ones, which is gone behind it with all that lies in it then."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="onepen-") as folder:
        yield Path(folder).resolve()


def same_file(fd: int, path: Path) -> bool:
    """Whether `path` names the very file that `fd` is open on."""
    try:
        named = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(named, os.fstat(fd))


def _write_beside(path: Path, data: bytes, tmp: str, sync: bool, disk: Disk) -> Path:
    beside = path.with_name(tmp)
    with _named(path):
        fd = _open_new(beside, disk)
        try:
            with _without(beside, disk):
                _fill(fd, path, data, sync, disk)
        finally:
            os.close(fd)
    return beside


def _lay(wanted: Sequence[tuple[Path, str, bytes]], laid: list[Path], disk: Disk) -> None:
    opened: list[tuple[Path, int]] = []
    try:
        for path, tmp, data in wanted:
            with _named(path):
                beside = path.with_name(tmp)
                fd = _open_new(beside, disk)
                laid.append(beside)
                opened.append((path, fd))
                _fill(fd, path, data, False, disk)
                if len(wanted) > 1:
                    disk.begin_sync(fd)
        for path, fd in opened:
            with _named(path):
                disk.sync(fd)
    finally:
        for _, fd in opened:
            os.close(fd)


def _open_new(beside: Path, disk: Disk) -> int:
    """A new file of this name, instead of one that a killed process left."""
    try:
        return disk.open(beside, _NEW)
    except FileExistsError:
        with suppress(FileNotFoundError):
            disk.unlink(beside)
    return disk.open(beside, _NEW)


def _fill(fd: int, path: Path, data: bytes, sync: bool, disk: Disk) -> None:
    _write_all(fd, data, disk)
    _keep_mode(fd, path, disk)
    if sync:
        disk.sync(fd)


@contextmanager
def _claimed(path: Path, disk: Disk) -> Iterator[tuple[Path, int]]:
    """A new file beside `path`, locked until it is renamed; if this process is killed, the next write takes it over.

    While another process writes there, or where there are no locks, it gets a name of its own.
    """
    beside = path.with_name(tmp_name(path.name, "new"))
    for _ in range(3):
        try:
            fd = disk.open(beside, _NEW)
        except FileExistsError:
            if not _drop_abandoned(beside, disk):
                break
            continue
        try:
            if _lock_new(fd, beside, disk):
                yield beside, fd
                return
        finally:
            os.close(fd)
    beside = path.with_name(tmp_name(path.name, secrets.token_hex(4)))
    with _opened(beside, _NEW, disk) as fd:
        yield beside, fd


def _lock_new(fd: int, beside: Path, disk: Disk) -> bool:
    """Lock a file that was just made; False when it isn't there any more."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # between the two calls another process took it for abandoned, and removes it
    except OSError:
        disk.unlink(beside)
        return False
    return same_file(fd, beside)


def _drop_abandoned(beside: Path, disk: Disk) -> bool:
    """Remove a temporary file that nobody writes into any more; False if somebody does or it is no plain file."""
    try:
        fd = os.open(beside, _LOOK)
    except OSError:
        return not os.path.lexists(beside)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return False
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if same_file(fd, beside):
            disk.unlink(beside)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def _put_new(beside: Path, path: Path, disk: Disk) -> None:
    try:
        if disk.rename_new(beside, path):
            return
    except FileExistsError as e:
        raise FileMovedOn(path, "was made by another program meanwhile") from e
    except FileNotFoundError as e:
        raise FileMovedOn(path, "could not be made: another program took away what was laid beside it") from e
    if os.path.lexists(path):
        raise FileMovedOn(path, "was made by another program meanwhile")
    disk.rename(beside, path)


def _keep_mode(fd: int, path: Path, disk: Disk) -> None:
    try:
        old = path.stat()
    except FileNotFoundError:
        return
    new = os.fstat(fd)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with suppress(PermissionError):  # only root gives a file away; then it is ours, and its mode is no wider
            disk.chown(fd, old.st_uid, old.st_gid)
    if stat.S_IMODE(old.st_mode) != stat.S_IMODE(new.st_mode):
        disk.chmod(fd, stat.S_IMODE(old.st_mode))


def _write_all(fd: int, data: bytes, disk: Disk) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[disk.write(fd, rest) :]


def _holds(path: Path, hash_: str, content: bytes | None = None) -> bool:
    """Whether a file is there and its content has this hash; or is this content, where that is at hand."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        found = read_all(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)
    return sha256(found) == hash_ if content is None else found == content


def read_all(fd: int, size: int) -> bytes:
    """What is in an open file, from where the descriptor stands to the end; `size` is what it is thought to have."""
    data = os.read(fd, size + 1)
    while part := os.read(fd, 1 << 16):
        data += part
    return data


@contextmanager
def _opened(path: Path, flags: int, disk: Disk) -> Iterator[int]:
    fd = disk.open(path, flags)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def _without(path: Path, disk: Disk) -> Iterator[None]:
    """Remove `path` if what follows fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            disk.unlink(path)
        raise


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Give an OSError of a descriptor the path that it happened to."""
    try:
        yield
    except OSError as e:
        if e.filename is None and e.errno is not None:
            raise OSError(e.errno, os.strerror(e.errno), str(path)) from e
        raise
