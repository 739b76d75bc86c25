"""File systems of one's own, for tests that need a full one, a read-only one, or one whose power is cut.

Each lies in a file (or in memory) and is mounted for a while, which only root may do; leaving the context unmounts it.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

JOURNALS = ("ordered", "writeback")
"""Ways in which ext4 keeps its journal; with "writeback" a name may come to the disk before its data."""


@cache
def missing() -> str | None:
    """Why nothing can be mounted here; None if it can."""
    if os.geteuid() != 0:
        return "only root may mount"
    if shutil.which("mkfs.ext4") is None:
        return "mkfs.ext4 is not installed"
    with tempfile.TemporaryDirectory() as folder:
        try:
            make_image(Path(folder) / "image", 8)
            with mounted(Path(folder) / "image", Path(folder) / "mnt"):
                return None
        except subprocess.CalledProcessError as e:
            return f"a loop image can't be mounted here: {e.stderr.strip()[-200:]}"


def make_image(path: Path, megabytes: int) -> None:
    """A new ext4 file system in a sparse file; all of it is written now, nothing later in the background."""
    with path.open("wb") as file:
        file.truncate(megabytes << 20)
    _run("mkfs.ext4", "-q", "-F", "-b", "1024", "-J", "size=2", "-E", "lazy_itable_init=0,lazy_journal_init=0", path)


def copy_image(source: Path, target: Path) -> None:
    """What is on the "disk" at this moment: what the file system still holds back is not in it.

    `target` is a new file each time. Where one of its name is still in use, since somebody has a file open in what was
    mounted from it, a mount of the same file would show that and not the copy.
    """
    _run("cp", "--remove-destination", "--sparse=always", source, target)


@contextmanager
def mounted(image: Path, where: Path, *options: str) -> Iterator[Path]:
    """The file system in an image, mounted at a folder that is made if need be; options as of mount(8)."""
    with _mounted(where, "-t", "ext4", "-o", ",".join(("loop", *options)), image):
        yield where


@contextmanager
def in_memory(where: Path, *options: str) -> Iterator[Path]:
    """A tmpfs, bounded by its options: `size=1m`, `nr_inodes=200`."""
    with _mounted(where, "-t", "tmpfs", "-o", ",".join(options), "tmpfs"):
        yield where


@contextmanager
def filled(where: Path, left: int) -> Iterator[None]:
    """The file system of a folder with no more than `left` bytes free, for a while."""
    filler = where / ".filler"
    with filler.open("wb") as file:
        free = os.statvfs(where).f_bavail * os.statvfs(where).f_frsize
        os.posix_fallocate(file.fileno(), 0, max(free - left, 1))
    try:
        yield
    finally:
        filler.unlink()


def break_journal(where: Path) -> None:
    """What ext4 does when its disk fails: from now on nothing can be written, also by files that are open."""
    _run("mount", "-o", "remount,abort", where)


@contextmanager
def read_only(where: Path) -> Iterator[None]:
    """The file system that is mounted at `where`, read-only for a while."""
    _run("mount", "-o", "remount,ro", where)
    try:
        yield
    finally:
        _run("mount", "-o", "remount,rw", where)


@contextmanager
def _mounted(where: Path, *how: str | Path) -> Iterator[None]:
    where.mkdir(exist_ok=True)
    _run("mount", *how, where)
    try:
        yield
    finally:
        if subprocess.run(["umount", where], capture_output=True, check=False).returncode:
            _run("umount", "--lazy", where)  # somebody still has a file open in it


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
