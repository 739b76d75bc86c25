"""Where what agents read comes from: whether a card holds text from outside, by the history of its space.

A commit names its sources, and of a draft that was made from text from outside at least one such place stands among
them (review/reviewer.py sees to that). A card that ever got such text is external from then on, whoever approved it:
text from outside stays data. What an agent wrote whose sources were pruned is taken for external, too.
"""

from collections.abc import Iterable, Iterator, Sequence

from ..memory.history import Commit
from ..memory.renamed import renamed_in
from ..memory.workspace import SHELVES, Space

UNNAMED = "(from outside, not named)"
"""The source of a change that came from outside where nothing tells from which place."""

_SHELVES = tuple(f"{shelf}/" for shelf in SHELVES)
_OUTSIDE = ("inputs/", "http://", "https://", UNNAMED)


def from_outside(sources: Iterable[str]) -> bool:
    """Whether one of these sources is an input or a page."""
    return any(source.startswith(_OUTSIDE) for source in sources)


class Origins:
    """The cards of a space that hold text from outside; `commits` are its history, by id."""

    def __init__(self, space: Space, commits: Sequence[Commit]) -> None:
        self._space = space
        self._commits = commits
        self._external: set[str] = set()
        self._learn(commits)

    def external(self, path: str) -> bool:
        """Whether what stands at a path of the space (`projects/kiln.md`) is, or may be, from outside."""
        return path in self._external

    @property
    def any(self) -> bool:
        """Whether there is such a card at all."""
        return bool(self._external)

    def now(self, commits: Sequence[Commit]) -> "Origins":
        """The same by a history that may have grown: then only what is new is looked at."""
        known = len(self._commits)
        if commits is self._commits:
            return self
        if len(commits) < known or (known and commits[known - 1].id != self._commits[-1].id):
            return Origins(self._space, commits)
        self._learn(commits[known:])
        self._commits = commits
        return self

    def _learn(self, commits: Iterable[Commit]) -> None:
        for commit in commits:
            outside = from_outside(commit.sources) or any(_path(s) in self._external for s in commit.sources)
            if outside or (commit.pruned and commit.agent is not None):
                prefix = self._space.prefix
                own = (path.removeprefix(prefix) for path in commit.paths if path.startswith(prefix))
                self._external |= {p for p in own if p.startswith(_SHELVES) and not p.endswith("/_index.md")}
            if self._external and any(change.whole and not change.new for change in commit.changes):
                self._external |= set(self._renamed(commit))

    def _renamed(self, commit: Commit) -> Iterator[str]:
        """The new names of what a commit gave another name to, card and files."""
        told = renamed_in(commit)
        if told is None:
            return
        old, new = str(told.old), str(told.new)
        below = old.removesuffix(".md") + "/"
        for path in self._external:
            if path == old:
                yield new
            elif path.startswith(below):
                yield new.removesuffix(".md") + "/" + path.removeprefix(below)


def _path(source: str) -> str:
    """The path of a source, which may name a line."""
    path, _, number = source.rpartition(":")
    return path if path and number.isdecimal() else source
