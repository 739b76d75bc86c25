"""What a person adds by hand: clients, projects, findings, agents, lines of the day; and how the pen is come by."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Self

from ..memory.clock import Clock
from ..memory.ids import AgentId, CardId, ClientId, check_title, id_from_title
from ..memory.target import CardTarget, Shelf
from ..memory.workspace import ClientRemoved, Space, Workspace
from .diagnosis import FixResult
from .errors import BadRequest, IdIsTaken
from .reader import Reader
from .results import CommitResult
from .tasks.settle import settle

if TYPE_CHECKING:
    from ..memory.exam.remedy import Fix
    from ..memory.history import Commit
    from .commit import Scribe
    from .past import UndoResult
    from .pens import Pens
    from .settings.redact import Known
    from .tasks.desk import Desk
    from .witness import Witness

_LONGEST_LINE = 8 << 10


class Writer(Reader):
    """Short writing, each piece with the pen for its own moment, or with a loan of the held one (`pens`)."""

    def __init__(
        self,
        workspace: Workspace,
        clock: Clock,
        user: str,
        pens: "Pens | None" = None,
        known: "Known | None" = None,
        witness: "Callable[[], Witness | None] | None" = None,
    ) -> None:
        super().__init__(workspace, clock)
        self._user = user
        self._pens = pens
        self._wait = 10.0
        self._known = known
        self._witness = witness

    def waiting(self, seconds: float) -> Self:
        """This service, but where it has to take the pen it waits for it so long and no longer."""
        other = copy(self)
        other._wait = seconds
        return other

    # `request` names a request that may come again, since its answer was lost on the way: it is done once.

    def add_client(
        self,
        title: str,
        *,
        id: str | None = None,  # noqa: A002
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> CommitResult:
        """A new client's space; raises BadTitle, BadId, IdIsTaken or SecretRefused."""
        from ..memory.scaffold import plan_client

        name = check_title(title)
        client = ClientId(id_from_title(name) if id is None else id)

        def add(scribe: "Scribe", key: str | None) -> "Commit":
            if client in self.workspace.clients():
                raise IdIsTaken("client", client, f"clients/{client} is there already")
            if isinstance(gone := self.workspace.absent(client), ClientRemoved):
                day = gone.tombstone.time[:10]
                raise IdIsTaken("client", client, f"a client of this id was removed on {day}, and its id with it")
            planned = plan_client(client, name)
            return scribe.add_client(client, name, planned, self._who, key=key, allow_secret=allow_secret)

        return self._once(add, Space(self.workspace.root, client), request, dry_run)

    def add_project(
        self,
        title: str,
        *,
        client: str | None = None,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> CommitResult:
        """A new project's card; raises BadTitle, BadId, NoSuchClient, IdIsTaken or SecretRefused."""
        return self._add_card("projects", title, client, id, text, dry_run, allow_secret, request)

    def add_research(
        self,
        title: str,
        *,
        client: str | None = None,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> CommitResult:
        """A new finding's card; raises what `add_project` raises."""
        return self._add_card("research", title, client, id, text, dry_run, allow_secret, request)

    def add_agent(
        self,
        title: str,
        *,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> CommitResult:
        """A new agent's definition, from `text` or from a beginning; raises what `add_client` raises."""
        from ..memory.scaffold import plan_agent
        from ..subagents.definition import parse_definition

        name = check_title(title)
        agent = AgentId(id_from_title(name) if id is None else id)
        planned = plan_agent(agent, name, text)
        description = parse_definition(agent, planned.data.decode()).description or name

        def add(scribe: "Scribe", key: str | None) -> "Commit":
            return scribe.add_agent(agent, planned, description, self._who, key=key, allow_secret=allow_secret)

        return self._once(add, self.workspace.house, request, dry_run)

    def log(
        self,
        text: str,
        *,
        client: str | None = None,
        kind: str = "note",
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> CommitResult:
        """A line in today's log.

        Raises BadRequest for one of more than 8 KiB, BadLogText, NoSuchClient, or SecretRefused without `allow_secret`.
        """
        from .committing import at_once

        return at_once(
            self.log_shared(
                text,
                client=client,
                kind=kind,
                dry_run=dry_run,
                allow_secret=allow_secret,
                request=request,
                shared=False,
            )
        )

    async def log_shared(
        self,
        text: str,
        *,
        client: str | None = None,
        kind: str = "note",
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
        shared: bool = True,
    ) -> CommitResult:
        """The same, with one sync for all who want to commit at this moment."""
        if (size := len(text.encode(errors="replace"))) > _LONGEST_LINE:
            raise BadRequest(
                f"a log line has at most {_LONGEST_LINE:,} bytes, this one has {size:,}",
                hint='onepen add research "TITLE" --from FILE',
            )
        space = self.workspace.space(client)

        key = _key(request)
        with self._scribe(dry_run) as scribe:
            before = None if key is None else scribe.done(space, key)
            if before is not None:
                return _result(scribe, before, again=True)
            scribe.reconcile((space,))
            who, insists = self._who, allow_secret
            commit = await scribe.log_shared(space, kind, text, who, key=key, allow_secret=insists, shared=shared)
            return _result(scribe, commit)

    def fix(self, fixes: "tuple[Fix, ...]") -> FixResult:
        """Carries out what `doctor` showed to be fixable; each that is not right any more is told, and not done."""
        from .fixing import Fixing

        with self._scribe(dry_run=False) as scribe:
            return FixResult(Fixing(self._view, scribe, self._who).all(fixes), scribe.notices())

    def undo(
        self,
        commit: str | None = None,
        *,
        client: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
        request: str | None = None,
    ) -> "UndoResult":
        """Takes a commit back by a new one: what came goes, what went comes back, and its key is free again.

        `commit` is an id or the beginning of one; without it, the last of the client's space that can be undone. Raises
        NoSuchCommit, AmbiguousCommit, NothingToUndo, UndoneAlready, NotUndoable, BuiltUpon, ChangedByHand,
        NoSuchClient or SecretRefused.
        """
        from .undoing import Undoing

        undoing = Undoing(self._view, self._clock, self._who)
        space, id_ = undoing.space_of(commit, self.workspace.space(client), self._scope)
        key = None if request is None else f"request {request}"
        with self._scribe(dry_run) as scribe:
            return undoing.carry_out(scribe, space, id_, key, allow_secret=allow_secret)

    # -- inside ----------------------------------------------------------------------------------------------------

    @property
    def _who(self) -> str:
        return f"user:{self._user}"

    def _add_card(
        self,
        shelf: Shelf,
        title: str,
        client: str | None,
        id_: str | None,
        text: str | None,
        dry_run: bool,
        allow_secret: bool,
        request: str | None,
    ) -> CommitResult:
        name = check_title(title)
        space = self.workspace.space(client)
        target = CardTarget(shelf, CardId(id_from_title(name) if id_ is None else id_))

        def add(scribe: "Scribe", key: str | None) -> "Commit":
            scribe.reconcile((space,))
            return scribe.add_card(space, target, name, text or "", self._who, key=key, allow_secret=allow_secret)

        return self._once(add, space, request, dry_run)

    def _once(
        self, add: "Callable[[Scribe, str | None], Commit]", space: Space, request: str | None, dry_run: bool
    ) -> CommitResult:
        """What `add` commits in a space; of a request that was done before, what it came to then."""
        key = _key(request)
        with self._scribe(dry_run) as scribe:
            before = None if key is None else scribe.done(space, key)
            return _result(scribe, before or add(scribe, key), again=before is not None)

    def _desk(self, dry_run: bool) -> "Desk":
        if dry_run:
            from .tasks.rehearsal import RehearsalDesk

            return RehearsalDesk(self.workspace, self._clock, self._scope, known=self._secrets())
        from .tasks.desk import Desk

        return Desk(
            self._view,
            self._clock,
            self._scope,
            pens=self._pens,
            wait=self._wait,
            known=self._secrets(),
            witness=self._witness,
        )

    def _secrets(self) -> "Known":
        """The credentials that this service has been told of: none of them gets into memory."""
        if self._known is None:
            from .settings.redact import Known

            self._known = Known()
        return self._known

    @contextmanager
    def _scribe(self, dry_run: bool) -> "Iterator[Scribe]":
        """The pen for a moment; first what a crash left is finished."""
        with self._desk(dry_run).scribe() as scribe:
            self._settle(scribe)
            yield scribe

    def _settle(self, scribe: "Scribe") -> None:
        """After a recovery: tells the journals of tasks what was found to be committed."""
        if scribe.recovered and not (scribe.rehearsed or scribe.lent):
            settle(self._view, self._clock, self.workspace.spaces())


def _key(request: str | None) -> str | None:
    return None if request is None else f"request {request}"


def _result(scribe: "Scribe", commit: "Commit", *, again: bool = False) -> CommitResult:
    id_ = None if scribe.rehearsed else commit.id
    return CommitResult(id_, commit.paths, scribe.notices(), dry_run=scribe.rehearsed, again=again)
