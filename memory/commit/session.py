"""A group of commits while it is worked out: each change comes to a commit or to its refusal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from ..change import Change
from ..clock import Clock
from ..errors import MemoryFault
from ..history import Commit, commit_id
from ..problem import Problem
from ..workspace import Space, Workspace
from .compose import compose
from .doubt import AlreadyCommitted, Outcome
from .group import Group
from .ledger import Ledger


@dataclass
class Keys:
    """What commits did to keys that are in no log yet: who has them, by space, and which commit undid which."""

    given: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    undoings: dict[str, str] = field(default_factory=dict)

    def note(self, space: Space, commit: Commit) -> None:
        if commit.key is not None:
            self.given.setdefault((space.prefix, commit.key), []).append(commit.id)
        if commit.undoes is not None:
            self.undoings[commit.id] = commit.undoes

    def add(self, other: "Keys") -> None:
        for key, commits in other.given.items():
            self.given.setdefault(key, []).extend(commits)
        self.undoings |= other.undoings


class Session:
    """Works changes out, one upon the other; nothing is written.

    `told` is what was passed over; `sealed` the days to which spaces are sealed once the group stands.
    """

    def __init__(
        self,
        workspace: Workspace,
        clock: Clock,
        ledger: Ledger,
        group: Group,
        *,
        machine: str,
        sealed: dict[str, date],
        keys: Sequence[Keys] = (),
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._ledger = ledger
        self._machine = machine
        self._looked: set[str] = set()
        self._before = keys
        self.group = group
        self.keys = Keys()
        self.sealed = dict(sealed)
        self.told: list[Problem] = []

    def work_out(self, change: Change) -> Outcome:
        """The commit that a change comes to behind those before it, or why it comes to none."""
        try:
            space = space_of(self._workspace, change)
            if space.prefix not in self._looked:
                self._ledger.look(space)
                self._looked.add(space.prefix)
            if change.key is not None and (known := self.commit_of(space, change.key)) is not None:
                raise AlreadyCommitted(change.key, known)
            now = self._clock.now()
            composed = compose(
                change,
                space,
                self.group,
                id=commit_id(self._ledger.highest + len(self.group.commits) + 1, self._machine),
                now=now,
                seal_days=self.sealed.get(space.prefix) != now.date(),
                passed_over=self.told.append,
            )
            self.group.take(composed)
        except (MemoryFault, OSError) as e:
            return e
        if composed.sealed_all:
            self.sealed[space.prefix] = now.date()
        self.keys.note(space, composed.commit)
        return composed.commit

    def commit_of(self, space: Space, key: str) -> str | None:
        """The commit of a space that has this key and was not undone, in a log or on its way there."""
        return known_commit(self._ledger, (*self._before, self.keys), space, key)

    def rests_on_it(self, outcome: Outcome) -> bool:
        """Whether an outcome is one of the group's commits, or that one of them was there first."""
        if isinstance(outcome, AlreadyCommitted):
            return outcome.commit in [commit.id for commit in self.group.commits]
        return isinstance(outcome, Commit)


def known_commit(ledger: Ledger, keys: Sequence[Keys], space: Space, key: str) -> str | None:
    """The commit of a space that has this key, by the logs as they were looked at and by what is in none yet."""
    given = [commit for one in keys for commit in one.given.get((space.prefix, key), ())]
    undoings = {commit: other for one in keys for commit, other in one.undoings.items()}
    return ledger.known(space, key, given, undoings)


def space_of(workspace: Workspace, change: Change) -> Space:
    """The space that a change is for; raises NoSuchClient where it is not there and the change doesn't make it."""
    if change.client is not None:
        workspace.require(change.client, new=bool(change.puts))
    return Space(workspace.root, change.client)
