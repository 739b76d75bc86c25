"""The one module that holds the pen: it turns what was decided into changes, and writes them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from ..memory.change import Change, FileEntry, Put
from ..memory.clock import Clock
from ..memory.commit.pen import AlreadyCommitted, IdTaken, Pen, PutRefused
from ..memory.commit.pen import PenLost as PenLost
from ..memory.commit.pen import RecoveryNeeded as RecoveryNeeded
from ..memory.commit.rehearsal import Foreseen as Foreseen
from ..memory.commit.rehearsal import Rehearsal
from ..memory.files import sha256
from ..memory.history import Commit, commit_of
from ..memory.ids import AgentId, ClientId
from ..memory.problem import Problem
from ..memory.scaffold import Planned
from ..memory.target import CardTarget, FileTarget
from ..memory.text.card import CardEdit, CardExists, EditRefused
from ..memory.text.clip import clip
from ..memory.undoable import BuiltUpon, ChangedByHand, built_upon, check_undoable
from ..memory.undone import puts_back, root_of
from ..memory.view import View
from ..memory.workspace import Space
from ..staging.draft import Draft, edit_of, file_bytes
from ..staging.verdict import Accepted
from . import door
from .errors import IdIsTaken
from .review.reviewer import CHECKS, Examined, file_entry
from .settings.redact import Known
from .tasks.dossier import Dossier
from .tasks.events import CommitRefused, Committed, Edited, Event
from .tasks.plan import DraftState, key_of
from .witness import Witness

_WHAT = 160

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


@dataclass(frozen=True)
class Lender:
    """Whose pen it is, where a scribe has it on loan."""

    broke: Callable[[Broken], None]
    given_back: Callable[[], None]


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
    ) -> "Scribe":
        """Takes the pen within `wait` seconds and finishes what a crash left; raises PenHeld, RedoDamaged, OSError."""
        pen = Pen.open(view.workspace, clock, wait=wait)
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
        draft = examined.draft
        if draft is None or examined.bound.sha256 != verdict.bound.sha256:
            reason = "its file changed after it was accepted"
            return Edited(state.id, examined.bound.sha256), NotWritten("changed", reason)
        key = key_of(dossier.state, state, str(draft.target))
        try:
            commit = self._commit(_change(dossier, state, verdict, draft, examined.before, key))
        except AlreadyCommitted as e:
            return self._had(dossier.space, state, key, e.commit)
        except (EditRefused, door.SecretRefused) as e:
            return CommitRefused(state.id, "conflict", e.message), NotWritten("conflict", e.message)
        return Committed(state.id, commit.id), Written(commit.id, commit.paths)

    def write(self, change: Change) -> Commit:
        """A change that a person asked for, as it is; raises what the pen raises before its commit point."""
        return self._commit(change)

    def _commit(self, change: Change, *, allow_secret: bool = False) -> Commit:
        """Every change goes through here; `allow_secret` is a person's explicit word for this one."""
        if not allow_secret:
            door.check(change, self._known.held)
        with self._noting():
            commit = self._pen.commit(change)
        self._saw(commit)
        return commit

    def _saw(self, *commits: Commit) -> None:
        if self.witness is not None and self.witness.wanted:
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
        what = clip(f"[{kind}] {' '.join(text.split())}", _WHAT)
        try:
            change = Change(client=space.client, what=what, who=who, log=((kind, text),), key=key)
            return self._commit(change, allow_secret=allow_secret)
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
        edit = CardEdit(target, "create", text=text, title=title)
        log = (("added", f"{target}: {title}"),)
        change = Change(client=space.client, what=f"{target}: created", who=who, edit=edit, log=log, key=key)
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
        puts = tuple(Put(p.path, p.data) for p in planned)
        log = (("added", f"client {client}: {title}"),)
        change = Change(client=client, what=f"clients/{client}: created", who=who, puts=puts, log=log, key=key)
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
        change = Change(
            client=None,
            what=f"{planned.path}: created",
            who=who,
            puts=(Put(planned.path, planned.data),),
            registry=((agent, description),),
            log=(("added", f"agent {agent}"),),
            key=key,
        )
        with _taken("agent", agent):
            return self._commit(change, allow_secret=allow_secret)

    def write_card(self, space: Space, draft: Draft, *, who: str, key: str) -> Written:
        """An agent's own change of a card or note, which needed the checks alone; once for a key.

        Raises EditRefused or SecretRefused.
        """
        what = _what(draft)
        change = Change(
            client=space.client,
            what=what,
            who=who,
            edit=_edit(draft, None),
            index=draft.index if isinstance(draft.target, CardTarget) else (),
            log=(("card", f"{what} ({who})"),),
            key=key,
            agent=who.partition(":")[2],
            reviewer=CHECKS,
            sources=draft.sources,
        )
        return self._once(space, change)

    def set_status(self, space: Space, target: CardTarget, status: str, note: str, *, who: str, key: str) -> Written:
        """The status of a project, with a line in the day log; once for a key. Raises EditRefused or BadLogText."""
        what = f"{target}: status {status}"
        change = Change(
            client=space.client,
            what=what,
            who=who,
            status=(target, status),
            log=(("status", f"{target.card} is {status}: {note}" if note.strip() else f"{target.card} is {status}"),),
            key=key,
            agent=who.partition(":")[2],
            reviewer=CHECKS,
        )
        return self._once(space, change)

    def list_agent(self, agent: AgentId, description: str, who: str) -> Commit:
        """The block of an agent in the registry, for a definition that was put there by hand."""
        what = f"agents/{agent}.md: listed"
        return self._commit(Change(None, what, who, registry=((agent, description),), log=(("fixed", what),)))

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
        root = root_of(undone, commits)
        verb = "done again" if puts_back(undone, commits) else "undone"
        about = f"{clip(root.what, _WHAT)} ({root.id}{f', draft {root.draft}' if root.draft else ''})"
        change = Change(
            client=space.client,
            what=f"{verb}: {about}",
            who=who,
            reverts=undone.changes,
            undoes=undone.id,
            log=((verb.replace(" ", "-"), about),),
            key=key,
        )
        try:
            return self._commit(change, allow_secret=allow_secret)
        except EditRefused as e:
            later = built_upon(undone, commits)
            reason = e.message.removesuffix("; nothing was written")
            if later:
                raise BuiltUpon(undone.id, reason, later) from e
            raise ChangedByHand(undone.id, reason) from e

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


