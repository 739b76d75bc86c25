"""Drafts whose commit was made, or undone, but whose journal doesn't say so: their orchestrator ended between the two.

The commit's line in the history names its draft, so it decides. Readers overlay what was made; who holds the pen
journals it, and what was undone.
"""

from collections.abc import Iterable, Iterator, Sequence

from ...memory.clock import Clock
from ...memory.history import Commit, read_commits
from ...memory.ids import BadId, TaskId
from ...memory.undone import root_of, undone_of
from ...memory.view import View
from ...memory.workspace import Space
from .dossier import NOT_OPENED, OPEN, Dossier, open_dossier
from .events import Committed, Undone
from .plan import key_of

_LATEST = 8


class Settled:
    """The drafts that the histories of a view's spaces know as committed; each history is read at most once."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[str, dict[str, list[Commit]]] = {}
        self._undone: dict[str, dict[str, str]] = {}

    def overlay(self, dossier: Dossier) -> Dossier:
        """The dossier as it is by its journal and the history; nothing is written."""
        for event in self._missing(dossier):
            dossier = dossier.knowing(event)
        return dossier

    def journal(self, dossier: Dossier) -> Dossier:
        """The same, and the journal says so from now on. Call it with the pen held."""
        for undone in self._taken_back(dossier):
            dossier = dossier.happened(undone)
        for event in self._missing(dossier):
            dossier = dossier.happened(event)
        return dossier

    def _taken_back(self, dossier: Dossier) -> Iterator[Undone]:
        """Of drafts that are committed by their journal, those whose commit was undone."""
        for draft in dossier.state.drafts:
            if draft.status == "committed" and draft.commit is not None:
                self._of(dossier.space)
                by = self._undone[dossier.space.prefix].get(draft.commit)
                if by is not None:
                    yield Undone(draft.id, draft.commit, by)

    def _missing(self, dossier: Dossier) -> Iterator[Committed]:
        waiting = [d for d in dossier.state.drafts if d.status in OPEN]
        commits = self._of(dossier.space) if waiting else {}
        for draft in waiting:
            for commit in commits.get(draft.id, ()):
                target = (commit.key or "").partition(" ")[2].partition("#")[0]
                if commit.task == dossier.task and commit.key == key_of(dossier.state, draft, target):
                    yield Committed(draft.id, commit.id)
                    break

    def learn(self, space: Space, commits: Sequence[Commit]) -> None:
        """Takes a history as it was just read."""
        found: dict[str, list[Commit]] = {}
        undone = self._undone[space.prefix] = undone_of(commits)
        for commit in commits:
            if commit.draft is not None and commit.id not in undone:
                found.setdefault(commit.draft, []).append(commit)
        self._known[space.prefix] = found

    def _of(self, space: Space) -> dict[str, list[Commit]]:
        if space.prefix not in self._known:
            self.learn(space, read_commits(self._view, space))
        return self._known[space.prefix]


def settle(view: View, clock: Clock, spaces: Iterable[Space]) -> None:
    """Journals, in the tasks of the latest commits of each space, what is missing there. Call it with the pen held.

    Only of the latest group of commits the journals can be missing; of a large one the rest is journalled when somebody
    asks for the task, and read as committed until then. An undoing is about the task of what it undid.
    """
    settled = Settled(view)
    for space in spaces:
        commits = read_commits(view, space)
        settled.learn(space, commits)
        told = (root_of(commit, commits) if commit.undoes is not None else commit for commit in reversed(commits))
        named = (c.task for c in told if c.draft is not None and c.task is not None)
        for task in tuple(dict.fromkeys(named))[:_LATEST]:
            try:
                settled.journal(open_dossier(space, TaskId(task), clock))
            except (*NOT_OPENED, BadId, OSError):
                continue  # tidied away, or not to be written now; readers see the commit, doctor names what is wrong
