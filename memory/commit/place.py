"""Whether the files of a commit can be written where they are to lie: asked before the commit point.

Behind that point nothing can be refused any more, so all that can be known beforehand is asked here: what stands at the
place, whether this process may write there, and how large a file may become. What can't be known (the disk fills, or a
person changes the folder a moment later) is finished by the next opening.
"""

import errno
import os
import resource
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..links import look, resolve
from ..text.refusal import EditRefused
from .record import Addition, FileChange, Removal, Rewrite

_SPARE_BYTES = 256 << 10  # must be free beside what a commit writes
_EFFECTIVE = os.access in os.supports_effective_ids


class PlaceUnfit(EditRefused):
    """Raised when something else stands where a file is to be written; nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was written")
        self.path = path


def check_places(root: Path, changes: Sequence[FileChange], contents: Mapping[str, bytes]) -> list[Path]:
    """Where the files of a commit really lie, and can be written as far as that can be told beforehand.

    Raises LinkLeadsOut, PlaceUnfit, or an OSError that names the file.
    """
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    folders: set[str] = set()  # in which this process may make files and take them away
    places: list[Path] = []
    for change in changes:
        real, size = _check_place(root, change, contents, folders)
        if limit != resource.RLIM_INFINITY and size > limit:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(real))
        places.append(real)
    if len(set(map(str, places))) < len(places):
        raise PlaceUnfit(changes[0].path, "two of the files to be written are one, by a link")
    return places


def check_room(root: Path, record: bytes, changes: Sequence[FileChange], contents: Mapping[str, bytes]) -> None:
    """Raises ENOSPC when the disk has no room for a commit and some to spare."""
    needed = len(record) * 2 + sum(map(len, contents.values()))
    if shutil.disk_usage(root).free < needed + _SPARE_BYTES:
        first = next((path for path in contents), changes[0].path)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(resolve(root, first)))


def unsettled(root: Path, path: str, *, whole: bool) -> str | None:
    """Why a pending commit can't finish the file at `path`; None if nothing stands in its way.

    `whole` says whether the file is replaced rather than added to.
    """
    try:
        real = resolve(root, path)
        standing = _standing(root, path, real)
        if whole or standing is None:
            _may(_nearest(root, real), os.W_OK | os.X_OK)
        else:
            _may(real, os.R_OK | os.W_OK)
    except PlaceUnfit as e:
        return e.message.removesuffix("; nothing was written")
    except OSError as e:
        return f"{e.filename or path}: {e.strerror}"
    return None


def _check_place(root: Path, change: FileChange, contents: Mapping[str, bytes], folders: set[str]) -> tuple[Path, int]:
    """The real file behind a change, and the size that it will have; `folders` are those asked about before."""
    where, standing = look(root, change.path)
    real = Path(where)
    if standing is None or not stat.S_ISREG(standing.st_mode):
        standing = _standing(root, change.path, real)
    if isinstance(change, Addition) and standing is not None:
        _may(real, os.R_OK | os.W_OK)
        return real, standing.st_size + len(change.due)
    if isinstance(change, Removal) and (root / change.path).is_symlink():
        raise PlaceUnfit(change.path, "this is a link, and onepen removes none: remove it by hand")
    if (folder := where.rpartition("/")[0]) not in folders:
        _may(_nearest(root, real), os.W_OK | os.X_OK)
        folders.add(folder)
    if isinstance(change, Removal):
        return real, 0
    return real, len(contents[change.path] if isinstance(change, Rewrite) else change.due)


def _standing(root: Path, path: str, real: Path) -> os.stat_result | None:
    """What stands at a place that is free for a file or has one."""
    try:
        found = real.stat()
    except (FileNotFoundError, NotADirectoryError):
        for folder in reversed(real.parents):
            if folder != root and folder.is_relative_to(root) and os.path.lexists(folder) and not folder.is_dir():
                where = str(folder.relative_to(root))
                raise PlaceUnfit(where, "this is a file, and a folder is needed here") from None
        return None
    if stat.S_ISDIR(found.st_mode):
        raise PlaceUnfit(path, "this is a folder, and a file is to be written here")
    if not stat.S_ISREG(found.st_mode):
        raise PlaceUnfit(path, "this is no regular file, and one is to be written here")
    return found


def _nearest(root: Path, real: Path) -> Path:
    """The folder of a file or, while that is to be made, the nearest one above it."""
    folder = real.parent
    while folder != root and not folder.is_dir():
        folder = folder.parent
    return folder


def _may(path: Path, mode: int) -> None:
    if os.access(path, mode, effective_ids=_EFFECTIVE):
        return
    code = errno.EROFS if _read_only(path) else errno.EACCES
    raise OSError(code, os.strerror(code), str(path))


def _read_only(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