def _change(
    dossier: Dossier, state: DraftState, verdict: Accepted, draft: Draft, before: bytes | None, key: str
) -> Change:
    what, agent = _what(draft), dossier.sheet.agent
    return Change(
        client=dossier.space.client,
        what=what,
        who=f"agent:{agent}",
        edit=_edit(draft, verdict),
        puts=_puts(draft, before),
        index=draft.index if isinstance(draft.target, CardTarget) else (),
        files=_files(draft),
        log=(("draft", f"{what} (draft {state.id} by {agent}, accepted by {verdict.reviewer})"),),
        key=key,
        draft=state.id,
        agent=agent,
        task=dossier.task,
        reviewer=verdict.reviewer,
        sources=draft.sources,
    )


def _edit(draft: Draft, verdict: Accepted | None) -> CardEdit | None:
    shown = None if verdict is None else verdict.bound.section or None
    return None if isinstance(draft.target, FileTarget) else edit_of(draft, shown)


def _puts(draft: Draft, before: bytes | None) -> tuple[Put, ...]:
    if not isinstance(draft.target, FileTarget):
        return ()
    expected = None if draft.edit == "create" or before is None else sha256(before)
    return (Put(str(draft.target), file_bytes(draft), expected),)


def _files(draft: Draft) -> tuple[FileEntry, ...]:
    if not isinstance(draft.target, FileTarget):
        return ()
    return (FileEntry(draft.target.project, draft.target.path, file_entry(draft)),)


def _what(draft: Draft) -> str:
    verb = {"create": "created", "append": "appended", "replace": "replaced", "remove": "removed"}[draft.edit]
    place = f" in {draft.section}" if draft.section else ""
    return f"{draft.target}: {verb}{place}"


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
