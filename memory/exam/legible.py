"""Reading for the doctor: a file that can't be read is told as a problem instead of ending the examination."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from ..errors import MemoryFault
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..view import UnreadableText, View


class Judge(Protocol):
    """Finds what is wrong in the text of a file."""

    def __call__(self, path: str, text: str) -> Iterable[Problem]: ...


def legible(view: View, path: str) -> str | Problem | None:
    """A file's text, None if it is absent, or why it can't be read; raises RedoDamaged."""
    try:
        real = resolve(view.workspace.root, path)
        if (what := _no_file(real, view.workspace.root / path)) is not None:
            return Problem(path, 0, "not_a_file", "error", f"this is {what}, and a file should be here")
        return view.text(path)
    except LinkLeadsOut as e:
        return led_out(e)
    except UnreadableText as e:
        return Problem(path, 0, "not_text", "error", without_path(e))
    except OSError as e:
        return Problem(path, 0, "unreadable", "error", f"can't be read: {e.strerror}")


def judged(view: View, path: str, judge: Judge) -> Iterator[Problem]:
    """What a judge finds in a file, or why it can't be read; nothing if it is absent."""
    found = legible(view, path)
    if isinstance(found, Problem):
        yield found
    elif found is not None:
        yield from judge(path, found)


def _no_file(real: Path, named: Path) -> str | None:
    """What stands in the place of a file, in words."""
    try:
        kind = real.lstat().st_mode
    except FileNotFoundError:
        return "a link that leads to nothing" if named.is_symlink() else None
    except NotADirectoryError:
        return None
    if stat.S_ISREG(kind):
        return None
    words = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}
    return words.get(stat.S_IFMT(kind), "a device")


def led_out(fault: LinkLeadsOut) -> Problem:
    return Problem(fault.path, 0, "link_leads_out", "error", without_path(fault))


def without_path(fault: MemoryFault) -> str:
    """The message without the path before it, which a problem shows itself."""
    return fault.message.partition(": ")[2] or fault.message


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; none if it is absent or may not be read."""
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []
