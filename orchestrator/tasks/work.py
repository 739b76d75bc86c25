"""Work with the pen held: new tasks, tasks to go on with, drafts sent back."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...memory import snapshot
from ...memory.errors import MemoryFault
from ...memory.follow import Followed
from ...memory.ids import AgentId, CardId, TaskId
from ...memory.scaffold import shipped
from ...memory.target import parse_target
from ...memory.tokens import estimate
from ...memory.view import as_text
from ...memory.workspace import Space
from ...staging.folder import TaskSheet, look_at_inputs
from ...staging.policy import refused
from ...staging.verdict import SentBack
from ...subagents.definition import AgentDefinition, NoSuchAgent, parse_definition
from ...subagents.prompt import system_blocks, tools
from ...subagents.sandbox.level import check_confined
from ...subagents.toolbox.toolset import tool_tokens
from ..commit import Scribe
from ..door import INSIST, refuse
from ..errors import BadRequest
from ..gateway.account import Account, Caps
from ..premises import own
from ..requests import DelegateRequest
from ..results import DelegateResult, TaskView
from ..review.judge import REVIEWER, Appointed
from ..review.reviewer import Reviewer
from ..settings.announce import announced, never_paid
from ..settings.caps import caps_in_force, ceiling
from ..settings.choice import INHERIT, free, model_of
from ..settings.models import OFFLINE, SCRIPTED, Models, Served, follows_remarks
from ..settings.trust import RUN_COMMAND, InForce, allowed, believed, not_allowed
from ..settings.workers import NoSuchWorker, check_there, employed
from ..stop import StopSign
from ..usage import place as usage_place
from ..views import draft_view, task_view
from .desk import Desk
from .dossier import Dossier, place_attempt
from .driver import Driver, Pinned
from .events import Judged, Resumed
from .naming import Ids, free_target, free_task
from .plan import STOPPED, AskPerson, DraftState, due
from .projects import project_of
from .recover import found_again, recover
from .rehearsal import foretold
from .waiting import Say
from .workshop import Workshop

OnMade = Callable[[tuple[TaskView, ...]], None]
"""Told of new tasks as soon as they are on the disk."""

RESEARCHER = "researcher"


@dataclass(frozen=True)
class _Wanted:
    """One task of a request, with everything checked."""

    text: str
    agent: AgentDefinition
    model: str


class Work:
    """One session of work; `say` gets lines for people."""

    def __init__(
        self,
        desk: Desk,
        ids: Ids,
        workshop: Workshop,
        models: Models,
        force: InForce,
        user: str,
        say: Say,
        stop: StopSign,
        made: OnMade | None = None,
    ) -> None:
        self._desk = desk
        self._workspace = desk.view.workspace
        self._ids = ids
        self._workshop = workshop
        self._models = models
        self._force = force
        self._setup = force.setup
        self._user = f"user:{user}"
        self._say = say
        self._stop = stop
        self._made = made
        self._reviewers: dict[str, Reviewer] = {}
        self._known_caps: dict[float | None, tuple[Caps, float]] = {}

    async def delegate(self, request: DelegateRequest) -> DelegateResult:
        space = self._workspace.space(request.client)
        if request.project is not None:
            request = replace(request, project=project_of(self._desk.view, space, request.project))
        wanted = self._checked(request, space)
        own(space, "staging")
        usage_place(space, self._desk.clock.now())
        with self._session() as scribe:
            left_out: dict[str, tuple[str, ...]] = {}
            made: list[Dossier] = []
            spaces = self._workspace.spaces()
            for one in wanted:
                sheet = self._planned(free_task(spaces, self._ids), request, space, one, made)
                dossier, left = self._desk.make(space, sheet, request.inputs, request.papers)
                made.append(dossier)
                left_out[dossier.task] = left
            await self._desk.keep(made)
            if self._made is not None:
                self._made(tuple(self._view_of(dossier, left_out[dossier.task]) for dossier in made))
            done, notices = await self._run(scribe, made)
            return self._result(done, scribe, left_out, notices)

    async def resume(self, prefix: str, budget_usd: float | None = None) -> DelegateResult:
        found = self._desk.find_task(prefix)
        self._check_can_go_on(found)
        with self._session() as scribe:
            dossier, told = self._found_again(self._desk.find_task(found.task))
            if dossier.state.phase in STOPPED:
                dossier = dossier.happened(Resumed(budget_usd))
            left = [i for i in due(dossier.state) if not isinstance(i, AskPerson)]
            notice = () if left or told else (f"{dossier.task}: nothing to resume, it is {dossier.state.status}",)
            done, notices = await self._run(scribe, (dossier,))
            return self._result(done, scribe, {}, (*told, *notice, *notices))

    async def send_back(self, ids: Sequence[str], reason: str) -> DelegateResult:
        for one in ids:
            self._check_follows_remarks(*self._desk.find_draft(one))
        with self._session() as scribe:
            tasks: dict[str, Dossier] = {}
            undone: list[str] = []
            told: list[str] = []
            for one in ids:
                dossier, draft = self._desk.find_draft(one)
                dossier, rebuilt = self._found_again(dossier)
                draft = dossier.state.draft(draft.id) or draft
                told += rebuilt
                if draft.status in {"committed", "duplicate", "approved"}:
                    undone.append(f"{draft.id}: it is {draft.status}, so it can't be sent back")
                else:
                    bound = self._reviewer(dossier.space).examine(dossier, draft).bound
                    dossier = dossier.happened(Judged(draft.id, SentBack(self._user, bound, reason)))
                    if dossier.state.phase in STOPPED:
                        dossier = dossier.happened(Resumed())
                tasks[dossier.task] = dossier
            done, notices = await self._run(scribe, tuple(tasks.values()))
            result = self._result(done, scribe, {}, (*told, *undone, *notices))
            return replace(result, undone=bool(undone))

    # -- what was asked for ----------------------------------------------------------------------------------------

    def _checked(self, request: DelegateRequest, space: Space) -> tuple[_Wanted, ...]:
        """The tasks of a request; raises before anything is made."""
        pairs = _pairs(request)
        if request.target is not None:
            self._check_target(request.target, space, len(pairs))
        look_at_inputs(request.inputs)
        if not request.allow_secret:
            for text, _ in pairs:
                refuse(text, "the task", self._desk.held, hint=INSIST)
        wanted = []
        for text, agent in pairs:
            definition = self._agent(AgentId(agent))
            model = self._model_name(model_of(self._setup, request.model, definition, space.client))
            self._models(model, definition, space.client)
            self._check_can_start(definition)
            wanted.append(_Wanted(text, definition, model))
        return tuple(wanted)

    def _check_target(self, text: str, space: Space, tasks: int) -> None:
        finding = refused(text)
        if finding is not None:
            raise BadRequest(finding.message)
        target = parse_target(text)
        if tasks > 1 and self._desk.view.bytes(space.path(target)) is None:
            raise BadRequest(f"target {text}: {tasks} tasks can't all create it", hint="delegate them one by one")

    def _check_follows_remarks(self, dossier: Dossier, draft: DraftState) -> None:
        """Raises what `_check_can_go_on` raises, and BadRequest for offline: it would quote the same passages again."""
        served = self._check_can_go_on(dossier)
        if not follows_remarks(served.model.name) and draft.status not in {"committed", "duplicate", "approved"}:
            raise BadRequest(
                f"{draft.id}: the offline model finds and quotes, it can't follow remarks; edit the draft, or give the "
                "task to a model",
                hint=f"onepen edit {draft.id}",
            )

    def _check_can_go_on(self, dossier: Dossier) -> Served:
        """The model that goes on; raises NoSuchAgent, NoSandbox, UnknownModel, NeedsModel, ScriptUnreadable or
        LinkLeadsOut.
        """
        place_attempt(dossier, dossier.state.attempt + 1)
        usage_place(dossier.space, self._desk.clock.now())
        definition = self._agent(dossier.sheet.agent)
        self._check_can_start(definition)
        return self._models(dossier.sheet.model, definition, dossier.space.client)

    def _check_can_start(self, definition: AgentDefinition) -> None:
        """Raises NoProgram, and NoSandbox for an agent that may only work where something confines it."""
        check_there(definition)
        if self._workshop.level is not None:
            commands = RUN_COMMAND in definition.tools
            program, unsafe = definition.program, definition.unsafe
            check_confined(self._workshop.level, commands=commands, program=program, unsafe=unsafe)

    @staticmethod
    def _model_name(name: str) -> str:
        """The name as it is kept in the task's sheet: a script's path is made absolute."""
        if name.startswith(SCRIPTED):
            return SCRIPTED + str(Path(name.removeprefix(SCRIPTED)).expanduser().absolute())
        return name

    def _agent(self, agent: AgentId) -> AgentDefinition:
        """The agent's definition, with what the person allowed it and the program that they have for it.

        Raises NoSuchAgent or NoSuchWorker.
        """
        data = self._desk.view.bytes(f"agents/{agent}.md")
        if data is None:
            folder = self._workspace.root / "agents"
            names = [p.stem for p in folder.glob("*.md")] if folder.is_dir() else []
            raise NoSuchAgent(agent, sorted(n for n in names if n not in {"RULES", "_index"}))
        definition = parse_definition(agent, as_text(data, f"agents/{agent}.md"))
        definition = allowed(self._workspace.settings.id, definition, data, self._setup.trusted)
        return replace(employed(definition, self._setup), unsafe=self._setup.unsafe)

    # -- making tasks ----------------------------------------------------------------------------------------------

    def _planned(
        self, task: TaskId, request: DelegateRequest, space: Space, wanted: _Wanted, made: Sequence[Dossier]
    ) -> TaskSheet:
        """A new task's sheet, still without its inputs; `made` are the tasks of this request that came before."""
        limits = self._workspace.settings.limits
        target = request.target
        if target is None and wanted.model == OFFLINE and not request.answer:
            target = str(free_target(self._desk.view, space, self._desk.clock, wanted.text, made))
        return TaskSheet(
            task=task,
            agent=wanted.agent.id,
            client=space.client,
            project=None if request.project is None else CardId(request.project),
            target=target,
            text=wanted.text,
            created=self._desk.clock.now().isoformat(timespec="seconds"),
            review=request.review or self._force.review,
            answer=request.answer,
            model=wanted.model,
            seconds=min(request.time_limit or limits.task_seconds, limits.task_seconds),
            silence=limits.silence_seconds,
            turns=min(request.max_turns or limits.turns, limits.turns),
            budget_usd=request.budget_usd,
            external=request.external or bool(wanted.agent.program),  # it opens files without telling which
        )

    # -- running ---------------------------------------------------------------------------------------------------

    def _session(self) -> Scribe:
        """The pen for the whole session; first, what a crash left is finished and hand edits are indexed."""
        scribe = self._desk.scribe()
        try:
            scribe.reconcile(self._workspace.spaces())
            if not (scribe.rehearsed or scribe.lent):
                recover(self._desk, self._desk.view)
        except BaseException:
            scribe.close()
            raise
        return scribe

    async def _run(self, scribe: Scribe, tasks: Sequence[Dossier]) -> tuple[Sequence[Dossier], tuple[str, ...]]:
        """Sees tasks to the point where a person is needed, with notices; in rehearsal they stay where they are."""
        if self._desk.rehearsed:
            return tasks, ()
        await self._announce(tasks)
        driver = Driver(
            self._workspace,
            self._desk.view,
            self._desk.clock,
            self._workshop,
            self._models,
            self._account,
            self._judging,
            self._agent,
            scribe,
            self._say,
            self._stop,
            self._reviewer,
            self._pinned(),
        )
        return await driver.run(tuple(tasks)), driver.notices

    def _pinned(self) -> Pinned:
        """What tasks of batches start from."""
        from ..batch.pinned import PinnedContext

        return PinnedContext(self._desk.view)

    async def _announce(self, tasks: Sequence[Dossier]) -> None:
        """Says what the first paid work of the workspace may cost, before it begins."""
        paid = {d.sheet.model: d for d in reversed(tasks) if d.state.phase == "queued" and not free(d.sheet.model)}
        if not paid or not never_paid(self._workspace.spaces()):
            return
        for model, dossier in paid.items():
            definition = self._agent(dossier.sheet.agent)
            served = await self._models(model, definition, dossier.space.client).priced()
            if served.free:
                continue
            taken = snapshot.take(self._desk.view, dossier.space, tools=tool_tokens(tools()))
            texts = (*system_blocks(taken.files, definition), str(tools()), dossier.sheet.text)
            caps = self._account(dossier, definition.id).caps
            line = announced(model, served.price, sum(map(estimate, texts)), caps)
            self._say(dossier, line, lasting=True)

    def _account(self, dossier: Dossier, agent: AgentId) -> Account:
        """On whose account an agent works for a task; what its earlier attempts cost counts."""
        spent = self._workshop.cashbook(dossier.space).spent_on(dossier.task, dossier.sheet.created)
        caps, most = self._caps(dossier.state.budget_usd)
        shared = self._workshop.allowances.get(dossier.sheet.batch)
        return Account(dossier.space.client, dossier.task, agent, caps, spent, most, shared)

    def _caps(self, budget: float | None) -> tuple[Caps, float]:
        """The caps of a task with this budget of its own, and the most that it could be given; once for each budget."""
        if budget not in self._known_caps:
            limits, own, raised = self._workspace.settings.limits, self._setup.caps, self._force.raised
            caps = caps_in_force(limits, own, raised=raised, budget_usd=budget)
            self._known_caps[budget] = caps, ceiling(limits, own, raised=raised)
        return self._known_caps[budget]

    def _judging(self, dossier: Dossier) -> Appointed:
        """Who judges: with the task's own model, unless the reviewer's definition names another one."""
        definition, name = self._agent(REVIEWER), dossier.sheet.model
        if not free(name) and definition.model != INHERIT:
            name = model_of(self._setup, None, definition, dossier.space.client)
        path = f"agents/{REVIEWER}.md"
        data, own = self._desk.view.bytes(path) or b"", shipped(path).encode()
        if believed(self._workspace.settings.id, data, own, self._setup.trusted):
            return Appointed(definition, name)
        return Appointed(
            definition, name, f"{path} is not as onepen ships it, and you have not allowed it (onepen trust)"
        )

    def _found_again(self, dossier: Dossier) -> tuple[Dossier, tuple[str, ...]]:
        """A task as it can go on, and what a person should know; one that is at work here is left to its driver."""
        return (dossier, ()) if dossier.task in self._workshop.at_work else found_again(self._desk, dossier)

    def _result(
        self,
        done: Sequence[Dossier],
        scribe: Scribe,
        left_out: dict[str, tuple[str, ...]],
        notices: Sequence[str] = (),
    ) -> DelegateResult:
        views = [self._view_of(dossier.refreshed(), left_out.get(dossier.task, ())) for dossier in done]
        stopped = bool(self._stop.presses) and any(v.status in {"interrupted", "queued", "sent_back"} for v in views)
        unheard = () if self._force.notice is None else (self._force.notice,)
        told = (
            *scribe.notices(),
            *notices,
            *self._unconfined(done),
            *unheard,
            *self._asked_in_vain(done),
            *self._workshop.gateway.news(),
        )
        return DelegateResult(tuple(views), told, stopped, dry_run=self._desk.rehearsed)

    def _unconfined(self, done: Sequence[Dossier]) -> tuple[str, ...]:
        """That nothing holds the workers, where that is so."""
        level = self._workshop.level
        return (f"sandbox: {level.words}",) if level is not None and not level.confines and done else ()

    def _asked_in_vain(self, done: Sequence[Dossier]) -> Iterator[str]:
        """That agents which were at work ask for tools which the person has not allowed them."""
        for agent in sorted({dossier.sheet.agent for dossier in done}):
            try:
                notice = not_allowed(self._agent(agent))
            except (NoSuchAgent, NoSuchWorker, MemoryFault):
                continue
            if notice is not None:
                yield notice

    def _reviewer(self, space: Space) -> Reviewer:
        """One for each space, so that what was examined a moment ago needn't be examined again.

        It asks what this process knows of the space's history.
        """
        if space.prefix not in self._reviewers:
            history = self._workshop.histories.setdefault(space.prefix, Followed(space))
            self._reviewers[space.prefix] = self._desk.reviewer(space, history)
        return self._reviewers[space.prefix]

    def _view_of(self, dossier: Dossier, left_out: tuple[str, ...]) -> TaskView:
        reviewer = self._reviewer(dossier.space)
        drafts = tuple(draft_view(dossier, d, reviewer.examine(dossier, d)) for d in dossier.state.drafts)
        alive = dossier.task in self._workshop.at_work
        booked = self._workshop.cashbook(dossier.space).totals_of(dossier.task, dossier.sheet.created)
        view = task_view(dossier, drafts, booked, alive=alive, left_out=left_out)
        return foretold(dossier, view) if self._desk.rehearsed else view


def _pairs(request: DelegateRequest) -> tuple[tuple[str, str], ...]:
    """Each task's text and agent; raises BadRequest."""
    texts = tuple(text.strip() for text in request.texts)
    if not texts or not all(texts):
        raise BadRequest("say what is to be done: a task's text is empty", hint='onepen delegate "TEXT"')
    agents = request.agents or (RESEARCHER,)
    if len(texts) == 1:
        return tuple((texts[0], agent) for agent in agents)
    if len(agents) == 1:
        return tuple((text, agents[0]) for text in texts)
    if len(agents) != len(texts):
        raise BadRequest(f"{len(texts)} texts and {len(agents)} agents: give one agent for all, or one for each text")
    return tuple(zip(texts, agents, strict=True))
