"""A batch with the pen held: it is made or found, its tasks are run, and what came of it is told and written down."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ...memory.ids import AgentId, CardId, ClientId, TaskId
from ...memory.workspace import Space
from ...staging.folder import TaskSheet
from ...subagents.definition import AgentDefinition
from ..amounts import money
from ..commit import Scribe
from ..errors import BadRequest, BatchAtWork
from ..gateway.account import Allowance, Amount
from ..premises import own_batch, write
from ..settings.choice import free
from ..settings.models import Served
from ..settings.trust import REVIEWER, batch_wish
from ..tasks.dossier import Dossier
from ..tasks.driver import Driver
from ..tasks.waiting import LONG, Say
from ..tasks.work import RESEARCHER, Work
from .answer import BatchPlan, BatchView
from .conclusion import conclude, write_report
from .dossier import BatchDossier, check_inputs, open_batch
from .events import Retried, RunStarted, TaskOver
from .folder import BatchFolder
from .ground import WorkspaceGround
from .hands import BatchHands
from .happening import Launch, OnHappening, Over, Standing, Word
from .item import Item
from .known import done_before
from .notify import line_of, notify
from .pinned import PinnedContext
from .plan import Bounds
from .preparing import Prepared, prepare, store
from .request import BatchRequest, GoOn
from .run import Run
from .running import RunningBatch
from .spec import render_spec
from .view import batch_view

if TYPE_CHECKING:
    from ..outbox.outbox import Outbox

_MOST_SENT = 32 << 20
"""Bytes of a Message Batch: the API takes more, and several copies of it are in memory while it is sent."""
_AT_ONCE = 10
"""How many tasks of a batch run at the same time where nobody said it."""


class BatchWork(Work):
    """One session of work on batches; give it `tell` before it begins, to hear what happens."""

    tell: OnHappening = staticmethod(lambda happening: None)

    async def begin(self, request: BatchRequest) -> BatchView:
        """Begins a batch, or goes on with it if it is there already.

        Raises what is wrong with the request or its rows, all at once, before anything is made.
        """
        prepared = self._prepared(request)
        with self._session() as scribe:
            return await self._carry_on(self._begun(prepared), scribe, said=request.review, sample=request.sample)

    async def go_on(self, wanted: GoOn) -> BatchView:
        """Goes on with a batch, or begins its failed tasks again; raises NoSuchBatch, AmbiguousId or BatchAtWork."""
        batch = open_batch(self._workspace, wanted.batch, self._desk.clock)
        with self._session() as scribe:
            self._check_free(batch)
            names = ("concurrency", "budget_usd", "max_failures", "review")
            said = {name: value for name in names if (value := getattr(wanted, name)) is not None}
            if said:
                batch.spec = replace(batch.spec, **said)
                write(batch.folder.spec_file, render_spec(batch.spec).encode())
            if wanted.retry is not None:
                keys = batch.state.failed(wanted.retry)
                if not keys:
                    of = "" if wanted.retry == "all" else f" of class {wanted.retry}"
                    return replace(self._view_now(batch), told=(f"no task{of} failed: there is nothing to try again",))
                batch.happened(Retried(keys))
            return await self._carry_on(batch, scribe, said=wanted.review, sample=wanted.sample)

    async def plan(self, request: BatchRequest) -> BatchPlan:
        """What `begin` would do, with the ranges of what it may cost; nothing is made."""
        from .foretold import foretold

        prepared = self._prepared(request)
        place = BatchFolder(own_batch(self._workspace, prepared.spec.batch))
        there = (
            open_batch(self._workspace, prepared.spec.batch, self._desk.clock) if place.spec_file.is_file() else None
        )
        known = done_before(
            self._desk.view, self._spaces(prepared.items), prepared.spec.batch, prepared.items, self._desk.clock
        )
        first = next((item for item in prepared.items), None)
        served = None if first is None else await self._served_of(first).priced()
        caps, _ = self._caps(None)
        return foretold(
            prepared, there, known, served, caps, self._desk.view, self._agent,
            places=round(self._workshop.slots.total_tokens),
        )  # fmt: skip

    # -- what is asked for ---------------------------------------------------------------------------------------------

    def _prepared(self, request: BatchRequest) -> Prepared:
        """The batch of a request, with everything checked; nothing is made."""
        ground = WorkspaceGround(
            self._desk.view, self._setup, self._models, self._can_start, self._model_name, self._desk.held,
            request.model, allow_secret=request.allow_secret,
        )  # fmt: skip
        asked = replace(request, agent=request.agent or RESEARCHER, review=request.review or self._force.review)
        prepared = prepare(asked, ground, created=self._at(), by=self._user)
        models = {item.model for item in prepared.items}
        if request.via != "messages" and (unfit := sorted(filter(free, models))):
            raise BadRequest(f"--via {request.via}: {unfit[0]} runs inside onepen, no server takes batches for it")
        named = replace(
            prepared.spec,
            model=next(iter(models)) if len(models) == 1 else f"{len(models)} models",
            concurrency=prepared.spec.concurrency or _AT_ONCE,
        )
        return replace(prepared, spec=named)

    def _can_start(self, agent: AgentId) -> AgentDefinition:
        definition = self._agent(agent)
        self._check_can_start(definition)
        return definition

    def _begun(self, prepared: Prepared) -> BatchDossier:
        """The batch in its folder, made where it isn't there yet; one that is there gets what is said of it now."""
        wanted = prepared.spec
        if not BatchFolder(own_batch(self._workspace, wanted.batch)).spec_file.is_file():
            store(self._workspace.root, prepared)
            batch = open_batch(self._workspace, wanted.batch, self._desk.clock)
            spaces = self._spaces(batch.items)
            for event in done_before(self._desk.view, spaces, wanted.batch, batch.items, self._desk.clock):
                entry = batch.journal.append(event, sync=False)
                batch.state.take(event, entry.at)
            return batch
        batch = open_batch(self._workspace, wanted.batch, self._desk.clock)
        self._check_free(batch)
        names = ("review", "via", "review_via", "concurrency", "budget_usd", "max_failures")
        batch.spec = replace(batch.spec, **{name: getattr(wanted, name) for name in names})
        write(batch.folder.spec_file, render_spec(batch.spec).encode())
        return batch

    def _check_free(self, batch: BatchDossier) -> None:
        if batch.spec.batch in self._workshop.batches:
            raise BatchAtWork(batch.spec.batch)

    def _check_models(self, batch: BatchDossier) -> None:
        """Raises what would fail each of the tasks that are left, before the first of them begins."""
        left = {*batch.state.unfinished(), *batch.state.new()}
        asked = {(item.model, item.agent, item.client): item for item in batch.items if item.key in left}
        for item in asked.values():
            if self._is_there(item.client):
                self._can_start(AgentId(item.agent))
                self._served_of(item)

    def _is_there(self, client: str | None) -> bool:
        """Whether a client has a space; tasks of one that was taken away fail, and no other does."""
        return client is None or client in self._workspace.clients()

    def _review(self, batch: BatchDossier, said: str | None) -> tuple[str, tuple[str, ...]]:
        """Who reviews, and what a person should know of it: a batch's file alone gives nobody's consent away."""
        spec = batch.spec
        if spec.review != "auto" or said == "auto":
            return spec.review or "person", ()
        wish = batch_wish(
            self._workspace.settings.id, str(self._workspace.root), spec.batch, spec.tasks_sha256, spec.review
        )
        if wish is None or wish.sha256 in self._setup.trusted:
            return spec.review, ()
        words = "its batch.toml says review auto, but you did not say so for these tasks here: a person reviews"
        return "person", (f"{words} (onepen batch resume {spec.batch} --review auto)",)

    # -- running -------------------------------------------------------------------------------------------------------

    async def _carry_on(
        self, batch: BatchDossier, scribe: Scribe, *, said: str | None, sample: int | None
    ) -> BatchView:
        """Runs what is left of a batch, until nothing is or something keeps it from going on."""
        spec, state = batch.spec, batch.state
        self._check_free(batch)
        batch.look_again(self._workspace, self._desk.clock)
        if state.concluded:
            if not batch.folder.report_file.is_file():
                write_report(batch, self._desk.clock)
            return replace(self._view_now(batch), told=("nothing is left to do",))
        check_inputs(batch)
        self._check_models(batch)
        review, told = self._review(batch, said)
        for words in told:
            self.tell(Word(words))
        places = round(self._workshop.slots.total_tokens)
        bounds = Bounds(min(spec.concurrency or _AT_ONCE, places), spec.max_failures)
        self._workshop.allowances[spec.batch] = self._allowance(batch)
        pinned = PinnedContext(self._desk.view)
        pinned.pin(spec.batch, self._spaces(batch.items))
        batch.happened(
            RunStarted(bounds.concurrency, spec.budget_usd, review, spec.max_failures, self._user, os.getpid())
        )
        outbox = self._outbox(batch)
        driver = self._driver(batch, scribe, outbox, pinned)
        hands = BatchHands(
            spec.batch, self._desk, self._workshop, driver, self._stop, self._sheets(batch, review),
            tuple(sorted(batch.folder.inputs.iterdir())) if batch.folder.inputs.is_dir() else (), outbox,
            lambda text: self.tell(Word(text)),
        )  # fmt: skip
        run = Run(
            batch.items, state, batch.journal, hands, bounds, self._stop, sample=sample,
            on_over=lambda over: self._is_over(batch, over),
            on_beat=lambda: self.tell(Standing(self._view_running(batch, run, outbox))),
        )  # fmt: skip
        running, late = RunningBatch(self._stop, run.cancel), tuple[str, ...]()
        self._workshop.batches[spec.batch] = running
        try:
            self.tell(Launch(self._view_running(batch, run, outbox)))
            end = await run.run()
            if end.why == "cancelled" and outbox is not None:
                late = await self._called_back(outbox)
            notices = await conclude(batch, end, scribe, self._spaces(batch.items), self._desk.clock, self._user)
        finally:
            del self._workshop.batches[spec.batch]
            self._workshop.allowances.pop(spec.batch, None)
            running.done.set()
        unheard = self._result((), scribe, {}, tuple(driver.notices)).notices
        view = replace(
            self._view_now(batch),
            told=(*late, *unheard, *notices),
            interrupted=end.why == "stopped",
            undone=end.why == "finished" and not state.done,
        )
        failed = await notify(self._setup.notify, line_of(view), view.as_json())
        return view if failed is None else replace(view, told=(*view.told, failed))

    async def _called_back(self, outbox: "Outbox") -> tuple[str, ...]:
        """Has servers end what is out, and says what was paid for that nobody has used."""
        await outbox.cancel(lambda text: self.tell(Word(text)))
        usd = sum(amount.usd for amount in outbox.unclaimed.values())
        if not usd:
            return ()
        return (f"replies that came too late cost {money(usd)}; they are used if the batch is resumed",)

    def _driver(self, batch: BatchDossier, scribe: Scribe, outbox: "Outbox | None", pinned: PinnedContext) -> Driver:
        def models(name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
            served = self._models(name, definition, client)
            via = batch.spec.via if definition.id != REVIEWER else batch.spec.review_via or batch.spec.via
            return replace(served, outbox=outbox) if via == "message-batches" and not served.free else served

        return Driver(
            self._workspace,
            self._desk.view,
            self._desk.clock,
            self._workshop,
            models,
            self._account,
            self._judging,
            self._agent,
            scribe,
            self._heard(),
            self._stop,
            self._reviewer,
            pinned,
        )

    def _heard(self) -> Say:
        """Tells what keeps tasks waiting for long, once for all of them."""
        told: dict[str, float] = {}

        def heard(dossier: Dossier, text: str, *, lasting: bool = False, ended: bool = False) -> None:
            reason, now = text.partition(": ")[2] or text, anyio.current_time()
            if lasting and not ended and now - told.get(reason, -LONG) >= LONG:
                told[reason] = now
                self.tell(Word(text))

        return heard

    def _outbox(self, batch: BatchDossier) -> "Outbox | None":
        """What gathers calls into Message Batches; None where none of the batch's models is asked that way."""
        if "message-batches" not in {batch.spec.via, batch.spec.review_via}:
            return None
        from ..outbox.outbox import Outbox
        from ..outbox.parts import Limits
        from ..outbox.till import bare

        shared = self._workshop.allowances.get(batch.spec.batch)
        outbox = Outbox(
            batch.folder, self._workshop.gateway.ledger, self._desk.clock,
            accounts=lambda asked: replace(bare(asked), shared=shared), limits=Limits(bytes=_MOST_SENT),
        )  # fmt: skip
        for item in {(item.model, item.agent, item.client): item for item in batch.items}.values():
            if self._is_there(item.client) and not (served := self._served_of(item)).free:
                outbox.meet(served)
        return outbox

    def _sheets(self, batch: BatchDossier, review: str) -> "Callable[[Item, TaskId], TaskSheet]":
        """How the sheet of an item's task is made."""
        spec, limits = batch.spec, self._workspace.settings.limits

        def sheet(item: Item, task: TaskId) -> TaskSheet:
            return TaskSheet(
                task=task,
                agent=AgentId(item.agent),
                client=self._workspace.space(item.client).client,
                project=None if item.project is None else CardId(item.project),
                target=item.target,
                text=item.text,
                created=self._at(),
                review="auto" if review == "auto" else "person",
                answer=spec.answer,
                model=item.model,
                seconds=min(spec.time_limit or limits.task_seconds, limits.task_seconds),
                silence=limits.silence_seconds,
                turns=min(spec.max_turns or limits.turns, limits.turns),
                external=True,  # a row is an input
                batch=spec.batch,
                row=item.line,
                key=item.key,
            )

        return sheet

    # -- money ---------------------------------------------------------------------------------------------------------

    def _allowance(self, batch: BatchDossier) -> Allowance:
        """What the batch may cost, with all that its tasks have cost until now."""
        usd, tokens = batch.state.known_usd(), 0
        of = {item.key: item for item in batch.items}
        for key in batch.state.unfinished():
            facts = batch.state.tasks[key]
            if not self._is_there(of[key].client):
                continue
            spent = self._workshop.cashbook(self._workspace.space(of[key].client)).spent_on(facts.task)
            usd, tokens = usd + spent.usd - (facts.cost_usd or 0.0), tokens + spent.tokens
        return Allowance(batch.spec.batch, batch.spec.budget_usd, Amount(usd, tokens))

    # -- telling -------------------------------------------------------------------------------------------------------

    def _is_over(self, batch: BatchDossier, over: TaskOver) -> None:
        facts = batch.state.tasks[over.key]
        self._workshop.gateway.forget(over.task)
        self.tell(
            Over(
                facts.line, over.key, over.task, over.status, over.reason, over.kind or "", over.cost_usd, over.seconds
            )
        )

    def _view_running(self, batch: BatchDossier, run: Run, outbox: "Outbox | None") -> BatchView:
        mine = {facts.task for facts in batch.state.tasks.values() if facts.place == "running"}
        live = sum(one.cost_usd or 0.0 for one in self._workshop.roster.view().workers if one.task in mine)
        return batch_view(
            batch.spec, batch.state, self._desk.clock.now(), running=True, at_work=run.at_work, live_usd=live,
            waits=None if outbox is None else outbox.out,
        )  # fmt: skip

    def _view_now(self, batch: BatchDossier) -> BatchView:
        report = batch.folder.report_file
        shown = f"batches/{batch.spec.batch}/{report.name}" if report.is_file() else ""
        return batch_view(batch.spec, batch.state, self._desk.clock.now(), running=False, report=shown)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _spaces(self, items: Sequence[Item]) -> tuple[Space, ...]:
        """The spaces that tasks work in, the house's first."""
        clients = sorted(filter(self._is_there, {item.client for item in items}), key=lambda client: client or "")
        return tuple(self._workspace.space(client) for client in clients)

    def _served_of(self, item: Item) -> Served:
        space = self._workspace.space(item.client)
        return self._models(item.model, self._agent(AgentId(item.agent)), space.client)

    def _at(self) -> str:
        return self._desk.clock.now().isoformat(timespec="seconds")
