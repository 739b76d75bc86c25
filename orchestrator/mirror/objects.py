"""What git has: names of objects, the entries of a tree, and which paths the person keeps from it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...memory.links import LinkLeadsOut, resolve
from .git import Git

_AT_ONCE = 500
"""Paths on one command line."""


@dataclass(frozen=True)
class Entry:
    """A file as a tree or the index has it: its mode ("100644") and the name of its content."""

    mode: str
    name: str


@dataclass(frozen=True)
class Kept:
    """Paths that stay out of git: `ignored` by the person's wish, `filtered` since a filter would have to be run."""

    ignored: frozenset[str]
    filtered: frozenset[str]

    def __contains__(self, path: str) -> bool:
        return path in self.ignored or path in self.filtered


def object_name(data: bytes, hashes: str) -> str:
    """The name that git gives to a file's content; `hashes` is "sha1" or "sha256"."""
    return hashlib.new(hashes, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def own_path(root: Path, path: str) -> str | None:
    """The path under which git knows a workspace path: that of the real file, where a link stands on the way.

    None where it is no file of this repository: it leads out of the workspace or lies in a repository of its own.
    """
    try:
        real = resolve(root, path)
    except LinkLeadsOut:
        return None
    inside = real.relative_to(root)
    if any((root / folder / ".git").exists() for folder in list(inside.parents)[:-1]):
        return None
    return inside.as_posix()


def entries(git: Git, tree: str, paths: Sequence[str]) -> Mapping[str, Entry]:
    """The files among `paths` that a commit has; raises NotMirrored."""
    found = {}
    for some in _chunks(paths):
        for field in git("ls-tree", "-z", "--full-tree", tree, "--", *some).fields():
            head, _, path = field.partition("\t")
            mode, _, name = head.split(" ")
            found[path] = Entry(mode, name)
    return found


def staged(git: Git, index: Path, paths: Sequence[str]) -> Mapping[str, Entry | None]:
    """The entries of an index; None for a path that stands there in several versions (a conflict)."""
    found: dict[str, Entry | None] = {}
    for some in _chunks(paths):
        for field in git("ls-files", "-s", "-z", "--full-name", "--", *some, index=index).fields():
            head, _, path = field.partition("\t")
            mode, name, stage = head.split(" ")
            found[path] = Entry(mode, name) if stage == "0" else None
    return found


def kept_out(git: Git, paths: Sequence[str]) -> Kept:
    """Those of `paths` that don't go into git; neither question makes git run anything."""
    asked = "".join(f"{path}\0" for path in paths).encode("utf-8", "surrogateescape")
    ignored = git("check-ignore", "-z", "--stdin", data=asked, good=1).fields() if paths else ()
    told = git("check-attr", "-z", "--stdin", "filter", data=asked).fields() if paths else ()
    pairs = zip(told[::3], told[2::3], strict=True)
    filtered = (path for path, value in pairs if value not in {"unspecified", "unset", ""})
    return Kept(frozenset(ignored), frozenset(filtered))


def sizes(git: Git, commit: str, paths: Sequence[str]) -> Mapping[str, tuple[str, int]]:
    """The names and sizes of the files among `paths` that a commit has; raises NotMirrored."""
    asked = "".join(f"{commit}:{path}\n" for path in paths).encode()
    told = git("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", data=asked).lines()
    found = {}
    for path, line in zip(paths, told, strict=True):
        match line.split(" "):
            case [name, "blob", size]:
                found[path] = (name, int(size))
    return found


def _chunks(paths: Sequence[str]) -> Iterable[Sequence[str]]:
    return (paths[k : k + _AT_ONCE] for k in range(0, len(paths), _AT_ONCE))
