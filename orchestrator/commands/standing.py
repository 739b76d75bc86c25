"""Where a workspace stands, as people read it: `onepen` alone and `onepen status`."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..amounts import money
from .ink import ink
from .terminal import Terminal
from .text import count, one_line, table, wrap

if TYPE_CHECKING:
    from ..batch.answer import BatchView
    from ..mirror.standing import MirrorView
    from ..results import DraftsResult, Elsewhere, StatusResult, TaskView

_LISTED = 10
_RECOVERY = "half a commit waits; the next command that writes finishes it"


@dataclass(frozen=True)
class Turn:
    """Status and waiting drafts of a space, and what waits in others, as `onepen --json` prints them."""

    status: "StatusResult"
    waiting: "DraftsResult"
    elsewhere: "tuple[Elsewhere, ...]" = ()

    def as_json(self) -> Mapping[str, object]:
        return {
            **self.status.as_json(),
            **self.waiting.as_json(),
            "elsewhere": [place.as_json() for place in self.elsewhere],
        }


def turn(now: Turn, terminal: Terminal) -> str:
    """Whose turn it is: drafts that wait, oldest first, then work that stopped, then one command to go on with."""
    status, waiting = now.status, now.waiting
    lines = []
    if waiting.drafts:
        lines.append(f"{count(len(waiting.drafts), 'draft waits', 'drafts wait')} for you:\n")
        rows = [(d.id, one_line(_where(d.client, d.target)), d.agent) for d in waiting.drafts[:_LISTED]]
        lines.append(_indented(table(rows, terminal.columns - 2)))
        if len(waiting.drafts) > _LISTED:
            lines.append(f"  and {len(waiting.drafts) - _LISTED:,} more: onepen drafts\n")
    lines += [line for line in _batches(status, terminal) if status.batches]
    stopped = [t for t in status.tasks if t.status == "interrupted" and not t.batch]
    if stopped:
        lines.append(f"{count(len(stopped), 'task was', 'tasks were')} interrupted:\n")
        lines.append(_indented(table([_task(t, terminal) for t in stopped[:_LISTED]], terminal.columns - 2)))
    running = [t for t in status.tasks if t.status in {"queued", "running"} and not t.batch]
    if running:
        lines.append(f"{count(len(running), 'task runs', 'tasks run')}.\n")
    if not lines:
        lines.append("Nothing waits for you here.\n" if now.elsewhere else "Nothing waits for you.\n")
    lines += _elsewhere(now, terminal)
    lines.append(f"Next: {one_line(status.suggestion)}\n")
    return "".join(lines)


def _elsewhere(now: Turn, terminal: Terminal) -> Iterator[str]:
    """What waits in other spaces, counted: one line for drafts, one for tasks that stopped."""
    where = "at clients" if now.status.client is None else "elsewhere"
    drafts = {place.name: place.drafts for place in now.elsewhere if place.drafts}
    stopped = {place.name: place.interrupted for place in now.elsewhere if place.interrupted}
    for counts, words, command in (
        (drafts, ("more waits", "more wait"), "onepen drafts --all-clients"),
        (stopped, ("task was interrupted", "tasks were interrupted"), "onepen status --all-clients"),
    ):
        if counts:
            each = ", ".join(f"{name} {n:,}" for name, n in counts.items())
            yield wrap(f"{count(sum(counts.values()), *words)} {where}: {each} ({command})\n", terminal.columns)


_LAZY = "lazy: a power cut may take what was committed in the last second, a killed process nothing"


def status(result: "StatusResult", terminal: Terminal) -> str:
    """The workspace's facts, then its open tasks."""
    holder = result.orchestrator
    facts = [
        ("workspace", one_line(f"{result.name}  {result.workspace}" if result.name else result.workspace)),
        ("client", result.client or ""),
        ("clients", ", ".join(_client(id_, result.client_titles.get(id_, "")) for id_ in result.clients)),
        ("cards", f"{result.cards:,}"),
        ("time zone", f"{result.timezone} (from {result.timezone_source})"),
        ("orchestrator", f"pid {holder.pid} since {holder.since}, version {holder.version}" if holder else "none runs"),
        ("durability", _LAZY if result.durability == "lazy" else ""),
        ("sandbox", result.sandbox_words or result.sandbox),
        ("spent today", _spent(result)),
        ("drafts", f"{result.drafts_waiting:,} waiting"),
        ("git", _git(result.git)),
        (
            "recovery",
            "half a commit waits; the next command that writes finishes it" if result.recovery_pending else "",
        ),
    ]
    lines = [wrap(f"{ink(name + ':', 'dim', terminal)} {value}\n", terminal.columns) for name, value in facts if value]
    lines += _batches(result, terminal)
    alone = [task for task in result.tasks if not task.batch]
    if alone:
        lines.append(f"{count(len(alone), 'open task')}:\n")
        lines.append(_indented(table([_task(t, terminal) for t in alone[:_LISTED]], terminal.columns - 2)))
        if len(alone) > _LISTED:
            lines.append(f"  and {len(alone) - _LISTED:,} more: onepen status --json\n")
    lines.append(f"Next: {one_line(result.suggestion)}\n")
    return "".join(lines)


def _batches(result: "StatusResult", terminal: Terminal) -> Iterator[str]:
    """A line for each batch that runs or could go on, or whose tasks need somebody: a night leaves thousands."""
    left: dict[str, Counter[str]] = {}
    for task in result.tasks:
        if task.batch:
            left.setdefault(task.batch, Counter())[task.status] += 1
    known = {one.batch: one for one in result.batches}
    names = dict.fromkeys((*known, *left))
    if names:
        yield f"{count(len(names), 'batch', 'batches')} with work left:\n"
        rows = [(name, *_of_batch(known.get(name), left.get(name, Counter()))) for name in names]
        yield _indented(table(rows[:_LISTED], terminal.columns - 2))
        if len(rows) > _LISTED:
            yield f"  and {len(rows) - _LISTED:,} more: onepen batch list\n"


def _of_batch(view: "BatchView | None", left: "Counter[str]") -> tuple[str, str]:
    """How a batch stands, and what its tasks need."""
    tasks = ", ".join(f"{n:,} {status.replace('_', ' ')}" for status, n in sorted(left.items()))
    if view is None:
        return "finished", tasks
    counts = view.counts
    return view.state.replace("_", " "), f"{counts.done:,} of {counts.total:,} done" + (f"; {tasks}" if tasks else "")


def _task(task: "TaskView", terminal: Terminal) -> tuple[str, ...]:
    place = f"clients/{task.client}" if task.client else ""
    words = task.reason or task.text
    return (task.task, task.status, task.agent, one_line(f"{place} {words}".strip()))


def _git(mirror: "MirrorView | None") -> str:
    if mirror is None:
        return ""
    return f"behind since {mirror.since}: {one_line(mirror.problem)}" if mirror.problem else "has every commit"


def _spent(result: "StatusResult") -> str:
    unknown = result.unpriced_tokens_today
    return money(result.spend_today_usd) + (f", and {unknown:,} tokens whose price is unknown" if unknown else "")


def _client(id_: str, title: str) -> str:
    return f"{id_} ({one_line(title)})" if title and title != id_ else id_


def _where(client: str | None, target: str) -> str:
    return f"clients/{client}/{target}" if client else target


def _indented(text: str) -> str:
    return "".join(f"  {line}" for line in text.splitlines(keepends=True))
