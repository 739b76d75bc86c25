"""The one object that all commands call: what a person can ask of a workspace, and the values that answer.

Methods that run work are coroutines; the others return at once. Reading methods need no pen and read the files,
overlaid with a pending redo record; writing methods take the pen for their own moment and raise PenHeld after ten
seconds. With `dry_run` they take no pen, write nothing, refuse what they would refuse and answer what they would.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..memory.clock import Clock
from ..memory.workspace import Space, Workspace
from .cancelled import CancelResult
from .chat.answer import RenewalResult, TurnResult
from .clearing import Clearer
from .decision import Decision, DecisionResult
from .errors import BadReason, BadRequest, DraftNotEditable
from .requests import (
    ChatRequest,
    Confirm,
    DelegateRequest,
    OnEvent,
    Progress,
    ProgressLine,
    SearchRequest,
    TurnEvent,
)
from .results import (
    DelegateResult,
    DraftView,
)
from .stop import StopSign
from .tasks.dossier import Dossier, find_draft
from .tasks.events import Edited
from .views import draft_view

if TYPE_CHECKING:
    from .batch.answer import BatchPlan, BatchView
    from .batch.happening import OnHappening
    from .batch.request import BatchRequest, GoOn
    from .batch.running import RunningBatch
    from .batch.work import BatchWork
    from .chat.talk import Talk
    from .commit import Scribe
    from .pens import Pens
    from .review.decide import Decider
    from .settings.models import Models
    from .settings.redact import Known
    from .settings.setup import Setup
    from .settings.trust import InForce
    from .tasks.naming import Ids
    from .tasks.work import OnMade, Work
    from .tasks.workshop import Workshop
    from .watched import WorkersView
    from .witness import Witness

__all__ = [
    "ChatRequest",
    "Confirm",
    "DelegateRequest",
    "Progress",
    "ProgressLine",
    "SearchRequest",
    "Service",
    "StopSign",
]


class Service(Clearer):
    """Everything a person can ask of one workspace. Built by `compose.build_service`.

    `user` is the person's login, as it stands in the history; `setup` gives the settings of requests that bring none.
    `known` are the credentials that may get into no file; those of each request are added. `witness` gives who is told
    of the commits of work that takes the pen for itself; a held pen has its own. Any number of its coroutines may run
    side by side in one event loop. With a held pen (`pens`) that is all of them; without one, what runs work has the
    pen for itself, and who comes meanwhile waits for it ten seconds.
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
        witness: "Callable[[], Witness | None] | None" = None,
    ) -> None:
        super().__init__(workspace, clock, user, pens, known, witness)
        self._ids = ids
        self._workshop = workshop
        self._models = models
        self._setup = setup

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
        """Sends drafts back with a reason and waits for the new attempts; raises what `reject` raises."""
        if not reason.strip():
            raise BadReason("send-back")
        self._refuse_secret(reason)
        return await self._work(setup, on_progress, stop, dry_run).send_back(ids, reason.strip())

    def cancel(self, tasks: Sequence[str], *, dry_run: bool = False) -> CancelResult:
        """Ends tasks: what they left waits for a person; raises NoSuchTask or AmbiguousId before anything is done."""
        from .committing import at_once

        return at_once(self.cancel_shared(tasks, dry_run=dry_run))

    async def cancel_shared(self, tasks: Sequence[str], *, dry_run: bool = False) -> CancelResult:
        """The same where they may be at work in this process: it waits until their workers have ended."""
        from .tasks.cancel import Cancelling

        if not tasks:
            raise BadRequest("name at least one task", hint="onepen status")
        workshop = None if self._pens is None else self._workshop()
        return await Cancelling(self._desk(dry_run), workshop, self._who).cancel(tasks)

    async def batch_plan(self, request: "BatchRequest", *, setup: "Setup | None" = None) -> "BatchPlan":
        """What a batch would do and cost, before anything of it is done; raises all that is wrong with its rows."""
        return await self._batch(setup, None, None, dry_run=True).plan(request)

    async def batch_run(
        self,
        request: "BatchRequest",
        *,
        setup: "Setup | None" = None,
        on_happening: "OnHappening | None" = None,
        stop: StopSign | None = None,
    ) -> "BatchView":
        """Runs a batch, or goes on with one that is there already, until nothing is left to do without a person.

        Raises what is wrong with the request or its rows before anything is made, BatchAtWork, PenHeld.
        """
        return await self._batch(setup, on_happening, stop).begin(request)

    async def batch_go_on(
        self,
        wanted: "GoOn",
        *,
        setup: "Setup | None" = None,
        on_happening: "OnHappening | None" = None,
        stop: StopSign | None = None,
    ) -> "BatchView":
        """Goes on with a batch, or tries its failed tasks again.

        Raises NoSuchBatch, AmbiguousId, BatchAtWork or PenHeld.
        """
        return await self._batch(setup, on_happening, stop).go_on(wanted)

    def batch_pause(self, batch: str) -> "BatchView":
        """Has a batch start nothing more; raises NoSuchBatch or AmbiguousId."""
        from .committing import at_once

        return at_once(self.batch_pause_shared(batch))

    async def batch_pause_shared(self, batch: str) -> "BatchView":
        """The same where it may be run by this process: it waits until what runs has come to its end."""
        from .batch.asking import paused

        return await paused(self._desk(False), self._running(), batch)

    def batch_cancel(self, batch: str) -> "BatchView":
        """Ends a batch: what it left waits for a person; raises NoSuchBatch or AmbiguousId."""
        from .committing import at_once

        return at_once(self.batch_cancel_shared(batch))

    async def batch_cancel_shared(self, batch: str) -> "BatchView":
        """The same where it may be run by this process: it waits until its workers have ended."""
        from .batch.asking import cancelled

        return await cancelled(self._desk(False), self._running(), batch, self._who)

    def watch(self) -> "AsyncIterator[WorkersView]":
        """Who is at work in this process: at once, then whenever that changes and at least each second; for ever."""
        return self._workshop().watch()

    async def turn(
        self,
        request: ChatRequest,
        *,
        setup: "Setup | None" = None,
        on_event: OnEvent | None = None,
        stop: StopSign | None = None,
        dry_run: bool = False,
    ) -> TurnResult:
        """The main agent's answer to one message, in a new chat or one that goes on; in rehearsal nothing is sent.

        Raises BadRequest, NoSuchClient, NoSuchChat, AmbiguousId, ChatUnreadable, ChatBusy, UnknownModel, PenHeld, or
        what a model call raises that can't be made.
        """
        if dry_run:
            return self._talk(request, setup, _unheard, StopSign()).rehearse(request)
        if self._pens is None:
            from .pens import HeldPen

            with HeldPen.open(self._view, self._clock, witness=self._witness) as pen:
                other = copy(self)
                other._pens = pen
                return await other._turn(request, setup, on_event or _unheard, stop or StopSign())
        return await self._turn(request, setup, on_event or _unheard, stop or StopSign())

    async def renew(
        self,
        client: str | None = None,
        session: str | None = None,
        *,
        why: str | None = None,
        setup: "Setup | None" = None,
        on_event: OnEvent | None = None,
        stop: StopSign | None = None,
    ) -> RenewalResult:
        """Renews the synthesis of a space; with `session` that chat begins anew at once, else with its next message.

        `why` is the reason that a turn gave (`TurnResult.renewal`); None: the person's word. Raises NoSuchClient,
        RenewalRuns, ChatBusy, NoSuchChat, AmbiguousId, ChatUnreadable, UnknownModel or PenHeld.
        """
        if self._pens is None:
            from .pens import HeldPen

            with HeldPen.open(self._view, self._clock, witness=self._witness) as pen:
                other = copy(self)
                other._pens = pen
                return await other.renew(client, session, why=why, setup=setup, on_event=on_event, stop=stop)
        talk = self._talk(ChatRequest("", session, client), setup, on_event or _unheard, stop or StopSign())
        return await talk.renew(session, why, anew=why is None)

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
        from .committing import at_once

        return at_once(self.approve_shared(ids, sha256=sha256, confirm=confirm, dry_run=dry_run, shared=False))

    async def approve_shared(
        self,
        ids: Sequence[str],
        *,
        sha256: str | None = None,
        confirm: Confirm | None = None,
        dry_run: bool = False,
        shared: bool = True,
    ) -> DecisionResult:
        """The same, with one sync for all who want to commit at this moment."""
        if sha256 is not None and len(ids) != 1:
            raise BadRequest("--sha256 vouches for one draft; name exactly one")
        with self._decider(ids, dry_run, shared) as (decider, scribe):
            decisions = [await decider.approve(one, sha256, confirm) for one in ids]
            return _decided(scribe, decider, tuple(decisions))

    def reject(self, ids: Sequence[str], reason: str, *, dry_run: bool = False) -> DecisionResult:
        """Refuses drafts for good; raises BadReason, SecretRefused, NoSuchDraft or AmbiguousId."""
        if not reason.strip():
            raise BadReason("reject")
        self._refuse_secret(reason)
        from .committing import at_once

        with self._decider(ids, dry_run) as (decider, scribe):
            decisions = tuple(at_once(decider.reject(one, reason.strip())) for one in ids)
            return _decided(scribe, decider, decisions)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _refuse_secret(self, reason: str) -> None:
        """A reason stands in the task's journal, and a sub-agent reads it."""
        from .door import refuse

        refuse(reason, "the reason", self._secrets().held)

    @contextmanager
    def _decider(self, ids: Sequence[str], dry_run: bool, shared: bool = False) -> "Iterator[tuple[Decider, Scribe]]":
        """The same for decisions on drafts; raises BadRequest, NoSuchDraft or AmbiguousId."""
        from .review.decide import Decider

        spaces = self._spaces_of(ids)
        desk = self._desk(dry_run)
        with desk.scribe() as scribe:
            self._settle(scribe)
            scribe.reconcile(spaces)
            yield Decider(desk, scribe, self._user, shared=shared), scribe

    def _work(
        self,
        setup: "Setup | None",
        on_progress: Progress | None,
        stop: StopSign | None,
        dry_run: bool,
        on_made: "OnMade | None" = None,
    ) -> "Work":
        from .tasks.work import Work

        force = self._in_force(setup)

        def say(dossier: Dossier, text: str, *, lasting: bool = False, ended: bool = False) -> None:
            if on_progress is not None:
                on_progress(ProgressLine(dossier.task, dossier.sheet.agent, text, lasting, ended))

        return Work(
            self._desk(dry_run),
            self._ids,
            self._workshop(),
            self._models(force.setup),
            force,
            self._user,
            say,
            stop or StopSign(),
            on_made,
        )

    def _running(self) -> "Mapping[str, RunningBatch]":
        """The batches that this process runs."""
        return {} if self._pens is None else self._workshop().batches

    def _batch(
        self,
        setup: "Setup | None",
        on_happening: "OnHappening | None",
        stop: StopSign | None,
        *,
        dry_run: bool = False,
    ) -> "BatchWork":
        from .batch.work import BatchWork

        force = self._in_force(setup)
        work = BatchWork(
            self._desk(dry_run),
            self._ids,
            self._workshop(),
            self._models(force.setup),
            force,
            self._user,
            lambda dossier, text, **more: None,
            stop or StopSign(),
        )
        if on_happening is not None:
            work.tell = on_happening
        return work

    def _in_force(self, setup: "Setup | None") -> "InForce":
        """A request's settings with what the person allowed this workspace; its credentials are known from now on."""
        from .settings.trust import in_force

        force = in_force(self.workspace.settings, self._setup() if setup is None else setup)
        self._secrets().learn(force.setup.secrets())
        return force

    async def _turn(self, request: ChatRequest, setup: "Setup | None", on_event: OnEvent, stop: StopSign) -> TurnResult:
        """One turn with a held pen, so that its sub-agents can be at work side by side."""
        return await self._talk(request, setup, on_event, stop).turn(request, on_event, stop)

    def _talk(self, request: ChatRequest, setup: "Setup | None", on_event: OnEvent, stop: StopSign) -> "Talk":
        """The chats of a space, as one request has them."""
        from .chat.serving import Hands, talk_of

        space = self.workspace.space(request.client)
        force = self._in_force(setup)
        here = self.seen_from(only=space.client)

        async def delegate(wanted: DelegateRequest, on_made: "Callable[[Sequence[str]], None]") -> DelegateResult:
            return await here.delegate(
                replace(wanted, budget_usd=request.budget_usd),
                setup=setup,
                on_made=lambda made: on_made([task.task for task in made]),
                on_progress=on_event,
                stop=stop,
            )

        async def resume(task: str) -> DelegateResult:
            return await here.resume(task, setup=setup, on_progress=on_event, stop=stop)

        return talk_of(
            space,
            here._desk(dry_run=False),
            here,
            Hands(delegate, resume),
            self._ids,
            self._workshop(),
            self._models(force.setup),
            force,
            on_event,
            request.budget_usd,
        )

    def _spaces_of(self, ids: Sequence[str]) -> tuple[Space, ...]:
        """The spaces of drafts; raises BadRequest, NoSuchDraft or AmbiguousId before anything is decided."""
        if not ids:
            raise BadRequest("name at least one draft", hint="onepen drafts")
        found = {find_draft(self.workspace, one, self._clock, self._scope)[0].space for one in ids}
        return tuple(sorted(found, key=lambda space: space.prefix))


def _unheard(event: TurnEvent) -> None:
    """Where nobody listens to a turn."""


def _decided(scribe: "Scribe", decider: "Decider", decisions: tuple[Decision, ...]) -> DecisionResult:
    if scribe.rehearsed:
        decisions = tuple(decision.uncommitted() for decision in decisions)
    return DecisionResult(decisions, (*scribe.notices(), *decider.notices), dry_run=scribe.rehearsed)
