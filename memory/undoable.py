"""Which commits can be undone, and which of the later ones stand in the way: told from the history alone. Pure.

What was only said in the day log stays said: it is never rewritten. What brings indexes into line follows the cards,
and would be done again by the next command. Everything else can be undone as long as its text can be found.
"""

from collections.abc import Iterator, Sequence

from .commit.passage import bare_lines
from .errors import MemoryFault
from .history import Commit, TextChange, is_index, sort_key
from .renamed import renamed_in
from .text.clip import clip
from .text.document import parse_document
from .undone import undone_of
from .workspace import inner_path

_MOST = 5
_WHAT = 80


class UndoneAlready(MemoryFault):
    """Raised when a commit was undone before."""

    def __init__(self, commit: str, by: str) -> None:
        super().__init__(
            f"commit {commit}: it is undone already, by {by}; to have it back, undo that one", hint=f"onepen undo {by}"
        )
        self.by = by


class NotUndoable(MemoryFault):
    """Raised when there is nothing in a commit that could be put back."""

    def __init__(self, commit: str, reason: str, hint: str | None = None) -> None:
        super().__init__(f"commit {commit}: can't be undone: {reason}", hint=hint)


class NothingToUndo(MemoryFault):
    """Raised when no commit of a space is left that could be undone."""

    exit_code = 2

    def __init__(self, space: str) -> None:
        super().__init__(f"{space}: no commit is left that could be undone", hint="onepen history")


class BuiltUpon(MemoryFault):
    """Raised when later commits build on the text of a commit, so that it can't be taken out from under them.

    `later` are their ids, the newest first.
    """

    def __init__(self, commit: str, reason: str, later: Sequence[Commit]) -> None:
        self.later = tuple(one.id for one in later)
        listed = ", ".join(named(one) for one in later[:_MOST]) + (" …" if len(later) > _MOST else "")
        build = "a later commit builds" if len(later) == 1 else f"{len(later)} later commits build"
        super().__init__(
            f"commit {commit}: {build} on it: {listed} ({reason}); undo the newest of them first",
            hint=f"onepen undo {later[0].id}",
        )


class ChangedByHand(MemoryFault):
    """Raised when the text of a commit is not what it was, though no later commit changed it."""

    def __init__(self, commit: str, reason: str) -> None:
        super().__init__(
            f"commit {commit}: {reason}: it was changed by hand, or by a merge, since; put back by hand what you want",
            hint=f"onepen history {commit}",
        )


def named(commit: Commit) -> str:
    """A commit in a few words: its id and what it did."""
    return f"{commit.id} ({clip(commit.what, _WHAT)})"


def check_undoable(commit: Commit, commits: Sequence[Commit]) -> None:
    """Raises UndoneAlready or NotUndoable."""
    by = undone_of(commits).get(commit.id)
    if by is not None:
        raise UndoneAlready(commit.id, by)
    refused = not_undoable(commit)
    if refused is not None:
        raise NotUndoable(commit.id, *refused)


def not_undoable(commit: Commit) -> tuple[str, str | None] | None:
    """Why a commit has nothing that could be put back, and what helps; None when it has something."""
    if commit.pruned:
        return "its text was pruned from the history", None
    if renamed_in(commit) is not None:
        return None
    texts = [change for change in commit.changes if not is_index(change.path)]
    inner = [inner_path(path) for path in commit.paths]
    if any(path in ("PERSONA.md", "BRIEF.md", "OPS.md") for path in inner):
        client = commit.paths[0].split("/")[1] if commit.paths[0].startswith("clients/") else ""
        return "it made a client, with files that are yours by now", f"onepen prune --client {client}"
    untold = [
        path
        for path, name in zip(commit.paths, inner, strict=True)
        if not name.startswith(("memory/", "logs/")) and not is_index(path) and path not in {c.path for c in texts}
    ]
    if untold:
        return f"the history doesn't hold what stood in {', '.join(untold)}", None
    if texts:
        return None
    if any(is_index(path) for path in commit.paths):
        return "it only brought the indexes into line with the cards, and the next command would do so again", None
    return "it only added to the day log, which is never rewritten; add what is right", 'onepen log "…"'


def last_undoable(commits: Sequence[Commit]) -> Commit | None:
    """The latest commit that counts and can be undone; undoings are passed over, so that one can go on backwards."""
    gone = undone_of(commits)
    left = (c for c in reversed(commits) if c.id not in gone and c.undoes is None and not_undoable(c) is None)
    return next(left, None)


def built_upon(commit: Commit, commits: Sequence[Commit]) -> tuple[Commit, ...]:
    """The later commits that build on what a commit wrote, the newest first; those that were undone don't count."""
    gone, at = undone_of(commits), sort_key(commit.id)
    later = [one for one in reversed(commits) if sort_key(one.id) > at]
    # What undid something later is gone together with what it undid.
    counted = [one for one in later if one.id not in gone and one.undoes not in {other.id for other in later}]
    return tuple(one for one in counted if _builds_on(one, commit))


def _builds_on(later: Commit, commit: Commit) -> bool:
    theirs = [change for change in later.changes if not is_index(change.path)]
    for mine in commit.changes:
        if is_index(mine.path):
            continue
        if any(one.path == mine.path and _touches(one, mine) for one in theirs):
            return True
        if mine.path.endswith(".md") and any(path.startswith(f"{mine.path[:-3]}/") for path in later.paths):
            return True  # a file of the project whose card it is
    return False


def _touches(theirs: TextChange, mine: TextChange) -> bool:
    """Whether a later change of the same file is about the text of an earlier one."""
    made = mine.whole or (not mine.old and mine.section is None)
    if made or theirs.whole:
        return True
    if theirs.section is not None and theirs.section in {section.id for section in parse_document(mine.new).sections}:
        return True
    ours = set(_telling(mine.new)) or set(_telling(mine.behind or "")) | set(_telling(mine.old))
    return not ours.isdisjoint((*_telling(theirs.old), *(() if mine.new.strip() else _telling(theirs.new))))


def _telling(text: str) -> Iterator[str]:
    """The lines of a text that say something."""
    return (line for line in bare_lines(text) if line.strip())
