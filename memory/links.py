"""A memory file or folder that is a link: written through when it stays in the workspace, refused when it leads out.

People link a shared BRIEF.md into several clients, or a card to another name. The link stays a link and the real file
gets the text. A link out of the workspace, into `.onepen/` or `.git/`, or from one client's space into another's would
let a file of the workspace decide what is read into a prompt, or written over; it is refused with the reason. So is a
path that names `.onepen/` or `.git/` itself, at any depth: a line in a repository's config can be a command.
"""

import os
import stat
from pathlib import Path
from typing import ClassVar

from .errors import MemoryFault

_CLOSED = frozenset({".onepen", ".git"})
_TURNS = frozenset({"", ".", ".."})


class LinkLeadsOut(MemoryFault):
    """Raised when a path of the workspace leads, by itself or through a link, to where it may not."""

    exit_code: ClassVar[int] = 2

    def __init__(self, path: str, target: str, reason: str) -> None:
        where = "this is a path" if target == path else f"a link leads to {target},"
        super().__init__(f"{path}: {where} {reason}; it is neither read nor written")
        self.path = path


def resolve(root: Path, path: str) -> Path:
    """The real file behind a workspace path; it need not exist. `root` is a real path.

    Raises LinkLeadsOut.
    """
    return Path(real_path(root, path))


def real_path(root: Path, path: str) -> str:
    """The same as a text, which is all that a system call needs."""
    return look(root, path)[0]


def look(root: Path, path: str) -> tuple[str, os.stat_result | None]:
    """The same, with what stands there, which is no link; None where nothing does, or it was not looked at."""
    wanted = f"{root}/{path}"
    is_plain, found = _walked(str(root), path)
    if is_plain:
        return wanted, found
    real = os.path.realpath(wanted)
    inside = os.path.relpath(real, root)
    first, *rest = inside.split("/")
    if first == ".." or inside == ".":
        raise LinkLeadsOut(path, real, "outside the workspace")
    if not _CLOSED.isdisjoint(part.casefold() for part in (first, *rest)):
        raise LinkLeadsOut(path, inside, "which is no part of memory")
    if real == wanted:
        return real, None
    own = path.split("/")
    if own[0] == "clients" and first == "clients" and rest[:1] != own[1:2]:
        raise LinkLeadsOut(path, inside, "which is another client's")
    return real, None


def _walked(at: str, path: str) -> tuple[bool, os.stat_result | None]:
    """Whether a path goes through no link and names nothing closed, and what stands at its end.

    False also where that isn't told at a glance. Nearly every path is so, and a commit resolves many: to follow what
    may be links takes ten times as long.
    """
    parts = path.split("/")
    if not _TURNS.isdisjoint(parts) or not _CLOSED.isdisjoint(path.casefold().split("/")):
        return False, None
    found = None
    for part in parts:
        at = f"{at}/{part}"
        try:
            found = os.lstat(at)
        except (FileNotFoundError, NotADirectoryError):
            return True, None
        except OSError:
            return False, None
        if stat.S_ISLNK(found.st_mode):
            return False, None
    return True, found
