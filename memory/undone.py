"""Which commits count: one that was undone doesn't, unless its undoing was undone, too. Pure.

Nothing is taken out of a history, so this is found from the latest commit backwards.
"""

from collections.abc import Iterable, Mapping, Sequence

from .history import Commit, sort_key


def undone(undoings: Mapping[str, str]) -> dict[str, str]:
    """The commits that were undone and stay so, each with the latest that undid it.

    `undoings` are the commits that undid another, each with the one that it names.
    """
    found: dict[str, str] = {}
    for commit in sorted(undoings, key=sort_key, reverse=True):
        if commit not in found:
            found.setdefault(undoings[commit], commit)
    return found


def undone_of(commits: Iterable[Commit]) -> dict[str, str]:
    """The same for the commits of a history."""
    return undone({commit.id: commit.undoes for commit in commits if commit.undoes is not None})


def root_of(commit: Commit, commits: Sequence[Commit]) -> Commit:
    """The commit that an undoing, or the undoing of an undoing, is about in the end."""
    return _chain(commit, commits)[-1]


def puts_back(commit: Commit, commits: Sequence[Commit]) -> bool:
    """Whether undoing this brings back what was undone: it is the undoing of something that counts otherwise."""
    return len(_chain(commit, commits)) % 2 == 0


def _chain(commit: Commit, commits: Sequence[Commit]) -> tuple[Commit, ...]:
    """A commit, what it undid, what that undid, and so on."""
    known: Mapping[str, Commit] = {one.id: one for one in commits}
    chain = {commit.id: commit}
    while commit.undoes is not None and commit.undoes in known and commit.undoes not in chain:
        commit = known[commit.undoes]
        chain[commit.id] = commit
    return tuple(chain.values())
