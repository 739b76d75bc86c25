"""Whose turn it is: tasks that still need somebody, drafts that wait, who holds the pen, and one suggested command."""

import os
from collections.abc import Iterator, Sequence, Set
from datetime import date, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from ..memory.clock import Clock
from ..memory.errors import MemoryFault
from ..memory.holder import Holder, holder
from ..memory.ids import ClientId
from ..memory.view import View
from ..memory.workspace import SHELVES, Space, Workspace
from ..subagents.sandbox.level import probe
from ..version import __version__
from .cashbook import Cashbook
from .loud import outgrown_lines
from .mirror.standing import read_mirror
from .results import Elsewhere, OrchestratorView, StatusResult, TaskView
from .tasks.dossier import OPEN, Dossier, dossiers, told
from .tasks.events import AttemptStarted
from .tasks.settle import Settled
from .usage import costs_on, unreadable
from .views import draft_view, task_view

if TYPE_CHECKING:
    from .batch.answer import BatchView
    from .review.reviewer import Reviewer

_OVER = frozenset({"committed", "answered", "refused", "cancelled"})
_ENDED = frozenset({"failed", "timed_out", "quarantined", "refused"})
_REMEMBERED = timedelta(days=7)


def standing(view: View, clock: Clock, spaces: Sequence[Space], client: str | None) -> StatusResult:
    """The state of these spaces now; nothing is written and nobody waited for."""
    workspace = view.workspace
    held = holder(workspace.root)
    tasks: list[TaskView] = []
    waiting: list[str] = []
    hurt: list[str] = []
    moving: set[str] = set()
    settled, now = Settled(view), clock.now()

    @cache
    def reviewer(space: Space) -> "Reviewer":
        from .review.reviewer import Reviewer  # checks, search and diff: only where there is a draft to look at

        return Reviewer(view, space, lambda: clock.now().date())

    for space in spaces:
        cashbook = Cashbook(space)
        for dossier in map(settled.overlay, dossiers((space,), clock, undecided=True)):
            waiting += [d.id for d in dossier.state.drafts if d.status in OPEN]
            alive = works_on(held, dossier)
            booked = cashbook.totals_of(dossier.task, dossier.sheet.created)
            task = task_view(dossier, (), booked, alive=alive)
            hurt += [task.task] if dossier.damage else []
            if task.status == "running" or (task.status == "queued" and _by(held, _last(dossier, task))):
                moving.add(task.task)
            if not (_over(dossier, task) or _long_ended(dossier, task, now)) or dossier.damage:
                drafts = tuple(
                    draft_view(dossier, d, reviewer(space).examine(dossier, d)) for d in dossier.state.drafts
                )
                tasks.append(task_view(dossier, drafts, booked, alive=alive))
    unfinished = _unfinished_batches(workspace, clock, client)
    tasks.sort(key=lambda task: (task.created, task.task), reverse=True)
    cards = sum(len(view.cards(space, shelf)) for space in spaces for shelf in SHELVES)
    settings, level = workspace.settings, probe()
    # Where one client is looked at, by somebody beside whom that client may sit, no other is named.
    clients = tuple(id_ for id_ in workspace.clients() if client is None or id_ == client)
    # The day's budget is the whole workspace's, so that is told where nobody asks for one client.
    today = [spent for s in (workspace.spaces() if client is None else spaces) for spent in costs_on(s, now.date())]
    return StatusResult(
        workspace=str(workspace.root),
        name=settings.name,
        client=client,
        timezone=settings.timezone or _system_zone(now.tzname() or ""),
        timezone_source="onepen.toml" if settings.timezone else "system",
        orchestrator=None if held is None else _orchestrator(held),
        tasks=tuple(tasks),
        drafts_waiting=len(waiting),
        spend_today_usd=sum(usd for usd, _ in today),
        unpriced_tokens_today=sum(tokens for _, tokens in today),
        sandbox=level.kind,
        sandbox_words=level.words,
        sandbox_gaps=level.gaps,
        clients=clients,
        cards=cards,
        recovery_pending=held is None and bool(view.pending_paths()),
        suggestion=_suggestion(hurt, tasks, waiting, moving, cards, unfinished),
        notices=(
            *_unbelieved(view),
            *told(spaces, clock),
            *_unsummed(spaces, now.date()),
            *_outgrown(view, spaces, now.date()),
        ),
        git=read_mirror(workspace.root),
        durability="full" if held is None else held.durability,
        batches=unfinished,
        client_titles={id_: title for id_ in clients if (title := client_title(view, id_))},
    )


def _unfinished_batches(workspace: Workspace, clock: Clock, client: str | None) -> "tuple[BatchView, ...]":
    """The batches that run or could go on, the latest first; of other clients' none where one is looked at."""
    if not os.path.isdir(f"{workspace.root}/batches"):  # noqa: PTH112 - most workspaces have none
        return ()
    from .batch.asking import listed

    found = listed(workspace, clock).batches
    return tuple(
        one for one in found if one.state not in {"finished", "cancelled"} and (client is None or one.client == client)
    )


