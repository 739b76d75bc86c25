"""The history of a space: `logs/commits-YYYY-MM.jsonl`, one readable line per commit, which travels with the workspace.

A line holds who, when, what, and the text that went and came with the section it stands in, so that `history`, `undo`,
`why` and "already committed" work in a clone. A commit's id is a sequence number and the machine that gave it,
`c42-k3x9ab`. The number is one more than the highest that the pen had seen in any space, so ids sort causally also
after two machines' logs were merged; readers sort by id and drop equal lines, so a merge by union is harmless. Where
two different commits have one id all the same (a copied folder, a restored backup), both are shown.

Nothing is ever taken out of it: a commit that was undone stays, and the commit that undid it names it. An undoing can
itself be undone (undone.py).
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from .errors import MemoryFault
from .ids import shown
from .problem import Problem
from .workspace import Space

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from .view import View

VERSION = 1
_ID = re.compile(r"c([1-9][0-9]{0,17})-([0-9a-z]{6})")
_PREFIX = re.compile(r"c([1-9][0-9]{0,17})(?:-([0-9a-z]{0,6}))?")
UPDATED = re.compile(r"^updated:[ \t]*\d{4}-\d{2}-\d{2}[ \t]*\r?\n?", re.MULTILINE)
_NAMED = re.compile(r'"id"\s*:\s*"(c[1-9][0-9]{0,17}-[0-9a-z]{6})"')
_SELDOM = ("undoes", "whole", "behind", "pruned")
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
LOG_NAME = re.compile(r"commits-\d{4}-\d{2}\.jsonl")


class NoSuchCommit(MemoryFault):
    """Raised when no commit of the space has this id."""

    exit_code: ClassVar[int] = 2

    def __init__(self, prefix: str) -> None:
        super().__init__(f"commit {shown(prefix)}: not in this space's history", hint="onepen history")


class AmbiguousCommit(MemoryFault):
    """Raised when an id that was cut short names several commits."""

    exit_code: ClassVar[int] = 2

    def __init__(self, prefix: str, found: Sequence["Commit"]) -> None:
        self.candidates = tuple(commit.id for commit in found)
        if len(set(self.candidates)) == 1:
            listed = ", ".join(f"{commit.time} {commit.what}" for commit in found)
            super().__init__(
                f"commit {self.candidates[0]}: different commits have this id: {listed}", hint="onepen doctor"
            )
        else:
            super().__init__(f"commit {shown(prefix)}: several commits begin so: {', '.join(self.candidates)}")


@dataclass(frozen=True)
class TextChange:
    """Text that went and text that came, whole lines; `section` is the id of the section it stands in, if any.

    `whole`: the file itself came or went. Where text only went, `behind` are the lines after which it stood (blank
    ones: the beginning), so that its place can be found again; None where a history doesn't tell.
    """

    path: str
    section: str | None
    old: str
    new: str
    whole: bool = False
    behind: str | None = None


@dataclass(frozen=True)
class Commit:
    """One commit as its log tells it; `paths` are relative to the workspace, `time` is ISO 8601 with its offset.

    `undoes` is the commit that it undid: that one's key can be used again. `removed` are those of the paths whose files
    it took away. Of one that is `pruned` the text is gone on purpose: what it did, and the changes.
    """

    v: int
    id: str
    key: str | None
    undoes: str | None = field(default=None, kw_only=True)
    time: str
    who: str
    what: str
    draft: str | None
    agent: str | None
    task: str | None
    reviewer: str | None
    sources: tuple[str, ...]
    paths: tuple[str, ...]
    changes: tuple[TextChange, ...]
    removed: tuple[str, ...] = ()
    pruned: bool = False


def commit_id(sequence: int, machine: str) -> str:
    return f"c{sequence}-{machine}"


def sort_key(commit: str) -> tuple[int, str]:
    """The order of commit ids: by sequence number, then by machine; raises ValueError for what is no commit id."""
    found = _ID.fullmatch(commit)
    if found is None:
        raise ValueError(f"{shown(commit)} is no commit id")
    return int(found[1]), found[2]


def commit_json(commit: Commit) -> str:
    """The commit as its line, without the newline; `v`, `id`, `key` and `undoes` come first (ledger.py looks there).

    What only some commits have stands in the lines of those alone.
    """
    found = _told_of(commit)
    found["changes"] = [_told_of(change) for change in commit.changes]
    return _JSON.encode(found)


def _told_of(one: Commit | TextChange) -> dict[str, object]:
    """The fields by name, in their order; `asdict` would copy all that is in them."""
    found = dict(vars(one))
    for name in _SELDOM:
        if found.get(name) in (None, False):
            found.pop(name, None)
    return found


def without_twins(commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """The commits without those that are there pruned, too: text that was taken out doesn't come back by a merge."""
    every = tuple(commits)
    gone = {_mark(commit) for commit in every if commit.pruned}
    return tuple(commit for commit in every if commit.pruned or _mark(commit) not in gone) if gone else every


def _mark(commit: Commit) -> tuple[str, str | None, str, str]:
    """What a commit and the same one pruned have in common, and two that only share an id have not."""
    return commit.id, commit.key, commit.time, commit.who


