"""Inputs of a task: the files that a person names, copied, so that what was read stays as it was read.

Regular UTF-8 text is copied, folders are walked. What is left out is named with the reason, never dropped in silence:
hidden files and folders, a workspace's `staging/`, `batches/`, `logs/` and `cache/`, links inside a folder, binaries,
files larger than 1 MiB, and whatever goes beyond 500 files or 20 MiB. A path that gives no file at all is refused.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..memory import files
from ..memory.guard import UnsafeFile, read_beneath
from ..memory.ids import shown
from ..memory.text.decode import NotText, decode
from .characters import visible
from .errors import StagingFault

MAX_BYTES = 1 << 20
MAX_FILES = 500
MAX_TOTAL = 20 << 20
_MOST_WALKED = 20_000
_MOST_NAMED = 100
_DEEPEST = 16
_PLAIN = re.compile(r"[a-z][a-z0-9-]{0,60}\.md")
_OWN = frozenset({"staging", "batches", "logs", "cache"})


class NoSuchInput(StagingFault):
    """Raised when an input that a person named, or a worker asks for, is not there."""

    exit_code = 2

    def __init__(self, path: str, reason: str = "no such file or folder") -> None:
        super().__init__(f"input {shown(path, 200)}: {reason}")


@dataclass(frozen=True)
class _Found:
    """A file that may be copied: where it lies, and its name below inputs/."""

    root: Path
    relative: str
    name: str


def copy_inputs(folder: Path, paths: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Copy what `paths` name into `folder`; the names of the copies and a message for each thing left out.

    A file keeps its name, a file of a folder keeps the folder's name before its own; a second one of the same name
    gets `-2` behind it. Raises NoSuchInput before anything is copied when one of the paths is missing or gives nothing
    that can be read.
    """
    copied: list[str] = []
    left: list[str] = []
    for item in tuple(_chosen(paths)):
        if isinstance(item, str):
            left.append(item)
        else:
            files.make_folder((folder / item.name).parent, within=folder.parent)
            files.create_exclusive(folder / item.name, item.data)
            copied.append(item.name)
    return tuple(copied), _bounded(left)