def _over(dossier: Dossier, task: TaskView) -> bool:
    """Whether nobody needs to look at a task again; where a model refused, a person may want to ask differently."""
    return task.status in _OVER and dossier.state.phase != "refused"


def works_on(held: Holder | None, dossier: Dossier) -> bool:
    """Whether the holder of the pen may be at work on a task: an attempt that began before it was another's."""
    starts = [entry.at for entry in dossier.entries if isinstance(entry.event, AttemptStarted)]
    return _by(held, starts[-1]) if starts else held is not None


def _by(held: Holder | None, at: str) -> bool:
    """Whether what happened at this time may be the work of the holder of the pen; an earlier one's isn't."""
    try:
        return held is not None and datetime.fromisoformat(at) >= datetime.fromisoformat(held.since)
    except (ValueError, TypeError):
        return True


def _long_ended(dossier: Dossier, task: TaskView, now: datetime) -> bool:
    """Whether a task failed a week ago or more and left nothing to decide on: it can be resumed, but nobody waits."""
    if task.status not in _ENDED or any(d.status in OPEN for d in dossier.state.drafts):
        return False
    try:
        return now - datetime.fromisoformat(_last(dossier, task)) >= _REMEMBERED
    except (ValueError, TypeError):
        return False


def _last(dossier: Dossier, task: TaskView) -> str:
    return dossier.entries[-1].at if dossier.entries else task.created


def elsewhere(view: View, clock: Clock, spaces: Sequence[Space]) -> tuple[Elsewhere, ...]:
    """What waits in these spaces, counted; a space in which nothing does is left out."""
    held, settled = holder(view.workspace.root), Settled(view)
    found = []
    for space in spaces:
        waiting = stopped = 0
        for dossier in map(settled.overlay, dossiers((space,), clock, undecided=True)):
            waiting += sum(d.status in OPEN for d in dossier.state.drafts)
            stopped += task_view(dossier, (), {}, alive=works_on(held, dossier)).status == "interrupted"
        if waiting or stopped:
            found.append(Elsewhere(space.client, waiting, stopped))
    return tuple(found)


def client_title(view: View, client: ClientId) -> str:
    """The title that stands over the client's USER.md; "" where none can be read."""
    try:
        text = view.text(view.workspace.space(client).path("USER.md"))
    except MemoryFault:
        return ""
    from ..memory.text.document import parse_document  # parses YAML, too, which takes as long as all of `status`

    return parse_document(text).title or "" if text else ""


def _unbelieved(view: View) -> tuple[str, ...]:
    """Why the redo log is passed over, when it was written elsewhere."""
    refused = view.refused()
    return () if refused is None else (str(refused),)


def _outgrown(view: View, spaces: Sequence[Space], today: date) -> Iterator[str]:
    """What prompts show only in part; files of the house are told of once."""
    for space in spaces:
        yield from outgrown_lines(view, space, today, house_too=space.client is None or len(spaces) == 1)


def _unsummed(spaces: Sequence[Space], day: date) -> tuple[str, ...]:
    """What this month cost and can't be read: without it the day's sum is too small."""
    month = f"usage-{day:%Y-%m}.jsonl"
    return tuple(str(problem) for space in spaces for problem in unreadable(space, lambda name: name == month))


def _orchestrator(held: Holder) -> OrchestratorView:
    return OrchestratorView(held.pid, held.since, held.version or __version__)


def _system_zone(short: str) -> str:
    """The system's zone by its IANA name where that can be told, else by its short name."""
    name = os.environ.get("TZ", "").lstrip(":")
    if name:
        return name
    try:
        target = os.path.realpath("/etc/localtime")
    except OSError:
        return short
    _, mark, zone = target.partition("/zoneinfo/")
    return zone if mark else short


def _suggestion(
    hurt: Sequence[str],
    tasks: Sequence[TaskView],
    waiting: Sequence[str],
    moving: Set[str],
    cards: int,
    batches: "Sequence[BatchView]",
) -> str:
    """What waits for the person comes first, then what stopped; `moving` are tasks that go on by themselves."""
    if hurt:
        return f"onepen resume {hurt[0]}"
    if waiting:
        return f"onepen show {waiting[0]}"
    for batch in batches:
        if batch.state != "running":
            return f"onepen batch resume {batch.batch}"
    if batches:
        return f"onepen batch status {batches[0].batch} --watch"
    for task in tasks:
        if task.task not in moving and task.status != "in_review":
            return f"onepen resume {task.task}"
    if moving:
        return "onepen status --watch"
    return 'onepen delegate "QUESTION" --input FOLDER' if cards else 'onepen add project "TITLE"'
