"""What a worker has left so far, measured while it runs: how many things, and how large they say they are."""

import errno
import os
from contextlib import suppress
from pathlib import Path

CLOSED = frozenset({errno.ENAMETOOLONG, errno.EACCES})
"""What the system says of a folder that lies too deep for a path, or whose mode doesn't let it be listed."""


def overfull(folder: Path, most_files: int, most_bytes: int) -> str | None:
    """Why what lies in `folder` and below is too much, None when it isn't; a folder that isn't there holds nothing.

    It stops as soon as it is too much. Links count as themselves, and a file with holes as large as it claims to be. A
    folder that can't be looked into, for its depth or its mode, is too much: any number of files may lie in it.
    """
    files = size = 0
    left = [os.fspath(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    files += 1
                    if files > most_files:
                        return f"it left more than {most_files:,} files in {folder.name}/"
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
                        continue
                    with suppress(FileNotFoundError):
                        size += entry.stat(follow_symlinks=False).st_size
                    if size > most_bytes:
                        return f"it left more than {most_bytes >> 20:,} MiB in {folder.name}/"
        except OSError as e:  # it is gone again, or no folder any more
            if e.errno in CLOSED:
                return f"it left a folder in {folder.name}/ that can't be looked into: {e.strerror}"
    return None
