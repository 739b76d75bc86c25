"""The one module that holds the pen: it turns what was decided into changes, and writes them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ..memory.change import Change
from ..memory.clock import Clock
from ..memory.commit.pen import AlreadyCommitted, IdTaken, Pen
from ..memory.commit.pen import Durability as Durability
from ..memory.commit.pen import PenLost as PenLost
from ..memory.commit.pen import PutRefused as PutRefused
from ..memory.commit.pen import RecoveryNeeded as RecoveryNeeded
from ..memory.commit.rehearsal import Foreseen as Foreseen
from ..memory.commit.rehearsal import Rehearsal
from ..memory.history import Commit, commit_of
from ..memory.ids import AgentId, ClientId
from ..memory.problem import Problem
from ..memory.scaffold import Planned
from ..memory.target import CardTarget
from ..memory.text.card import CardExists, EditRefused
from ..memory.text.clip import clip
from ..memory.undoable import BuiltUpon, ChangedByHand, built_upon, check_undoable
from ..memory.view import View
from ..memory.workspace import Space
from ..staging.draft import Draft
from ..staging.verdict import Accepted
from . import door
from .changes import (
    MOST_WHAT,
    NewSynthesis,
    listed_agent,
    new_agent,
    new_card,
    new_client,
    new_status,
    new_synthesis,
    taken_back,
)
from .committing import Lender, at_once
from .drafted import change_of, own_change_of
from .errors import IdIsTaken
from .review.reviewer import Examined
from .settings.redact import Known
from .tasks.dossier import Dossier
from .tasks.events import CommitRefused, Committed, Edited, Event
from .tasks.plan import DraftState, key_of
from .witness import Witness

Broken = PenLost | RecoveryNeeded
"""What ends a held pen: nothing more can be written with it."""


@dataclass(frozen=True)
class Written:
    """The draft is in memory; `again` when it was so already, before a crash."""

    commit: str
    paths: tuple[str, ...]
    again: bool = False


@dataclass(frozen=True)
class NotWritten:
    """Memory moved on (`conflict`), another draft of the key was first (`duplicate`), or the file is `changed`."""

    kind: str
    reason: str


class Scribe:
    """The pen of a workspace for a piece of work, and what the orchestrator writes with it.

    `reconcile` brings the indexes in line with cards edited by hand; do it once when a session begins. Nothing that
    holds a secret is written (SecretRefused): neither one of `known` nor one that has the shape of one. What `notices`
    tells is what came up in this scribe's own doing, also where the pen is lent to several at once.
    """

    def __init__(
        self,
        view: View,
        pen: Pen | Rehearsal,
        known: Known | None = None,
        *,
        lender: Lender | None = None,
        told: Sequence[Problem] = (),
        witness: Witness | None = None,
    ) -> None:
        self._view = view
        self._pen = pen
        self._known = known or Known()
        self._lender = lender
        self._told = list(told)
        self.witness = witness
        self._returned = False
        self.reconciled: list[Commit] = []

    @classmethod
    def open(
        cls,
        view: View,
        clock: Clock,
        *,
        wait: float = 10.0,
        known: Known | None = None,
        witness: Witness | None = None,
        durability: Durability = Durability.FULL,
    ) -> "Scribe":
        """Takes the pen within `wait` seconds and finishes what a crash left; raises PenHeld, RedoDamaged, OSError."""
        pen = Pen.open(view.workspace, clock, wait=wait, durability=durability)
        return cls(view, pen, known, told=pen.recovered, witness=witness)

    @classmethod
    def rehearse(cls, view: Foreseen, clock: Clock, *, known: Known | None = None) -> "Scribe":
        """Takes no pen: what is written shows in `view` alone; raises NetworkFileSystem or RedoDamaged."""
        return cls(view, Rehearsal.open(view, clock), known)

    def lend(self, known: Known | None, lender: Lender, *, told: bool) -> "Scribe":
        """The same pen for another piece of work; with `told` that begins with what was told to this scribe."""
        told_before = self._told if told else ()
        loan = Scribe(self._view, self._pen, known, lender=lender, told=told_before, witness=self.witness)
        loan.reconciled = list(self.reconciled) if told else []
        if isinstance(self._pen, Pen):
            with loan._noting():
                self._pen.bury()
        return loan

    @property
    def rehearsed(self) -> bool:
        """Whether nothing is really written."""
        return isinstance(self._pen, Rehearsal)

    @property
    def lent(self) -> bool:
        """Whether the pen is another's, who finished what a crash left when it was opened."""
        return self._lender is not None

    @property
    def recovered(self) -> tuple[Problem, ...]:
        """What opening the pen rolled forward, and what came up since in this scribe's own doing."""
        return self._pen.recovered if isinstance(self._pen, Rehearsal) else tuple(self._told)

    def notices(self) -> tuple[str, ...]:
        """What a person should know: what was found, and what the witness has to tell."""
        return (*self.found(), *(self.witness.news() if self.witness is not None else ()))

    def found(self) -> tuple[str, ...]:
        """What recovery did, and which hand edits were indexed."""
        indexed = [
            f"would index what was edited by hand: {', '.join(c.paths)}"
            if self.rehearsed
            else f"indexed what was edited by hand: {', '.join(c.paths)} ({c.id})"
            for c in self.reconciled
        ]
        return (*(str(problem) for problem in self.recovered), *indexed)

    def reconcile(self, spaces: Sequence[Space]) -> None:
        """Brings the indexes in line with cards that were edited by hand; what was committed for that is kept."""
        for space in spaces:
            with self._noting():
                commit = self._pen.reconcile(space)
            if commit is not None:
                self.reconciled.append(commit)
                self._saw(commit)

    @contextmanager
    def upkeep(self) -> Iterator[Pen]:
        """The pen itself, for what no commit does: it is ours, and the redo log is empty. A rehearsal has none."""
        assert isinstance(self._pen, Pen), "a rehearsal removes nothing"
        with self._noting():
            self._pen.settle()
            yield self._pen

    def carry_out(
        self, dossier: Dossier, state: DraftState, verdict: Accepted, examined: Examined
    ) -> tuple[Event, Written | NotWritten]:
        """Commits an accepted draft as it was examined; the event for the journal, and what came of it.

        A draft that is no longer what the verdict was on is not written. One that was committed before a crash is
        found by its key. Raises RecoveryNeeded, PenLost or an OSError.
        """
        return at_once(self.carry_out_shared(dossier, state, verdict, examined, shared=False))

    async def carry_out_shared(
        self, dossier: Dossier, state: DraftState, verdict: Accepted, examined: Examined, *, shared: bool = True
    ) -> tuple[Event, Written | NotWritten]:
        """The same; `shared` with one sync for all who want to commit at this moment."""
        draft = examined.draft
        if draft is None or examined.bound.sha256 != verdict.bound.sha256:
            reason = "its file changed after it was accepted"
            return Edited(state.id, examined.bound.sha256), NotWritten("changed", reason)
        key = key_of(dossier.state, state, str(draft.target))
        try:
            commit = await self._maybe_shared(change_of(dossier, state, verdict, draft, examined, key), shared)
        except AlreadyCommitted as e:
            return self._had(dossier.space, state, key, e.commit)
        except (EditRefused, door.SecretRefused) as e:
            return CommitRefused(state.id, "conflict", e.message), NotWritten("conflict", e.message)
        self.flush()  # a journal that says so must not outlast the commit
        return Committed(state.id, commit.id), Written(commit.id, commit.paths)

    def commit_all(self, changes: Sequence[Change]) -> tuple[Sequence[Commit | Exception], tuple[Problem, ...]]:
        """What comes of several changes that share a sync, and what came up meanwhile; for the one who lends the pen.

        Each of them has been through the door.
        """
        assert isinstance(self._pen, Pen), "a rehearsal is lent to nobody"
        before = len(self._pen.recovered)
        outcomes = self._pen.commit_group(changes)
        if made := [commit for commit in outcomes if isinstance(commit, Commit)]:
            self._saw(*made)
        return outcomes, self._pen.recovered[before:]

    async def _maybe_shared(self, change: Change, shared: bool, *, allow_secret: bool = False) -> Commit:
        """`_commit`; `shared` waits for others who have something to commit just now, where the pen is lent."""
        if self._lender is None or not shared:
            return self._commit(change, allow_secret=allow_secret)
        if not allow_secret:
            door.check(change, self._known.held)
        told = await self._lender.committer.commit(change)
        self._told += told.problems
        if isinstance(told.outcome, Commit):
            return told.outcome
        if isinstance(told.outcome, PenLost | RecoveryNeeded):
            self._lender.broke(told.outcome)
        raise told.outcome

    def write(self, change: Change) -> Commit:
        """A change that a person asked for, as it is; raises what the pen raises before its commit point."""
        return self._commit(change)

    def _commit(self, change: Change, *, allow_secret: bool = False) -> Commit:
        """Every change goes through here; `allow_secret` is a person's explicit word for this one."""
        if not allow_secret:
            door.check(change, self._known.held)
        with self._noting():
            commit = self._pen.commit(change)
        if self._lender is not None:
            self._lender.wrote()
        self._saw(commit)
        return commit

    def _saw(self, *commits: Commit) -> None:
        if self.witness is not None and self.witness.wanted:
            self.flush()  # it looks at the files
            self.witness.saw(commits)

    def _had(self, space: Space, state: DraftState, key: str, id_: str) -> tuple[Event, Written | NotWritten]:
        """What it means that the key is taken: by this very draft before a crash, or by another one."""
        commit = commit_of(self._view, space, id_)
        if commit is not None and commit.draft == state.id:
            return Committed(state.id, id_), Written(id_, commit.paths, again=True)
        reason = f"{key} was committed already, as {id_}" + (f" by draft {commit.draft}" if commit else "")
        return CommitRefused(state.id, "duplicate", reason), NotWritten("duplicate", reason)

    def done(self, space: Space, key: str) -> Commit | None:
        """The commit of a space that was made under this key; a rehearsal looks for none."""
        id_ = self._pen.commit_of(space, key) if isinstance(self._pen, Pen) else None
        return None if id_ is None else commit_of(self._view, space, id_)

    def log(
        self, space: Space, kind: str, text: str, who: str, *, key: str | None = None, allow_secret: bool = False
    ) -> Commit:
        """One line in the day log, once for a key; raises BadLogText or SecretRefused."""
        return at_once(self.log_shared(space, kind, text, who, key=key, allow_secret=allow_secret, shared=False))

    async def log_shared(
        self,
        space: Space,
        kind: str,
        text: str,
        who: str,
        *,
        key: str | None = None,
        allow_secret: bool = False,
        shared: bool = True,
    ) -> Commit:
        """The same, with one sync for all who want to commit at this moment."""
        what = clip(f"[{kind}] {' '.join(text.split())}", MOST_WHAT)
        try:
            change = Change(client=space.client, what=what, who=who, log=((kind, text),), key=key)
            return await self._maybe_shared(change, shared, allow_secret=allow_secret)
        except AlreadyCommitted as e:
            known = commit_of(self._view, space, e.commit)
            if known is None:
                raise
            return known

    def add_card(
        self,
        space: Space,
        target: CardTarget,
        title: str,
        text: str,
        who: str,
        *,
        key: str | None = None,
        allow_secret: bool = False,
    ) -> Commit:
        """A new card with its index block; raises IdIsTaken or SecretRefused."""
        change = new_card(space, target, title, text, who, key)
        with _taken("project" if target.shelf == "projects" else "research", target.card):
            return self._commit(change, allow_secret=allow_secret)

    def add_client(
        self,
        client: ClientId,
        title: str,
        planned: Sequence[Planned],
        who: str,
        *,
        key: str | None = None,
        allow_secret: bool = False,
    ) -> Commit:
        """A new client's space; raises IdIsTaken when one of its files is there, or SecretRefused."""
        change = new_client(client, title, planned, who, key)
        with _taken("client", client):
            return self._commit(change, allow_secret=allow_secret)

    def add_agent(
        self,
        agent: AgentId,
        planned: Planned,
        description: str,
        who: str,
        *,
        key: str | None = None,
        allow_secret: bool = False,
    ) -> Commit:
        """A new agent's definition and its line in the registry; raises IdIsTaken or SecretRefused."""
        change = new_agent(agent, planned, description, who, key)
        with _taken("agent", agent):
            return self._commit(change, allow_secret=allow_secret)

    def write_card(self, space: Space, draft: Draft, *, who: str, key: str) -> Written:
        """An agent's own change of a card or note, which needed the checks alone; once for a key.

        Raises EditRefused or SecretRefused.
        """
        return self._once(space, own_change_of(space, draft, who, key))

    def set_status(self, space: Space, target: CardTarget, status: str, note: str, *, who: str, key: str) -> Written:
        """The status of a project, with a line in the day log; once for a key. Raises EditRefused or BadLogText."""
        return self._once(space, new_status(space, target, status, note, who, key))

    def renew_synthesis(self, space: Space, new: NewSynthesis) -> Written:
        """The synthesis begun anew, in one commit with what goes into the day log; once for a key.

        Raises PutRefused where it is no longer what it was made from, SecretRefused or BadLogText.
        """
        return self._once(space, new_synthesis(space, new))

    def list_agent(self, agent: AgentId, description: str, who: str) -> Commit:
        """The block of an agent in the registry, for a definition that was put there by hand."""
        return self._commit(listed_agent(agent, description, who))

    def seal(self, space: Space, who: str) -> Commit:
        """Seals past days of a space that have no seal yet, some at a time; raises NothingToChange without any."""
        return self._commit(Change(space.client, "past days sealed", who, seal=True))

    def _once(self, space: Space, change: Change) -> Written:
        try:
            commit = self._commit(change)
        except AlreadyCommitted as e:
            known = commit_of(self._view, space, e.commit)
            return Written(e.commit, known.paths if known is not None else (), again=True)
        return Written(commit.id, commit.paths)

    def undo(
        self,
        space: Space,
        undone: Commit,
        commits: Sequence[Commit],
        who: str,
        *,
        key: str | None = None,
        allow_secret: bool = False,
    ) -> Commit:
        """The commit that takes another one back; `commits` are all of its space.

        Raises UndoneAlready, NotUndoable, BuiltUpon, ChangedByHand or SecretRefused.
        """
        check_undoable(undone, commits)
        try:
            return self._commit(taken_back(space, undone, commits, who, key), allow_secret=allow_secret)
        except EditRefused as e:
            later = built_upon(undone, commits)
            reason = e.message.removesuffix("; nothing was written")
            if later:
                raise BuiltUpon(undone.id, reason, later) from e
            raise ChangedByHand(undone.id, reason) from e

    def flush(self) -> None:
        """Puts what was committed lazily on the disk; raises PenLost or RecoveryNeeded."""
        if isinstance(self._pen, Pen):
            with self._noting():
                self._pen.flush()

    @property
    def waits(self) -> bool:
        """Whether something committed lazily is to be flushed within a second."""
        return isinstance(self._pen, Pen) and self._pen.waits

    def tidy(self) -> None:
        """Trims the redo log once all files are on the disk; what can't be done is left to the next time."""
        if isinstance(self._pen, Pen):
            self._pen.tidy()

    def close(self) -> None:
        """Puts the pen down, or gives it back to whom it belongs."""
        if self._lender is None:
            try:
                if self.witness is not None:
                    self.witness.close()
            finally:
                self._pen.close()
        elif not self._returned:
            self._returned = True
            self._lender.given_back()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Notes what comes up meanwhile, and tells the lender of a pen that is lost or in doubt."""
        before = 0 if self.rehearsed else len(self._pen.recovered)
        try:
            yield
        except (PenLost, RecoveryNeeded) as e:
            if self._lender is not None:
                self._lender.broke(e)
            raise
        finally:
            if not self.rehearsed:
                self._told += self._pen.recovered[before:]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _taken(kind: str, id_: str) -> Iterator[None]:
    """Tells of a file that is there already as a person who adds something means it: the id is taken."""
    try:
        yield
    except IdTaken as e:
        raise IdIsTaken(kind, id_, f"{e.other} is there already") from e
    except PutRefused as e:
        raise IdIsTaken(kind, id_, f"{e.path} is there already") from e
    except CardExists as e:
        raise IdIsTaken(kind, id_, f"{e.target} is there already") from e
