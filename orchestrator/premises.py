"""Where onepen's own files lie (tasks, their journals, usage), and the writing of them: a link leads nowhere here.

Links travel in git, and a clone may come from anybody. `staging/` and `logs/` may be links that stay where they may
(memory/links.py says where); below them nothing is a link. Text of ours that follows one would be added to whatever
file the workspace's maker named.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..memory import files
from ..memory.guard import leads_straight
from ..memory.links import LinkLeadsOut, real_path
from ..memory.workspace import Space, Workspace

Lines = Sequence[tuple[Path, str]]
"""Lines to add, each with its file."""


def own(space: Space, path: str) -> Path:
    """The real place of a path below staging/ or logs/, which need not exist; raises LinkLeadsOut naming the link."""
    top, *rest = path.split("/")
    here = real_path(space.root, space.path(top))
    for k, part in enumerate(rest, start=2):
        here = f"{here}/{part}"
        if os.path.islink(here):  # noqa: PTH114
            raise LinkLeadsOut(space.path("/".join(path.split("/")[:k])), os.path.realpath(here), _NO_LINKS)
    return Path(here)


def own_batch(workspace: Workspace, batch: str, path: str = "") -> Path:
    """The real place of a path in a batch's folder, which need not exist; raises LinkLeadsOut naming the link."""
    return own(workspace.house, f"batches/{batch}" + (f"/{path}" if path else ""))


def cache_place(workspace: Workspace) -> Path:
    """The real place of `.onepen/cache/context`, which need not exist; raises LinkLeadsOut naming the link."""
    here = workspace.root / ".onepen" / "cache" / "context"
    for place in (here, here.parent, here.parent.parent):
        if os.path.islink(place):  # noqa: PTH114
            raise LinkLeadsOut(str(place.relative_to(workspace.root)), os.path.realpath(place), _NO_LINKS)
    return here


def append_line(path: Path, line: str, *, sync: bool = True) -> None:
    """Adds a line to a file of onepen's own, synced; raises LinkLeadsOut, or an OSError.

    Without `sync` it is on its way to the disk: the next line of the file that is synced takes it along.
    """
    _check(path)
    files.append_record(path, line, sync=sync, disk=files.NO_LINKS)


def append_bytes(path: Path, data: bytes) -> None:
    """Adds whole lines to a file of onepen's own, on their way to the disk; raises LinkLeadsOut, or an OSError."""
    _check(path)
    files.append(path, data, disk=files.NO_LINKS)


async def append_aside(path: Path, line: str) -> None:
    """The same, synced when this returns, in a thread: others go on meanwhile.

    Threads that sync different files at the same time wait for the disk together, not one after the other.
    """
    await append_in_turn(((path, line),))


async def append_in_turn(lines: Lines) -> None:
    """The same for several files: a file's lines are on the disk before one of the next file is written."""
    import anyio.to_thread

    def append() -> None:
        for k, (path, line) in enumerate(lines, 1):
            append_line(path, line, sync=k == len(lines) or lines[k][0] != path)

    if lines:
        await anyio.to_thread.run_sync(append)


async def sync_aside(paths: Iterable[Path]) -> None:
    """Waits until these files and folders are on the disk, all at the same time; raises an OSError."""
    import anyio.to_thread

    every, failed = tuple(paths), list[OSError]()

    def sync_some(some: Sequence[Path]) -> None:
        try:
            for path in some:
                (files.sync_folder if path.is_dir() else files.sync_file)(path)
        except OSError as e:
            failed.append(e)

    async with anyio.create_task_group() as group:
        for k in range(min(len(every), _THREADS)):
            group.start_soon(anyio.to_thread.run_sync, sync_some, every[k::_THREADS])
    if failed:
        raise failed[0]


def write(path: Path, data: bytes) -> None:
    """Writes a file of onepen's own anew; raises LinkLeadsOut, or an OSError."""
    _check(path)
    files.replace(path, data, disk=files.NO_LINKS)


def _check(path: Path) -> None:
    straight = leads_straight(path)
    if straight or (straight is None and leads_straight(path.parent) and not os.path.islink(path)):  # noqa: PTH114
        return  # as it does; or nothing is there yet, below a folder to which it does
    real = os.path.realpath(path)
    if real != str(path):
        raise LinkLeadsOut(str(path), real, _NO_LINKS)


_THREADS = 16  # that wait for the disk for one piece of work
_NO_LINKS = "and onepen's own files are no links"
