"""A task as it lies in staging/: its sheet, its journal replayed, its folder; and how a prefix of its id finds it."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..memory.clock import Clock
from ..memory.errors import MemoryFault
from ..memory.guard import UnsafeFile
from ..memory.ids import BadId, TaskId
from ..memory.problem import Problem
from ..memory.workspace import Space, Workspace
from ..staging.folder import SheetUnreadable, TaskFolder, TaskSheet
from .errors import AmbiguousId, NoSuchDraft, NoSuchTask
from .events import Event, TaskAdded
from .journal import Entry, Journal
from .plan import DraftState, TaskState, replay, step


@dataclass(frozen=True)
class Dossier:
    """One task of a space, as its files tell it now."""

    space: Space
    sheet: TaskSheet
    folder: TaskFolder
    state: TaskState
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    journal: Journal

    @property
    def task(self) -> TaskId:
        return self.sheet.task

    def happened(self, event: Event) -> "Dossier":
        """Journals an event, synced when this returns, and gives the dossier after it."""
        self.journal.append(event)
        return replace(self, state=step(self.state, event)[0])

    def happened_already(self, event: Event, commit: str) -> tuple["Dossier", tuple[str, ...]]:
        """The same for what is in memory already as `commit`: a journal that can't be written is told, not raised.

        The next command on this task finds the commit by its key and journals it then.
        """
        try:
            return self.happened(event), ()
        except (OSError, MemoryFault) as e:
            reason = f"{e.strerror or e}" if isinstance(e, OSError) else e.message
            told = f"committed as {commit}, but its journal {self.path('run.jsonl')} could not be written: {reason}"
            after = replace(self, state=step(self.state, event)[0])
            return after, (f"{told}; the next command on {self.task} notes it",)

    def path(self, name: str) -> str:
        """The workspace path of something in the task's folder."""
        return self.space.path(f"staging/{self.task}/{name}")

    def draft_path(self, draft: DraftState) -> str:
        """The workspace path of a draft's file."""
        return self.path(f"{draft.attempt}/drafts/{draft.facts.name}")


def open_dossier(space: Space, task: TaskId, clock: Clock) -> Dossier:
    """The task's dossier; raises SheetUnreadable or UnsafeFile when its task.md is none.

    A task whose journal was never begun (its orchestrator died while making it) begins with its sheet.
    """
    folder = TaskFolder(space.staging(task))
    sheet = folder.sheet()
    if sheet.task != task or sheet.client != space.client:
        raise SheetUnreadable(f"it belongs to task {sheet.task} of {sheet.client or 'the house'}, not here")
    journal = Journal(folder.run_journal, clock, space.path(f"staging/{task}/run.jsonl"))
    reading = journal.read()
    state = replay(reading.events or (TaskAdded(task, sheet.agent, sheet.answer),))
    return Dossier(space, sheet, folder, state, reading.entries, reading.problems, journal)


def task_ids(space: Space) -> tuple[TaskId, ...]:
    """The ids of all tasks of a space, sorted; folders whose name is no id are passed over."""
    found: list[TaskId] = []
    try:
        with os.scandir(space.folder / "staging") as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False):
                        found.append(TaskId(entry.name))
                except BadId:
                    continue
    except (FileNotFoundError, NotADirectoryError):
        return ()
    return tuple(sorted(found))


def dossiers(spaces: Iterable[Space], clock: Clock) -> Iterator[Dossier]:
    """Every task that can be read, oldest first within a space; what can't be read is told by `unreadable`."""
    for space in spaces:
        found: list[Dossier] = []
        for task in task_ids(space):
            try:
                found.append(open_dossier(space, task, clock))
            except (SheetUnreadable, UnsafeFile):
                continue
        yield from sorted(found, key=lambda d: (d.sheet.created, d.task))


def unreadable(spaces: Iterable[Space], clock: Clock) -> Iterator[Problem]:
    """What is wrong in staging/: sheets and journals that can't be read."""
    for space in spaces:
        for task in task_ids(space):
            path = space.path(f"staging/{task}/task.md")
            try:
                yield from open_dossier(space, task, clock).problems
            except SheetUnreadable as e:
                yield Problem(path, 0, "task_unreadable", "warning", e.message)
            except UnsafeFile as e:
                if e.kind != "missing":
                    yield Problem(path, 0, "task_unreadable", "warning", e.message)
                else:
                    text = "a task that was never begun: its orchestrator ended while making it; it can be deleted"
                    yield Problem(space.path(f"staging/{task}"), 0, "task_unfinished", "info", text)


def find_task(workspace: Workspace, prefix: str, clock: Clock) -> Dossier:
    """The task of an id or a prefix of one, in whichever space; raises NoSuchTask or AmbiguousId."""
    known = [(space, task) for space in workspace.spaces() for task in task_ids(space)]
    exact = [pair for pair in known if pair[1] == prefix]
    found = exact or [pair for pair in known if prefix and pair[1].startswith(prefix)]
    if not found:
        raise NoSuchTask(prefix)
    if len(found) > 1:
        raise AmbiguousId("task", prefix, tuple(task for _, task in found))
    space, task = found[0]
    try:
        return open_dossier(space, task, clock)
    except UnsafeFile as e:
        if e.kind == "missing":
            raise NoSuchTask(prefix) from e
        raise


def find_draft(workspace: Workspace, prefix: str, clock: Clock) -> tuple[Dossier, DraftState]:
    """The draft of an id `<task>-<k>`, whose task may be cut short; raises NoSuchDraft or AmbiguousId."""
    head, dash, number = prefix.rpartition("-")
    if not dash or not number.isdigit():
        head, number = prefix, ""
    try:
        dossier = find_task(workspace, head, clock)
    except NoSuchTask:
        raise NoSuchDraft(prefix) from None
    drafts = dossier.state.drafts
    wanted = [d for d in drafts if not number or d.id == f"{dossier.task}-{number}"]
    if not wanted:
        raise NoSuchDraft(prefix)
    if len(wanted) > 1:
        raise AmbiguousId("draft", prefix, tuple(d.id for d in wanted))
    return dossier, wanted[0]
