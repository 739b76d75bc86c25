"""The beginning of a workspace: `onepen init`."""

import errno
import os
import secrets
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...memory.clock import SystemClock
from ...memory.scaffold import init, plan_workspace
from ...memory.workspace import SETTINGS, NoWorkspace, find_workspace, open_workspace
from .failure import BadText
from .text import count, one_line


@dataclass(frozen=True)
class Begun:
    """What `init` made, or would make: paths relative to the workspace; none where nothing was missing."""

    workspace: Path
    paths: tuple[str, ...]
    dry_run: bool
    notices: tuple[str, ...] = ()

    def as_json(self) -> Mapping[str, object]:
        return {"workspace": str(self.workspace), "paths": list(self.paths), "dry_run": self.dry_run}

    def people(self) -> str:
        place = one_line(str(self.workspace))
        way = one_line(shlex.quote(str(self.workspace)))
        if not self.paths:
            return f"{place}: nothing was missing\nNext: onepen status\n"
        files = "".join(f"  {one_line(path)}\n" for path in self.paths)
        if self.dry_run:
            return f"{place}: would make {count(len(self.paths), 'file')}\n{files}"
        return f"{place}: made {count(len(self.paths), 'file')}\n{files}Next: cd {way} && onepen status\n"


def begin(root: Path, *, name: str = "", dry_run: bool = False) -> Begun:
    """Make what is missing of a workspace in `root`.

    Raises BadText for a folder's name that can't be shown as it is, SettingsUnreadable, BadTitle or an OSError.
    """
    if one_line(root.name) != root.name:
        raise BadText(f"DIR {str(root)!r}: a folder's name is one line without control characters or doubled blanks")
    if root.exists() and not root.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "a workspace is a folder, and this is a file", str(root))
    if (root / SETTINGS).exists():
        open_workspace(root)
    workspace_id, today = secrets.token_hex(8), SystemClock().now().date()
    if dry_run:
        planned = plan_workspace(lambda path: os.path.lexists(root / path), workspace_id, name, today)
        return Begun(root, tuple(p.path for p in planned), True, _nested(root))
    return Begun(root, init(root, id=workspace_id, name=name, today=today), False, _nested(root))


def _nested(root: Path) -> tuple[str, ...]:
    try:
        outer = find_workspace(root.parent)
    except NoWorkspace:
        return ()
    return (f"{root} lies inside the workspace {outer}; commands inside it use the inner one",)