def put_inputs(folder: Path, papers: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Inputs that are given as texts, each with its plain name; the names. Raises NoSuchInput for any other name."""
    for name, text in papers:
        if not _PLAIN.fullmatch(name):
            raise NoSuchInput(name, "this is no name for a text")
        files.create_exclusive(folder / name, text.encode())
    return tuple(name for name, _ in papers)


def look_at_inputs(paths: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What `copy_inputs` would copy and leave out, and nothing is copied; raises NoSuchInput."""
    chosen = list(_chosen(paths))
    left = [item for item in chosen if isinstance(item, str)]
    return tuple(item.name for item in chosen if isinstance(item, _Chosen)), _bounded(left)


def hashed_inputs(paths: Sequence[Path]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The same with the hash of each: by name, what `copy_inputs` would copy; raises NoSuchInput."""
    chosen = list(_chosen(paths))
    left = [item for item in chosen if isinstance(item, str)]
    return {item.name: files.sha256(item.data) for item in chosen if isinstance(item, _Chosen)}, _bounded(left)


@dataclass(frozen=True)
class _Chosen:
    """A file that is copied: its name below inputs/, and what is in it."""

    name: str
    data: bytes


def _chosen(paths: Sequence[Path]) -> Iterator[_Chosen | str]:
    """What is to be copied, in order; a message for each thing that is left out."""
    roots = tuple(_existing(path) for path in paths)
    total = 0
    taken: set[str] = set()
    for path, root in zip(paths, roots, strict=True):
        left: list[str] = []
        before = len(taken)
        for item in _walk(root):
            if isinstance(item, str):
                left.append(item)
            elif len(taken) >= MAX_FILES:
                left.append(f"{visible(item.name)}: more than {MAX_FILES} files")
            elif isinstance(data := _text_of(item), str):
                left.append(data)
            elif total + len(data) > MAX_TOTAL:
                left.append(f"{visible(item.name)}: more than {MAX_TOTAL >> 20} MiB in all")
            else:
                name = _free_name(item.name, taken)
                taken.add(name.casefold())
                total += len(data)
                yield _Chosen(name, data)
        if len(taken) == before:
            raise NoSuchInput(str(path), _nothing(root, left))
        yield from left


def _nothing(root: Path, left: Sequence[str]) -> str:
    """Why a path that a person named gives no file at all."""
    if not root.is_dir():
        return left[0].rpartition(": ")[2]
    if not left:
        return "an empty folder"
    more = f", and {len(left) - 3:,} more" if len(left) > 3 else ""
    return f"no file in it can be used ({', '.join(left[:3])}{more})"


def read_input(folder: Path, name: str) -> str:
    """The text of one copy, by its name below `folder`; raises NoSuchInput, whatever the name is."""
    try:
        return decode(read_beneath(folder, name, max_bytes=MAX_BYTES))
    except UnsafeFile as e:
        raise NoSuchInput(name, str(e.message).partition(": ")[2] or "can't be read") from e
    except (NotText, FileNotFoundError, NotADirectoryError) as e:
        raise NoSuchInput(name) from e


def _existing(path: Path) -> Path:
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError) as e:
        raise NoSuchInput(str(path)) from e


def _walk(root: Path) -> Iterator[_Found | str]:
    """What there is to copy below a path, in order of name; a message for each thing that is left out at sight."""
    if not root.is_dir():
        reason = _unfit(root.name)
        yield f"{visible(root.name)}: {reason}" if reason else _Found(root.parent, root.name, root.name)
        return
    base = root.name or "root"
    pending = [(root, base)]
    seen = 0
    while pending:
        here, name = pending.pop(0)
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as e:
            yield f"{visible(name)}/: {e.strerror or 'can not be read'}"
            continue
        below: list[tuple[Path, str]] = []
        for entry in entries:
            seen += 1
            if seen > _MOST_WALKED:
                yield f"{visible(base)}/: has more than {_MOST_WALKED:,} entries; the rest was not looked at"
                return
            path = f"{name}/{entry.name}"
            if (reason := _unfit(entry.name) or _kind(entry, path) or _of_onepen(here, entry)) is not None:
                yield f"{visible(path)}: {reason}"
            elif entry.is_dir(follow_symlinks=False):
                below.append((here / entry.name, path))
            else:
                yield _Found(root, path[len(base) + 1 :], path)
        pending = [*below, *pending]


def _unfit(name: str) -> str | None:
    """Why a name can't be that of an input; None when it can."""
    if name.startswith("."):
        return "hidden"
    if '"' in name or "\\" in name or visible(name) != name or "\n" in name or "\t" in name or name.strip() != name:
        return "a name that can't be cited"
    return None


def _of_onepen(here: Path, entry: os.DirEntry[str]) -> str | None:
    """Whether a folder is one where onepen itself works, in a workspace or in a client's space of one."""
    if entry.name not in _OWN or not entry.is_dir(follow_symlinks=False):
        return None
    above = here.parent.parent if here.parent.name == "clients" else here
    return "onepen's own files" if (above / "onepen.toml").is_file() or (here / "onepen.toml").is_file() else None


def _kind(entry: os.DirEntry[str], path: str) -> str | None:
    """Why an entry of a folder is left out by its kind; None when it may be copied or walked."""
    if entry.is_symlink():
        return "a link"
    if entry.is_dir(follow_symlinks=False):
        return "too deep" if path.count("/") > _DEEPEST else None
    return None if stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode) else "no regular file"


def _text_of(item: _Found) -> bytes | str:
    """The bytes of a file that holds text, else why it is left out."""
    name = visible(item.name)
    try:
        data = read_beneath(item.root, item.relative, max_bytes=MAX_BYTES, one_link=False)
        decode(data)
    except UnsafeFile as e:
        reason = f"larger than {MAX_BYTES >> 20} MiB" if e.kind == "too_large" else e.message.rpartition(": ")[2]
        return f"{name}: {reason}"
    except NotText:
        return f"{name}: no UTF-8 text"
    except OSError as e:
        return f"{name}: {e.strerror or 'can not be read'}"
    return data


def _free_name(name: str, taken: set[str]) -> str:
    """The name itself, or with a number before its ending when another input has it, in whatever case."""
    if name.casefold() not in taken:
        return name
    stem, dot, ending = name.rpartition(".")
    if not dot or "/" in ending:
        stem, ending = name, ""
    number = 2
    while (other := f"{stem}-{number}{dot if ending else ''}{ending}").casefold() in taken:
        number += 1
    return other


def _bounded(left: list[str]) -> tuple[str, ...]:
    if len(left) <= _MOST_NAMED:
        return tuple(left)
    return (*left[:_MOST_NAMED], f"and {len(left) - _MOST_NAMED:,} more")
