"""What the person allowed workspaces, as their own file remembers it: one JSON line for each word that they gave.

It lies in the person's data folder, beside no workspace, and only the person may write to it.

{"v": 1, "time": …, "workspace": id, "path": …, "name": "onepen.toml", "sha256": …, "allowed": true, "lines": […]}
"""

import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...memory import files
from ..errors import OrchestratorFault
from .trust import Wish

FILE = "trust.jsonl"
_VERSION = 1


class TrustUnreadable(OrchestratorFault):
    """Raised when the file that remembers consents can't be believed: somebody else could have written it."""

    exit_code = 2

    def __init__(self, path: Path, reason: str, hint: str | None = None) -> None:
        super().__init__(f"{path}: {reason}", hint=hint)


@dataclass(frozen=True)
class Grant:
    """One thing that the person allowed, and still allows: a workspace's wishes, or what an agent asks for."""

    time: str
    workspace: str
    path: str
    name: str
    sha256: str
    lines: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "time": self.time,
            "workspace": self.workspace,
            "path": self.path,
            "name": self.name,
            "sha256": self.sha256,
            "lines": list(self.lines),
        }


def trust_file() -> Path:
    """Where consents are remembered; it need not exist."""
    from platformdirs import user_data_path

    return user_data_path("onepen") / FILE


def grants(path: Path) -> tuple[Grant, ...]:
    """What is allowed now, oldest first; a line that can't be read allows nothing. Raises TrustUnreadable."""
    held: dict[str, Grant] = {}
    for line in _lines(path):
        match line:
            case {
                "v": 1,
                "time": str(time),
                "workspace": str(workspace),
                "path": str(place),
                "name": str(name),
                "sha256": str(sha256),
                "allowed": bool(allowed),
                "lines": list(lines),
            }:
                held.pop(sha256, None)
                if allowed:
                    held[sha256] = Grant(time, workspace, place, name, sha256, tuple(map(str, lines)))
    return tuple(held.values())


def trusted(path: Path) -> frozenset[str]:
    """The hashes of what is allowed now; raises TrustUnreadable."""
    return frozenset(grant.sha256 for grant in grants(path))


def unread(path: Path) -> str | None:
    """What a person should know of lines that can't be read any more; raises TrustUnreadable."""
    bad = [number for number, line in enumerate(_lines(path), 1) if line is None]
    if not bad:
        return None
    where = f"line {bad[0]}" if len(bad) == 1 else f"{len(bad)} lines, the first of them {bad[0]},"
    return f"{path}: {where} can't be read, so what was allowed there is no longer: allow it again (onepen trust)"


def allow(path: Path, workspace: str, root: Path, wishes: Iterable[Wish], time: str) -> None:
    """Remembers that the person allowed these; raises TrustUnreadable or an OSError."""
    _lines(path)
    for wish in wishes:
        _append(path, Grant(time, workspace, str(root), wish.name, wish.sha256, wish.lines), allowed=True)


def revoke(path: Path, workspace: str, time: str) -> tuple[Grant, ...]:
    """Takes back all that was allowed to a workspace, and says what it was; raises TrustUnreadable or an OSError."""
    ended = tuple(grant for grant in grants(path) if grant.workspace == workspace)
    for grant in ended:
        _append(path, Grant(time, workspace, grant.path, grant.name, grant.sha256, grant.lines), allowed=False)
    return ended


def _append(path: Path, grant: Grant, *, allowed: bool) -> None:
    files.make_folder(path.parent, within=None)
    files.append_record(path, json.dumps({"v": _VERSION, **grant.as_json(), "allowed": allowed}, ensure_ascii=False))


def _lines(path: Path) -> Iterator[object]:
    """The lines of the file, if it is the person's own."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return iter(())
    if not stat.S_ISREG(found.st_mode):
        raise TrustUnreadable(path, "is no plain file, so what it allows is not believed")
    if found.st_uid != os.geteuid():
        raise TrustUnreadable(path, "belongs to somebody else, so what it allows is not believed")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise TrustUnreadable(path, "others may write to it, so what it allows is not believed", f"chmod 600 {path}")
    return _parsed(path.read_text(errors="replace"))


def _parsed(text: str) -> Iterator[object]:
    """Each line that is not blank; None for one that can't be read."""
    for line in filter(str.strip, text.split("\n")):
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            yield None
