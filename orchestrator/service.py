"""The one object that all commands call: what a person can ask of a workspace, and the values that answer.

Methods that run work are coroutines; the others return at once. Reading methods need no pen and read the files,
overlaid with a pending redo record; writing methods take the pen for their own moment and raise PenHeld after ten
seconds. With `dry_run` they take no pen, write nothing, refuse what they would refuse and answer what they would.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from ..memory.clock import Clock
from ..memory.history import read_commits
from ..memory.ids import AgentId, CardId, ClientId, check_title, id_from_title
from ..memory.target import CardTarget, Shelf
from ..memory.view import View
from ..memory.workspace import Space, Workspace
from .dossier import EVERYWHERE, OPEN, Dossier, Scope, dossiers, find_draft, find_task, told, unreadable
from .errors import BadReason, BadRequest, DraftNotEditable, IdIsTaken, NoSuchDraft, NoSuchTask
from .events import Edited, Shown
from .plan import DraftState
from .requests import Confirm, DelegateRequest, Progress, ProgressLine, SearchRequest
from .results import (
    CommitResult,
    ContextResult,
    Decision,
    DecisionResult,
    DelegateResult,
    DoctorResult,
    DraftsResult,
    DraftView,
    Elsewhere,
    HistoryResult,
    SearchResult,
    StatusResult,
)
from .settle import Settled, settle
from .stop import StopSign
from .views import draft_view, written

if TYPE_CHECKING:
    from ..memory.history import Commit
    from .commit import Scribe
    from .decide import Decider
    from .desk import Desk
    from .models import Models
    from .pens import Pens
    from .redact import Known
    from .review import Reviewer
    from .setup import Setup
    from .work import Ids, OnMade, Work
    from .workshop import Workshop

__all__ = ["Confirm", "DelegateRequest", "Progress", "ProgressLine", "SearchRequest", "Service", "StopSign"]

_LONGEST_LINE = 8 << 10


class Service:
    """Everything a person can ask of one workspace. Built by `compose.build_service`.

    `user` is the person's login, as it stands in the history; `setup` gives the settings of requests that bring none.
    `known` are the credentials that may get into no file; those of each request are added. Any number of its coroutines
    may run side by side in one event loop. With a held pen (`pens`) that is all of them; without one, what runs work
    has the pen for itself.
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        ids: "Ids",
        workshop: "Callable[[], Workshop]",
        models: "Callable[[Setup], Models]",
        user: str,
        setup: "Callable[[], Setup]",
        pens: "Pens | None" = None,
        known: "Known | None" = None,
    ) -> None:
        self.workspace = workspace
        self._view = View(workspace)
        self._clock = clock
        self._ids = ids
        self._workshop = workshop
        self._models = models
        self._user = user
        self._setup = setup
        self._pens = pens
        self._known = known
        self._scope = EVERYWHERE

    def seen_from(self, *, only: str | None = None, first: str | None = None) -> "Service":
        """This service with ids looked up in client `only`'s space, or everywhere with `first`'s before others."""
        other = copy(self)
        other._scope = Scope(only, first)
        return other

    # -- adding ----------------------------------------------------------------------------------------------------

    def add_client(
        self,
        title: str,
        *,
        id: str | None = None,  # noqa: A002
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> CommitResult:
        """A new client's space; raises BadTitle, BadId, IdIsTaken or SecretRefused."""
        from ..memory.scaffold import plan_client

        name = check_title(title)
        client = ClientId(id_from_title(name) if id is None else id)
        if client in self.workspace.clients():
            raise IdIsTaken("client", client, f"clients/{client} is there already")
        with self._scribe(dry_run) as scribe:
            planned = plan_client(client, name)
            return _done(scribe, scribe.add_client(client, name, planned, self._who, allow_secret=allow_secret))

    def add_project(
        self,
        title: str,
        *,
        client: str | None = None,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> CommitResult:
        """A new project's card; raises BadTitle, BadId, NoSuchClient, IdIsTaken or SecretRefused."""
        return self._add_card("projects", title, client, id, text, dry_run, allow_secret)

    def add_research(
        self,
        title: str,
        *,
        client: str | None = None,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> CommitResult:
        """A new finding's card; raises what `add_project` raises."""
        return self._add_card("research", title, client, id, text, dry_run, allow_secret)

    def add_agent(
        self,
        title: str,
        *,
        id: str | None = None,  # noqa: A002
        text: str | None = None,
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> CommitResult:
        """A new agent's definition, from `text` or from a beginning; raises what `add_client` raises."""
        from ..memory.scaffold import plan_agent
        from ..subagents.definition import parse_definition

        name = check_title(title)
        agent = AgentId(id_from_title(name) if id is None else id)
        planned = plan_agent(agent, name, text)
        description = parse_definition(agent, planned.data.decode()).description or name
        with self._scribe(dry_run) as scribe:
            return _done(scribe, scribe.add_agent(agent, planned, description, self._who, allow_secret=allow_secret))

    def log(
        self,
        text: str,
        *,
        client: str | None = None,
        kind: str = "note",
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> CommitResult:
        """A line in today's log.

        Raises BadRequest for one of more than 8 KiB, BadLogText, NoSuchClient, or SecretRefused without `allow_secret`.
        """
        if (size := len(text.encode(errors="replace"))) > _LONGEST_LINE:
            raise BadRequest(
                f"a log line has at most {_LONGEST_LINE:,} bytes, this one has {size:,}",
                hint='onepen add research "TITLE" --from FILE',
            )
        space = self.workspace.space(client)
        with self._scribe(dry_run, space) as scribe:
            return _done(scribe, scribe.log(space, kind, text, self._who, allow_secret=allow_secret))

    # -- looking ---------------------------------------------------------------------------------------------------

    def status(self, client: str | None = None, *, all_clients: bool = False) -> StatusResult:
        """Whose turn it is."""
        from .standing import standing

        return standing(self._view, self._clock, self._spaces(client, all_clients), client)

    def elsewhere(self, client: str | None) -> tuple[Elsewhere, ...]:
        """What waits in all other spaces, counted."""
        from .standing import elsewhere

        here = self.workspace.space(client)
        return elsewhere(self._view, self._clock, [space for space in self.workspace.spaces() if space != here])

    def today(self) -> date:
        """The day by the workspace's zone."""
        return self._clock.now().date()

    def doctor(self) -> DoctorResult:
        """What is wrong in the workspace's files."""
        from ..memory.exam.doctor import examine

        return DoctorResult((*examine(self._view), *unreadable(self.workspace.spaces(), self._clock)))

    def drafts(self, client: str | None = None, *, all_clients: bool = False, every: bool = False) -> DraftsResult:
        """Drafts that wait (with `every`: also those already decided), oldest first."""
        found: list[DraftView] = []
        settled, spaces = Settled(self._view), self._spaces(client, all_clients)
        for space in spaces:
            tasks = map(settled.overlay, dossiers((space,), self._clock))
            wanted = [(task, d) for task in tasks for d in task.state.drafts if every or d.status in OPEN]
            if wanted:
                reviewer = self._reviewer(space)
                found += [draft_view(task, d, reviewer.examine(task, d)) for task, d in wanted]
        return DraftsResult(tuple(found), told(spaces, self._clock))

    def show(self, prefix: str) -> DraftsResult:
        """One draft, or all drafts of a task, with their diffs; what was shown is noted for `approve`."""
        return DraftsResult(tuple(self._shown(dossier, draft) for dossier, draft in self._meant(prefix)))

    def look(self, prefix: str, *, note: bool = True) -> DraftView:
        """The one draft that is meant, with its diff; with `note` it counts as shown to a person.

        Raises NoSuchDraft or AmbiguousId.
        """
        dossier, draft = self._found(prefix)
        if note:
            return self._shown(dossier, draft)
        return draft_view(dossier, draft, self._reviewer(dossier.space).examine(dossier, draft), with_diff=True)

    def search(self, request: SearchRequest) -> SearchResult:
        """Lines that answer, best first; over several spaces, the best of all of them."""
        from ..memory.recall.search import Query, ScanSearch

        query = Query(request.text, request.since, request.until, request.where, request.limit)
        spaces = self._spaces(request.client, request.all_clients)
        hits = [hit for space in spaces for hit in ScanSearch(self._view, space).find(query)]
        hits.sort(key=lambda hit: -hit.score)
        since, until = (day.isoformat() if day else None for day in (request.since, request.until))
        return SearchResult(request.text, since, until, tuple(hits[: request.limit]))

    def context(self, client: str | None = None) -> ContextResult:
        """The prompt's layers as a chat in this space would begin with them now."""
        from ..memory.layers import layers

        return ContextResult(layers(self._view, self.workspace.space(client), self._clock.now().date()))

    def history(self, client: str | None = None, *, limit: int = 50) -> HistoryResult:
        """The latest commits of a space, newest first."""
        commits = read_commits(self._view, self.workspace.space(client))
        return HistoryResult(tuple(reversed(commits))[: max(0, limit)])

    # -- working ---------------------------------------------------------------------------------------------------

    async def delegate(
        self,
        request: DelegateRequest,
        *,
        setup: "Setup | None" = None,
        on_made: "OnMade | None" = None,
        on_progress: Progress | None = None,
        stop: StopSign | None = None,
        dry_run: bool = False,
    ) -> DelegateResult:
        """Hands tasks to sub-agents and sees them to the point where a person is needed.

        `on_made` is told of them once they are on the disk: from then on nothing of them is lost.

        Everything that can be wrong with the request is found before anything is made: BadRequest, NoSuchClient,
        NoSuchAgent, NeedsModel, UnknownModel, NoSuchInput, BadTarget; then PenHeld.
        """
        return await self._work(setup, on_progress, stop, dry_run, on_made).delegate(request)

    async def resume(
        self,
        task: str,
        *,
        budget_usd: float | None = None,
        setup: "Setup | None" = None,
        on_progress: Progress | None = None,
        stop: StopSign | None = None,
        dry_run: bool = False,
    ) -> DelegateResult:
        """Goes on with a task that was interrupted, timed out or failed; raises NoSuchTask or AmbiguousId.

        `budget_usd` takes the place of what the task was allowed to cost in all.
        """
        return await self._work(setup, on_progress, stop, dry_run).resume(task, budget_usd)

    async def send_back(
        self,
        ids: Sequence[str],
        reason: str,
        *,
        setup: "Setup | None" = None,
        on_progress: Progress | None = None,
        stop: StopSign | None = None,
        dry_run: bool = False,
    ) -> DelegateResult:
        """Sends drafts back with a reason and waits for the new attempts; raises BadReason, NoSuchDraft."""
        if not reason.strip():
            raise BadReason("send-back")
        return await self._work(setup, on_progress, stop, dry_run).send_back(ids, reason.strip())

    # -- deciding --------------------------------------------------------------------------------------------------

    def draft_file(self, prefix: str) -> tuple[DraftView, Path]:
        """The draft and its absolute file, for an editor; raises DraftNotEditable."""
        dossier, draft = self._found(prefix)
        examined = self._reviewer(dossier.space).examine(dossier, draft)
        if draft.status == "committed":
            raise DraftNotEditable(draft.id, f"it is in memory already, as {draft.commit}")
        if examined.raw is None:
            raise DraftNotEditable(draft.id, "; ".join(f.message for f in examined.findings) or "no plain file")
        return draft_view(dossier, draft, examined), dossier.folder.drafts(draft.attempt) / draft.facts.name

    def edited(self, prefix: str) -> DraftView:
        """Shows the draft anew after a person edited its file, and notes what was shown."""
        dossier, draft = self._found(prefix)
        examined = self._reviewer(dossier.space).examine(dossier, draft)
        if draft.status == "approved":
            dossier = dossier.happened(Edited(draft.id, examined.bound.sha256))
        return self._shown(dossier, draft)

    def approve(
        self,
        ids: Sequence[str],
        *,
        sha256: str | None = None,
        confirm: Confirm | None = None,
        dry_run: bool = False,
    ) -> DecisionResult:
        """Commits drafts that are as they were shown; `confirm` is asked about the others, where there is one.

        Raises NoSuchDraft or AmbiguousId before anything is decided.
        """
        if sha256 is not None and len(ids) != 1:
            raise BadRequest("--sha256 vouches for one draft; name exactly one")
        with self._decider(ids, dry_run) as (decider, scribe):
            decisions = tuple(decider.approve(one, sha256, confirm) for one in ids)
            return _decided(scribe, decider, decisions)

    def reject(self, ids: Sequence[str], reason: str, *, dry_run: bool = False) -> DecisionResult:
        """Refuses drafts for good; raises BadReason, NoSuchDraft or AmbiguousId."""
        if not reason.strip():
            raise BadReason("reject")
        with self._decider(ids, dry_run) as (decider, scribe):
            decisions = tuple(decider.reject(one, reason.strip()) for one in ids)
            return _decided(scribe, decider, decisions)

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
    ) -> CommitResult:
        name = check_title(title)
        space = self.workspace.space(client)
        target = CardTarget(shelf, CardId(id_from_title(name) if id_ is None else id_))
        with self._scribe(dry_run, space) as scribe:
            commit = scribe.add_card(space, target, name, text or "", self._who, allow_secret=allow_secret)
            return _done(scribe, commit)

    def _desk(self, dry_run: bool) -> "Desk":
        if dry_run:
            from .rehearsal import RehearsalDesk

            return RehearsalDesk(self.workspace, self._clock, self._scope, known=self._secrets())
        from .desk import Desk

        return Desk(self._view, self._clock, self._scope, pens=self._pens, known=self._secrets())

    def _secrets(self) -> "Known":
        """The credentials that this service has been told of: none of them gets into memory."""
        if self._known is None:
            from .redact import Known

            self._known = Known()
        return self._known

    @contextmanager
    def _scribe(self, dry_run: bool, *spaces: Space) -> "Iterator[Scribe]":
        """The pen for a moment; first what a crash left is finished and hand edits in `spaces` are indexed."""
        with self._desk(dry_run).scribe() as scribe:
            self._settle(scribe)
            scribe.reconcile(spaces)
            yield scribe

    def _settle(self, scribe: "Scribe") -> None:
        """After a recovery: tells the journals of tasks what was found to be committed."""
        if scribe.recovered and not (scribe.rehearsed or scribe.lent):
            settle(self._view, self._clock, self.workspace.spaces())

    @contextmanager
    def _decider(self, ids: Sequence[str], dry_run: bool) -> "Iterator[tuple[Decider, Scribe]]":
        """The same for decisions on drafts; raises BadRequest, NoSuchDraft or AmbiguousId."""
        from .decide import Decider

        spaces = self._spaces_of(ids)
        desk = self._desk(dry_run)
        with desk.scribe() as scribe:
            self._settle(scribe)
            scribe.reconcile(spaces)
            yield Decider(desk, scribe, self._user), scribe

    def _work(
        self,
        setup: "Setup | None",
        on_progress: Progress | None,
        stop: StopSign | None,
        dry_run: bool,
        on_made: "OnMade | None" = None,
    ) -> "Work":
        from .work import Work

        chosen = self._setup() if setup is None else setup
        self._secrets().learn(chosen.secrets())

        def say(dossier: Dossier, text: str) -> None:
            if on_progress is not None:
                on_progress(ProgressLine(dossier.task, dossier.sheet.agent, text))

        return Work(
            self._desk(dry_run),
            self._ids,
            self._workshop(),
            self._models(chosen),
            chosen,
            self._user,
            say,
            stop or StopSign(),
            on_made,
        )

    def _spaces(self, client: str | None, all_clients: bool) -> tuple[Space, ...]:
        return self.workspace.spaces() if all_clients else (self.workspace.space(client),)

    def _spaces_of(self, ids: Sequence[str]) -> tuple[Space, ...]:
        """The spaces of drafts; raises BadRequest, NoSuchDraft or AmbiguousId before anything is decided."""
        if not ids:
            raise BadRequest("name at least one draft", hint="onepen drafts")
        found = {find_draft(self.workspace, one, self._clock, self._scope)[0].space for one in ids}
        return tuple(sorted(found, key=lambda space: space.prefix))

    def _reviewer(self, space: Space) -> "Reviewer":
        from .review import Reviewer  # checks, search and diff: more than all of `status` takes without drafts

        return Reviewer(self._view, space, lambda: self._clock.now().date())

    def _found(self, prefix: str) -> tuple[Dossier, DraftState]:
        """The draft as its journal and the history tell it; raises NoSuchDraft or AmbiguousId."""
        dossier, draft = find_draft(self.workspace, prefix, self._clock, self._scope)
        dossier = Settled(self._view).overlay(dossier)
        return dossier, dossier.state.draft(draft.id) or draft

    def _meant(self, prefix: str) -> list[tuple[Dossier, DraftState]]:
        head, dash, number = prefix.rpartition("-")
        if dash and head and number.isdigit():
            return [self._found(prefix)]
        try:
            dossier = Settled(self._view).overlay(find_task(self.workspace, prefix, self._clock, self._scope))
        except NoSuchTask:
            raise NoSuchDraft(prefix, self._scope.only) from None
        if not dossier.state.drafts:
            raise NoSuchDraft(prefix, self._scope.only)
        return [(dossier, draft) for draft in dossier.state.drafts]

    def _shown(self, dossier: Dossier, draft: DraftState) -> DraftView:
        examined = self._reviewer(dossier.space).examine(dossier, draft)
        if draft.status not in {"committed", "duplicate", "approved"} and examined.bound != draft.shown:
            dossier = dossier.happened(Shown(draft.id, examined.bound))
        if draft.status == "committed":
            commits = read_commits(self._view, dossier.space)
            commit = next((c for c in reversed(commits) if c.draft == draft.id), None)
            if commit is not None:
                return replace(draft_view(dossier, draft, examined), diff=written(commit), changed=commit.paths)
        return draft_view(dossier, dossier.state.draft(draft.id) or draft, examined, with_diff=True)


def _done(scribe: "Scribe", commit: "Commit") -> CommitResult:
    id_ = None if scribe.rehearsed else commit.id
    return CommitResult(id_, commit.paths, scribe.notices(), dry_run=scribe.rehearsed)


def _decided(scribe: "Scribe", decider: "Decider", decisions: tuple[Decision, ...]) -> DecisionResult:
    if scribe.rehearsed:
        decisions = tuple(decision.uncommitted() for decision in decisions)
    return DecisionResult(decisions, (*scribe.notices(), *decider.notices), dry_run=scribe.rehearsed)
