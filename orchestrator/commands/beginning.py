"""The beginning of a workspace: `onepen init`."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...memory.clock import SystemClock
from ...memory.scaffold import init, plan_workspace
from ...memory.workspace import NoWorkspace, find_workspace, open_workspace
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
        if not self.paths:
            return f"{place}: nothing was missing\nNext: onepen status\n"
        files = "".join(f"  {one_line(path)}\n" for path in self.paths)
        if self.dry_run:
            return f"{place}: would make {count(len(self.paths), 'file')}\n{files}"
        return f"{place}: made {count(len(self.paths), 'file')}\n{files}Next: cd {place} && onepen status\n"


def begin(root: Path, *, name: str = "", dry_run: bool = False) -> Begun:
    """Make what is missing of a workspace in `root`; raises SettingsUnreadable, BadTitle or an OSError."""
    today = SystemClock().now().date()
    workspace_id = secrets.token_hex(8)
    notices = _nested(root)
    if dry_run:
        if root.exists() and not root.is_dir():
            raise NotADirectoryError(20, "Not a directory", str(root))
        planned = plan_workspace(lambda path: (root / path).exists(), workspace_id, name, today)
        return Begun(root, tuple(p.path for p in planned), True, notices)
    made = init(root, id=workspace_id, name=name, today=today)
    open_workspace(root)
    return Begun(root, made, False, notices)


def _nested(root: Path) -> tuple[str, ...]:
    try:
        outer = find_workspace(root.parent)
    except NoWorkspace:
        return ()
    return (f"{root} lies inside the workspace {outer}; commands inside it use the inner one",)
