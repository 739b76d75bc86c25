"""Whether what lies in `batches/` can still be read: what `doctor` finds there, and whose tasks a batch holds.

A batch whose `batch.toml` or `tasks.jsonl` is damaged can't go on: nothing is guessed about what a person asked and
agreed to. Of its journals a line that a crash cut short is passed over, since nothing was built on it.
"""

import os
from collections.abc import Iterator

from ...memory.exam.legible import led_out, without_path
from ...memory.exam.records import is_record
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.links import LinkLeadsOut
from ...memory.problem import Problem
from ...memory.workspace import Workspace
from ..premises import own
from .folder import BATCHES, LOST, TASKS, BatchFolder, TasksUnreadable, batch_folder, batch_ids, begun_ids
from .journal import UNREADABLE, parse
from .preparing import load
from .spec import SPEC, SpecUnreadable

_JOURNAL, _SENT = "run.jsonl", "message-batches.jsonl"
_MOST = 1 << 30
_MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "|||||||")


def batch_problems(workspace: Workspace) -> Iterator[Problem]:
    """What is wrong with the batches of a workspace."""
    try:
        own(workspace.house, BATCHES)
    except LinkLeadsOut as e:
        yield led_out(e)
        return
    for batch in begun_ids(workspace.root):
        try:
            folder = batch_folder(workspace.root, batch)
            for name in (SPEC, TASKS, _JOURNAL, _SENT, "inputs", "context", "replies"):
                own(workspace.house, f"{BATCHES}/{batch}/{name}")
        except LinkLeadsOut as e:
            yield led_out(e)
        else:
            yield from _batch(folder)


def batches_of(workspace: Workspace, client: str) -> tuple[str, ...]:
    """The batches that hold tasks of a client; one that can't be read is passed over."""
    found = []
    for batch in batch_ids(workspace.root):
        try:
            spec, items = load(batch_folder(workspace.root, batch))
        except (SpecUnreadable, TasksUnreadable, LinkLeadsOut):
            continue
        if spec.client == client or any(item.client == client for item in items):
            found.append(str(batch))
    return tuple(found)


def _batch(folder: BatchFolder) -> Iterator[Problem]:
    here = f"{BATCHES}/{folder.batch}"
    if not os.path.lexists(folder.spec_file) and not os.path.lexists(folder.run_journal):
        message = "a batch that was never begun: its command ended while making it; it can be deleted"
        yield Problem(here, 0, "batch_unfinished", "info", message)
        return
    try:
        load(folder)
    except (SpecUnreadable, TasksUnreadable) as e:
        name = SPEC if isinstance(e, SpecUnreadable) else TASKS
        lost = f"so the batch can't go on: {LOST}"
        yield Problem(f"{here}/{name}", e.line, "batch_unreadable", "error", f"{e.reason}, {lost}")
    for name in (_JOURNAL, _SENT):
        try:
            text = read_beneath(folder.path, name, max_bytes=_MOST).decode(errors="replace")
        except (UnsafeFile, OSError) as e:
            if not (isinstance(e, UnsafeFile) and e.kind == "missing"):
                reason = without_path(e) if isinstance(e, UnsafeFile) else f"can't be read: {e.strerror}"
                yield Problem(f"{here}/{name}", 0, UNREADABLE, "error", reason)
            continue
        yield from parse(text, f"{here}/{name}")[1] if name == _JOURNAL else _sent(text, f"{here}/{name}")


def _sent(text: str, path: str) -> Iterator[Problem]:
    """Lines that can't be read of what was sent in Message Batches; only their form is judged."""
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if not line.strip() or is_record(line):
            continue
        if line.startswith(_MARKERS):
            words = "a merge left its conflict markers here: remove the lines of markers and keep those of both sides"
            yield Problem(path, number, "conflict_markers", "error", words)
        elif line.startswith('{"v"') and not line.rstrip().endswith("}"):
            if number < len(lines):
                yield Problem(path, number, UNREADABLE, "warning", "a line that a crash cut short")
        else:
            message = "no line of what was sent: it may tell of requests that are at a server, so nothing more is sent"
            yield Problem(path, number, UNREADABLE, "error", message)
