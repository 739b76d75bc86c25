"""What a person can look at in a workspace: nothing here takes the pen, and memory stays as it is.

What was shown of a draft is noted in its task's journal, since an approval counts for what was shown.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Self

from ..memory.clock import Clock
from ..memory.history import read_commits
from ..memory.ids import DraftId
from ..memory.view import View
from ..memory.workspace import Space, Workspace, open_workspace
from .diagnosis import DoctorResult, Fixed
from .errors import NoSuchDraft, NoSuchTask
from .requests import SearchRequest
from .results import (
    ContextDiff,
    ContextResult,
    DraftsResult,
    DraftView,
    Elsewhere,
    SearchResult,
    StatusResult,
)
from .tasks.dossier import EVERYWHERE, OPEN, Dossier, Scope, dossiers, find_draft, find_task, told, unreadable
from .tasks.events import Shown
from .tasks.plan import DraftState
from .tasks.settle import Settled
from .views import draft_view, written

if TYPE_CHECKING:
    from .batch.answer import BatchesResult, BatchView
    from .batch.estimate import Estimate
    from .past import HistoryResult, WhyResult
    from .review.reviewer import Reviewer
    from .tally import By, UsageResult


class Reader:
    """Everything a person can look at in one workspace."""

    def __init__(self, workspace: Workspace, clock: Clock) -> None:
        self.workspace = workspace
        self._view = View(workspace)
        self._clock = clock
        self._scope = EVERYWHERE

    def seen_from(self, *, only: str | None = None, first: str | None = None) -> Self:
        """This service with ids looked up in client `only`'s space, or everywhere with `first`'s before others."""
        other = copy(self)
        other._scope = Scope(only, first)
        return other

    def afresh(self) -> Self:
        """This service with `onepen.toml` as it is now, for a process that lives long.

        The time zone is that of the process's beginning. Raises NoWorkspace or SettingsUnreadable.
        """
        other = copy(self)
        other.workspace = open_workspace(self.workspace.root)
        other._view = View(other.workspace)
        return other

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
        """What is wrong in the workspace's files, and what of it can be put right without a person's decision."""
        from ..memory.exam.doctor import examine
        from ..memory.exam.remedy import plan
        from ..subagents.toolbox.toolset import tool_tokens
        from .batch.whole import batch_problems
        from .chat.store import damaged
        from .chat.toolset import tools
        from .sandbox import looked_at
        from .tasks.whole import transcripts

        spaces = self.workspace.spaces()
        chats = (problem for space in spaces for problem in damaged(space))
        level, held = looked_at(self.workspace)
        found = (
            *examine(self._view, tools=tool_tokens(tools())),
            *unreadable(spaces, self._clock),
            *transcripts(spaces),
            *batch_problems(self.workspace),
            *chats,
            *held,
        )
        fixes, left = plan(self._view, found)
        return DoctorResult(found, tuple(map(Fixed, fixes)), left, sandbox=level.kind, sandbox_gaps=level.gaps)

    def drafts(self, client: str | None = None, *, all_clients: bool = False, every: bool = False) -> DraftsResult:
        """Drafts that wait (with `every`: also those already decided), oldest first."""
        found: list[DraftView] = []
        settled, spaces = Settled(self._view), self._spaces(client, all_clients)
        for space in spaces:
            tasks = map(settled.overlay, dossiers((space,), self._clock, undecided=not every))
            wanted = [(task, d) for task in tasks for d in task.state.drafts if every or d.status in OPEN]
            if wanted:
                reviewer = self._reviewer(space)
                found += [draft_view(task, d, reviewer.examine(task, d)) for task, d in wanted]
        from .beside import marked

        return DraftsResult(marked(found), told(spaces, self._clock))

    def show(self, prefix: str) -> DraftsResult:
        """One draft, or all drafts of a task, with their diffs; what was shown is noted for `approve`.

        Others that wait for the same target are set against it.
        """
        return DraftsResult(self._against_others([self._shown(*meant) for meant in self._meant(prefix)]))

    def look(self, prefix: str, *, note: bool = True) -> DraftView:
        """The one draft that is meant, with its diff; with `note` it counts as shown to a person.

        Raises NoSuchDraft or AmbiguousId.
        """
        dossier, draft = self._found(prefix)
        if note:
            return self._against_others([self._shown(dossier, draft)])[0]
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

    def context(self, client: str | None = None, chat: str | None = None) -> ContextResult:
        """What a chat in this space would send before the first words now or, with `chat`, what that one sends next.

        Raises NoSuchChat, AmbiguousId or ChatUnreadable.
        """
        from ..subagents.toolbox.toolset import tool_tokens
        from .chat.store import Chats
        from .loud import outgrown_lines
        from .sent import begins, goes_on

        space, now = self.workspace.space(client), self._clock.now()
        if chat is None:
            from .chat.toolset import tools

            found, size = begins(self._view, space, now.date()), tool_tokens(tools())
            return ContextResult(found.layers, None, found.tools, size, outgrown_lines(self._view, space, now.date()))
        chats = Chats(space)
        session, problems = chats.load(chats.find(chat))
        found = goes_on(session, now)
        return ContextResult(
            found.layers, session.id, found.tools, tool_tokens(session.tools), tuple(map(str, problems))
        )

    def context_diff(self, client: str | None = None, chat: str = "last") -> ContextDiff:
        """How a prompt that begins now differs from a chat's; raises NoSuchChat, AmbiguousId or ChatUnreadable."""
        from .chat.store import Chats
        from .sent import begins, difference, goes_on

        space, now, chats = self.workspace.space(client), self._clock.now(), Chats(self.workspace.space(client))
        session, _ = chats.load(chats.find(chat))
        at = session.begun.at if session.renewed is None else session.renewed.at
        before, after = goes_on(session, now), begins(self._view, space, now.date())
        return ContextDiff(difference(session.id, at, before, after))

    def batch_status(self, batch: str | None = None) -> "BatchView":
        """Where a batch stands, without one the latest; raises NoSuchBatch or AmbiguousId."""
        from .batch.asking import standing

        return standing(self.workspace, self._clock, batch, self._scope.only)

    def batches(self) -> "BatchesResult":
        """All batches, the latest first."""
        from .batch.asking import listed

        return listed(self.workspace, self._clock, self._scope.only)

    def batch_outlook(self, batch: str, again: int | None = None) -> "Estimate | None":
        """What the rest of a batch, or so many `again`, may cost and take by its tasks that ran; None: nobody knows."""
        from .batch.asking import outlook

        return outlook(self.workspace, self._clock, batch, self._scope.only, again)

    def batch_report(self, batch: str | None = None) -> str:
        """The report of a batch as it stands now, in Markdown; raises NoSuchBatch or AmbiguousId."""
        from .batch.asking import report

        return report(self.workspace, self._clock, batch, self._scope.only)

    def usage(
        self, client: str | None = None, *, by: "By" = "day", since: date | None = None, until: date | None = None
    ) -> "UsageResult":
        """What model calls used and cost from one day to another; without a client, in all spaces together."""
        from .tally import tally

        spaces = self.workspace.spaces() if client is None else (self.workspace.space(client),)
        return tally(spaces, by, since=since, until=until, client=client)

    def history(
        self,
        client: str | None = None,
        *,
        about: str | None = None,
        since: date | None = None,
        until: date | None = None,
        limit: int = 50,
    ) -> "HistoryResult":
        """The latest commits of a space, newest first, and what is lost of them.

        With `about` those that touched a file, a folder or a card (by its path, or its id alone); raises
        NeverCommitted. Days are inclusive, as the commits' own times say them.
        """
        from .history import history

        return history(self._view, self.workspace.space(client), about, since, until, limit)

    def commit(self, prefix: str) -> "HistoryResult":
        """One commit with what it did, by its id or the beginning of it; raises NoSuchCommit or AmbiguousCommit."""
        from .history import one_commit

        return one_commit(self._view, self._scope, prefix)

    def why(self, text: str, client: str | None = None) -> "WhyResult":
        """Which commits brought a text into a space, and where it stands now; raises BadRequest."""
        from .history import why

        return why(self._view, self.workspace.space(client), text)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _spaces(self, client: str | None, all_clients: bool) -> tuple[Space, ...]:
        return self.workspace.spaces() if all_clients else (self.workspace.space(client),)

    def _reviewer(self, space: Space) -> "Reviewer":
        from .review.reviewer import Reviewer  # checks, search and diff: more than all of `status` takes without drafts

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

    def _against_others(self, views: Sequence[DraftView]) -> tuple[DraftView, ...]:
        """The same drafts, which are of one space, with the others that wait for the same target."""
        if not any(view.undecided for view in views):
            return tuple(views)
        from .against import set_against, waiting

        space = self.workspace.space(views[0].client)
        every = waiting(self._view, space, self._clock)
        return tuple(
            replace(view, beside=set_against(self._view, space, self.today(), DraftId(view.id), every))
            for view in views
        )

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
