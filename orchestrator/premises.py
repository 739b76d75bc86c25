"""Where onepen's own files lie (tasks, their journals, usage), and the writing of them: a link leads nowhere here.

Links travel in git, and a clone may come from anybody. `staging/` and `logs/` may be links that stay where they may
(memory/links.py says where); below them nothing is a link. Text of ours that follows one would be added to whatever
file the workspace's maker named.
"""

import os
from pathlib import Path

from ..memory import files
from ..memory.links import LinkLeadsOut, resolve
from ..memory.workspace import Space, Workspace


def own(space: Space, path: str) -> Path:
    """The real place of a path below staging/ or logs/, which need not exist; raises LinkLeadsOut naming the link."""
    top, *rest = path.split("/")
    here = resolve(space.root, space.path(top))
    for k, part in enumerate(rest, start=2):
        here = here / part
        if here.is_symlink():
            raise LinkLeadsOut(space.path("/".join(path.split("/")[:k])), os.path.realpath(here), _NO_LINKS)
    return here


def cache_place(workspace: Workspace) -> Path:
    """The real place of `.onepen/cache/context`, which need not exist; raises LinkLeadsOut naming the link."""
    here = workspace.root
    for part in (".onepen", "cache", "context"):
        here = here / part
        if here.is_symlink():
            raise LinkLeadsOut(str(here.relative_to(workspace.root)), os.path.realpath(here), _NO_LINKS)
    return here


def append_line(path: Path, line: str) -> None:
    """Adds a line to a file of onepen's own, synced; raises LinkLeadsOut, or an OSError."""
    _check(path)
    files.append_record(path, line, disk=files.NO_LINKS)


def write(path: Path, data: bytes) -> None:
    """Writes a file of onepen's own anew; raises LinkLeadsOut, or an OSError."""
    _check(path)
    files.replace(path, data, disk=files.NO_LINKS)


def _check(path: Path) -> None:
    real = os.path.realpath(path)
    if real != str(path):
        raise LinkLeadsOut(str(path), real, _NO_LINKS)


_NO_LINKS = "and onepen's own files are no links"
