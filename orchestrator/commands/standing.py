"""Where a workspace stands, as people read it: `onepen` alone and `onepen status`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .ink import ink
from .terminal import Terminal
from .text import count, one_line, table

if TYPE_CHECKING:
    from ..results import DraftsResult, StatusResult, TaskView

_LISTED = 10
_RECOVERY = "half a commit waits; the next command that writes finishes it"


@dataclass(frozen=True)
class Turn:
    """Status and waiting drafts in one document, as `onepen --json` prints them."""

    status: "StatusResult"
    waiting: "DraftsResult"

    def as_json(self) -> Mapping[str, object]:
        return {**self.status.as_json(), **self.waiting.as_json()}


def turn(status: "StatusResult", waiting: "DraftsResult", terminal: Terminal) -> str:
    """Whose turn it is: drafts that wait, oldest first, then work that stopped, then one command to go on with."""
    lines = []
    if waiting.drafts:
        lines.append(f"{count(len(waiting.drafts), 'draft waits', 'drafts wait')} for you:\n")
        rows = [(d.id, one_line(_where(d.client, d.target)), d.agent) for d in waiting.drafts[:_LISTED]]
        lines.append(_indented(table(rows, terminal.columns - 2)))
        if len(waiting.drafts) > _LISTED:
            lines.append(f"  and {len(waiting.drafts) - _LISTED:,} more: onepen drafts --all-clients\n")
    stopped = [t for t in status.tasks if t.status == "interrupted"]
    if stopped:
        lines.append(f"{count(len(stopped), 'task was', 'tasks were')} interrupted:\n")
        lines.append(_indented(table([_task(t, terminal) for t in stopped[:_LISTED]], terminal.columns - 2)))
    running = [t for t in status.tasks if t.status in {"queued", "running"}]
    if running:
        lines.append(f"{count(len(running), 'task runs', 'tasks run')}.\n")
    if not lines:
        lines.append("Nothing waits for you.\n")
    lines.append(f"Next: {one_line(status.suggestion)}\n")
    return "".join(lines)


def status(result: "StatusResult", terminal: Terminal) -> str:
    """The workspace's facts, then its open tasks."""
    holder = result.orchestrator
    facts = [
        ("workspace", one_line(f"{result.name}  {result.workspace}" if result.name else result.workspace)),
        ("client", result.client or ""),
        ("clients", ", ".join(result.clients)),
        ("cards", f"{result.cards:,}"),
        ("time zone", f"{result.timezone} (from {result.timezone_source})"),
        ("orchestrator", f"pid {holder.pid} since {holder.since}" if holder else "none runs"),
        ("sandbox", result.sandbox),
        ("spent today", f"${result.spend_today_usd:.2f}"),
        ("drafts", f"{result.drafts_waiting:,} waiting"),
        (
            "recovery",
            "half a commit waits; the next command that writes finishes it" if result.recovery_pending else "",
        ),
    ]
    lines = [f"{ink(name + ':', 'dim', terminal)} {value}\n" for name, value in facts if value]
    if result.tasks:
        lines.append(f"{count(len(result.tasks), 'open task')}:\n")
        lines.append(_indented(table([_task(t, terminal) for t in result.tasks], terminal.columns - 2)))
    lines.append(f"Next: {one_line(result.suggestion)}\n")
    return "".join(lines)


def _task(task: "TaskView", terminal: Terminal) -> tuple[str, ...]:
    place = f"clients/{task.client}" if task.client else ""
    words = task.reason or task.text
    return (task.task, task.status, task.agent, one_line(f"{place} {words}".strip()))


def _where(client: str | None, target: str) -> str:
    return f"clients/{client}/{target}" if client else target


def _indented(text: str) -> str:
    return "".join(f"  {line}" for line in text.splitlines(keepends=True))