def parse_commits(text: str, path: str = "logs/commits.jsonl") -> tuple[tuple[Commit, ...], tuple[Problem, ...]]:
    """The commits of a log, by id, equal ones once; a line that is none is a Problem (`commit_unreadable`).

    Different commits with one id are all given, in the order of their lines; `doubled_ids` tells of them.
    """
    from pydantic import ValidationError

    found: dict[Commit, int] = {}
    unread: list[tuple[int, str, ValueError]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            commit = _adapter().validate_json(line)
            sort_key(commit.id)
        except (ValidationError, ValueError) as e:
            unread.append((number, line, e))
            continue
        found.setdefault(commit, number)
    whole = {commit.id for commit in found}
    return _ordered(found), tuple(_unreadable(path, *one, whole) for one in unread)


def _unreadable(path: str, number: int, line: str, fault: ValueError, whole: Collection[str]) -> Problem:
    """What is wrong with a line that is no commit: an error, unless its commit stands whole in another line."""
    reason = _why(line, fault)
    named = _NAMED.search(line)
    if named is not None and named[1] in whole:
        message = f"{reason}; its commit {named[1]} stands whole in another line: remove this one"
        return Problem(path, number, "commit_unreadable", "warning", message)
    lost = f"commit {named[1]}" if named is not None else "what it said"
    message = f"{reason}, so {lost} is lost to the history: put the line back from a backup or from git"
    return Problem(path, number, "commit_unreadable", "error", message)


def _why(line: str, fault: ValueError) -> str:
    from pydantic import ValidationError

    from .wording import in_words, key_of

    try:
        _, end = json.JSONDecoder().raw_decode(line.strip())
    except ValueError:
        return "this line is cut short or damaged"
    if line.strip()[end:].strip():
        return "this line holds more than one record, and each needs a line of its own"
    if isinstance(fault, ValidationError):
        first = fault.errors()[0]
        return f"this line is no commit ({key_of(first['loc']) or 'it'} {in_words(dict(first))})"
    return f"this line is no commit ({fault})"


def doubled_ids(commits: Iterable[tuple[str, Commit]]) -> tuple[Problem, ...]:
    """Ids that different commits have (`commit_id_twice`), each told where the second one stands; takes (path, commit).

    A folder that was copied with its `.onepen/machine` by hand, or went back to a backup, gives a number out again.
    """
    first: dict[str, Commit] = {}
    problems: list[Problem] = []
    every = tuple(commits)
    kept = set(without_twins(commit for _, commit in every))
    for path, commit in every:
        if commit not in kept:
            continue
        other = first.setdefault(commit.id, commit)
        if other != commit:
            message = (
                f"two different commits have the id {commit.id}: {other.what!r} at {other.time} and {commit.what!r} at "
                f"{commit.time}; both stand, and the history shows both"
            )
            problems.append(Problem(path, 0, "commit_id_twice", "error", message))
    return tuple(dict.fromkeys(problems))


def is_index(path: str) -> bool:
    """Whether a path is that of an index: what it says follows from the cards."""
    return path.endswith("/_index.md")


def same_change(one: Commit, other: Commit) -> bool:
    """Whether two commits did the same to memory; indexes, which follow the cards, and dates of change aside.

    Of one that is pruned nobody can tell any more, and it is taken for the same.
    """
    if one.pruned or other.pruned:
        return True
    told = _told(one)
    return told == _told(other) and (bool(told) or one.what == other.what)


def log_paths(space: Space) -> tuple[str, ...]:
    """The workspace paths of a space's commit logs, oldest month first."""
    folder = space.folder / "logs"
    if not folder.is_dir():
        return ()
    return tuple(space.path(f"logs/{p.name}") for p in sorted(folder.iterdir()) if LOG_NAME.fullmatch(p.name))


def read_commits(view: "View", space: Space) -> tuple[Commit, ...]:
    """All commits of a space, by id; lines that can't be read are left to `doctor`."""
    return read_history(view, space)[0]


def read_history(view: "View", space: Space) -> tuple[tuple[Commit, ...], tuple[Problem, ...]]:
    """All commits of a space, by id, and the lines that can't be read."""
    found: dict[Commit, None] = {}
    unread: list[Problem] = []
    paths = set(log_paths(space)) | {path for path in view.pending_paths() if _is_log(space, path)}
    for path in sorted(paths):
        data = view.bytes(path) or b""
        commits, problems = parse_commits(data.decode("utf-8", "replace"), path)
        found |= dict.fromkeys(commits)
        unread += problems
    return _ordered(found), tuple(unread)


def commit_of(view: "View", space: Space, id_: str) -> Commit | None:
    """The commit of a space with this whole id; None when its history has none."""
    return next((commit for commit in read_commits(view, space) if commit.id == id_), None)


def find_commit(commits: Sequence[Commit], prefix: str) -> Commit:
    """The commit that an id, or the beginning of one, names: "c42" is the whole number, "c42-k3" the machine's start.

    Raises NoSuchCommit or AmbiguousCommit.
    """
    wanted = _PREFIX.fullmatch(prefix)
    if wanted is None:
        raise NoSuchCommit(prefix)
    start = f"c{wanted[1]}-{wanted[2] or ''}"
    found = [commit for commit in commits if commit.id.startswith(start)]
    if not found:
        raise NoSuchCommit(prefix)
    if len(found) > 1:
        raise AmbiguousCommit(prefix, found)
    return found[0]


def _told(commit: Commit) -> set[tuple[str, str | None, str, str]]:
    told = {
        (change.path, change.section, UPDATED.sub("", change.old), UPDATED.sub("", change.new))
        for change in commit.changes
        if not is_index(change.path)
    }
    return {(path, section, old, new) for path, section, old, new in told if old != new}


def _ordered(commits: Iterable[Commit]) -> tuple[Commit, ...]:
    return tuple(sorted(without_twins(commits), key=lambda commit: sort_key(commit.id)))


def _is_log(space: Space, path: str) -> bool:
    folder = space.path("logs/")
    return path.startswith(folder) and LOG_NAME.fullmatch(path[len(folder) :]) is not None


@cache
def _adapter() -> "TypeAdapter[Commit]":
    from pydantic import TypeAdapter

    return TypeAdapter(Commit)
