"""Tasks that ended, as people read them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from .ink import ink
from .terminal import Terminal
from .text import because, count, one_line, visible, wrap

if TYPE_CHECKING:
    from ..cancelled import CancelResult
    from ..results import DelegateResult, DraftView, TaskView

_GOOD = {"committed", "in_review", "answered"}
_NOTHING = "Nothing was written, nobody was asked.\n"


def done(result: "DelegateResult", terminal: Terminal) -> str:
    """Each task with its answer, its drafts and the next command."""
    if result.dry_run:
        return "\n".join(_foretold(task, terminal) for task in result.tasks) + _NOTHING
    from ..beside import marked

    drafts = {draft.id: draft for draft in marked(draft for task in result.tasks for draft in task.drafts)}
    tasks = (replace(task, drafts=tuple(drafts[draft.id] for draft in task.drafts)) for task in result.tasks)
    return "\n".join(_task(task, terminal) for task in tasks)


def made(result: "DelegateResult", terminal: Terminal) -> str:
    """Each task that was handed over, and where it can be looked at."""
    lines = [wrap(f"{task.task}  {task.agent}  {task.status}\n", terminal.columns) for task in result.tasks]
    return "".join(lines) + "Next: onepen status\n"


def ended(result: "CancelResult", terminal: Terminal) -> str:
    """Each task that was cancelled, with what it left."""
    return "\n".join(_task(task, terminal) for task in result.tasks) + (_NOTHING if result.dry_run else "")


def summary(task: "TaskView") -> str:
    """One line: how it ended, with what, in how many seconds."""
    drafts = f", {count(len(task.drafts), 'draft')}" if task.drafts else ""
    reason = f": {one_line(task.reason)}" if task.reason else ""
    return f"{task.task} {task.agent}: {task.status}{drafts}, {task.seconds:.1f} s{reason}"


def _foretold(task: "TaskView", terminal: Terminal) -> str:
    """A task as it would go on."""
    reason = f": {one_line(task.reason)}" if task.reason else ""
    lines = [f"{task.task or '(new)'}  {task.agent}  {ink(task.status, 'yellow', terminal)}{reason}\n"]
    lines.extend(f"  left out: {one_line(name)}\n" for name in task.left_out)
    lines.extend(f"  {one_line(notice)}\n" for notice in task.notices)
    return "".join(lines)


def _task(task: "TaskView", terminal: Terminal) -> str:
    status = ink(task.status, "green" if task.status in _GOOD else "yellow", terminal)
    lines = [f"{task.task}  {task.agent}  {status}{because(task.status, task.reason)}\n"]
    lines.extend(f"  left out: {one_line(name)}\n" for name in task.left_out)
    lines.extend(f"  note: {one_line(notice)}\n" for notice in task.notices)
    lines = [wrap(line, terminal.columns) for line in lines]
    if task.answer:
        lines.append("\n" + visible(task.answer).strip("\n") + "\n")
    for draft in task.drafts:
        lines.extend(_draft(draft, terminal))
    waiting = [d.id for d in task.drafts if d.status == "waiting"]
    if waiting:
        lines.append(f"Next: onepen show {waiting[0]}\n")
    elif task.status in {"interrupted", "failed", "timed_out", "quarantined"}:
        lines.append(f"Next: onepen resume {task.task}\n")
    return "".join(lines)


def _draft(draft: "DraftView", terminal: Terminal) -> list[str]:
    place = f"clients/{draft.client}/{draft.target}" if draft.client else draft.target
    commit = f" as {draft.commit}" if draft.commit else ""
    lines = [f"  {draft.id}  {one_line(place)}  {draft.status}{commit}\n"]
    if draft.beside:
        others = " and ".join(other.id for other in draft.beside)
        goes = "goes" if len(draft.beside) == 1 else "go"
        lines.append(wrap(f"    beside {others}, which {goes} to the same target\n", terminal.columns))
    for finding in () if draft.status == "committed" else draft.findings:
        level = ink(finding.level, "red" if finding.level == "block" else "yellow", terminal)
        lines.append(wrap(f"    {level}: {one_line(finding.message)}\n", terminal.columns))
    return lines
