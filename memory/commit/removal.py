"""Takes a file out of memory as a commit says, with the folders of a project that are empty then."""

from contextlib import suppress
from pathlib import Path

from .. import files


def take_out(root: Path, path: str, *, tag: str, before: str, disk: files.Disk) -> None:
    """Remove the file at a workspace path whose hash is `before`; raises FileMovedOn and leaves it, or an OSError.

    A link is a person's own: it stays, and what it leads to.
    """
    real = root / path
    if real.is_symlink():
        raise files.FileMovedOn(real, "was made a link meanwhile")
    files.take_out(real, tmp=files.tmp_name(real.name, tag), before=before, disk=disk)
    clear_folders(root, path, disk)


def clear_folders(root: Path, path: str, disk: files.Disk) -> None:
    """Remove the folders of a project that a file which is gone leaves empty; what can't be done is left."""
    depth = len(path.split("/")) - (4 if path.startswith("clients/") else 2)
    with suppress(OSError):  # not empty: there is more in it, or comes into it now
        for folder in (root / path).parents[:depth]:
            disk.rmdir(folder)
