"""A task as it lies in staging/: its sheet, its journal replayed, its folder; and how a prefix of its id finds it.

A journal can be damaged by hand or by a merge: emptied, cut, full of conflict markers. Then what it still says is
believed, `damage` says what it can't tell, and `rebuild.py` goes on from the task's folder. Nothing is passed over in
silence.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import get_args

from ...memory.clock import Clock
from ...memory.errors import MemoryFault
from ...memory.exam.legible import led_out
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.ids import BadId, TaskId
from ...memory.links import LinkLeadsOut
from ...memory.problem import Problem
from ...memory.workspace import Space, Workspace
from ...staging.folder import SheetUnreadable, TaskFolder, TaskSheet
from ..errors import AmbiguousId, NoSuchDraft, NoSuchTask
from ..premises import Lines, own
from .events import DraftEvent, Event, Rebuilt, TaskAdded
from .journal import Entry, Journal, Reading, all_committed
from .plan import DraftState, TaskState, replay, step

_WRITTEN = ("task.md", "run.jsonl", "review.md", "report.md", "inputs")

_MOST_JOURNAL = 16 << 20

DAMAGED = "journal_damaged"
NOT_OPENED = (SheetUnreadable, UnsafeFile, LinkLeadsOut)
"""What `open_dossier` raises for one task, and what keeps no other task from going on."""
OPEN = frozenset({"waiting", "approved", "conflict"})
DRAFT_EVENTS = get_args(DraftEvent)


@dataclass(frozen=True)
class Scope:
    """Where an id is looked up: in the space of client `only` and nowhere else; without one, everywhere.

    Everywhere, an id that is whole is itself; of ids that begin so, those of client `first` go before.
    """

    only: str | None = None
    first: str | None = None


EVERYWHERE = Scope()


@dataclass(frozen=True)
class Dossier:
    """One task of a space, as its files tell it; `damage` is why its journal may know less than its folder.

    Several dossiers of one task may be in use at a time (its driver's, that of a command): the journal is the truth
    that they share, and `size` is how much of it this one knows.
    """

    space: Space
    sheet: TaskSheet
    folder: TaskFolder
    state: TaskState
    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...]
    journal: Journal
    damage: tuple[Problem, ...] = ()
    size: int = 0

    @property
    def task(self) -> TaskId:
        return self.sheet.task

    def happened(self, event: Event) -> "Dossier":
        """Journals an event, synced when this returns, and gives the dossier after it.

        What others have added to the journal since is in it, too.
        """
        now = self.refreshed()
        size = now.size + now.journal.append(event)
        return replace(now.knowing(event), size=size).refreshed()

    async def happened_aside(self, event: Event, first: Lines = ()) -> "Dossier":
        """The same, and others go on while it is waited for the disk; what they add meanwhile is in it, too."""
        now = self.refreshed()
        size = now.size + await now.journal.append_aside(event, first)
        return replace(now.knowing(event), size=size).refreshed()

    def refreshed(self) -> "Dossier":
        """This dossier with what others have added to the journal since; itself when nothing was."""
        if not self.journal.grown(self.size):
            return self
        reading = self.journal.read()
        state = replay(_events(reading, self.sheet))
        if state.attempt < self.state.attempt:  # not this journal any more: what is known stays, `rebuild` comes later
            return replace(self, size=reading.size)
        return replace(self, state=state, entries=reading.entries, problems=reading.problems, size=reading.size)

    def knowing(self, event: Event) -> "Dossier":
        """The dossier as it will be after an event that is not journalled yet."""
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
    """The task's dossier; raises SheetUnreadable or UnsafeFile when its task.md is none, LinkLeadsOut.

    A task whose journal was never begun (its orchestrator died while making it) begins with its sheet.
    """
    folder = TaskFolder(own(space, f"staging/{task}"))
    for name in _WRITTEN:
        own(space, f"staging/{task}/{name}")
    highest = folder.highest()  # asked first: an attempt that starts meanwhile is journalled before it has a folder
    sheet = folder.sheet()
    if sheet.task != task or sheet.client != space.client:
        raise SheetUnreadable(f"it belongs to task {sheet.task} of {sheet.client or 'the house'}, not here")
    journal = Journal(folder.run_journal, clock, space.path(f"staging/{task}/run.jsonl"))
    reading = journal.read()
    events = _events(reading, sheet)
    begun, state = events == reading.events, replay(events)
    told = any(isinstance(event, Rebuilt) for event in reading.events)
    lost = bool(reading.events) and not begun and not told
    damage = tuple(_damage(reading, journal.shown, lost=lost, gap=_gap(events, state, highest)))
    entries, problems, size = reading.entries, reading.problems, reading.size
    return Dossier(space, sheet, folder, state, entries, problems, journal, damage, size)


def added(sheet: TaskSheet) -> TaskAdded:
    """The event with which a task's journal begins."""
    return TaskAdded(sheet.task, sheet.agent, sheet.answer, sheet.budget_usd, sheet.key)


def _events(reading: Reading, sheet: TaskSheet) -> tuple[Event, ...]:
    """The events of a journal; one that was never begun begins with the task's sheet."""
    begun = isinstance(next(iter(reading.events), None), TaskAdded)
    return reading.events if begun else (added(sheet), *reading.events)


def _damage(reading: Reading, path: str, *, lost: bool, gap: str) -> Iterator[Problem]:
    """What a journal can't tell any more: its unreadable lines, else what is missing."""
    errors = tuple(problem for problem in reading.problems if problem.level == "error")
    yield from errors
    if lost:
        yield Problem(path, 1, DAMAGED, "error", "the line that begins a task's journal is missing")
    if gap and not errors:
        yield Problem(path, 0, DAMAGED, "error", gap)


def _gap(events: Iterable[Event], state: TaskState, highest: int) -> str:
    """What shows that lines are missing; "" when nothing does."""
    known = TaskState()
    unknown = ""
    for event in events:
        known = step(known, event)[0]
        if isinstance(event, Rebuilt):
            unknown = ""
        elif isinstance(event, DRAFT_EVENTS) and known.draft(event.draft) is None:
            unknown = event.draft
    if highest > state.attempt:
        return f"the folder of attempt {highest} is there, but no line tells of that attempt"
    return f"a line tells of draft {unknown}, but none tells where it came from" if unknown else ""


def place_attempt(dossier: Dossier, attempt: int) -> None:
    """Sees to it that nothing of an attempt that is to begin is a link already; raises LinkLeadsOut."""
    here = f"staging/{dossier.task}/{attempt}"
    if os.path.lexists(own(dossier.space, here)):
        for name in ("drafts", "work", "transcript.jsonl", "worker.log"):
            own(dossier.space, f"{here}/{name}")


def task_ids(space: Space) -> tuple[TaskId, ...]:
    """The ids of all tasks of a space, sorted; what has no id for a name is passed over.

    A link is named, too: who opens it is told that it is one.
    """
    found: list[TaskId] = []
    try:
        with os.scandir(own(space, "staging")) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False) or entry.is_symlink():
                        found.append(TaskId(entry.name))
                except BadId:
                    continue
    except (FileNotFoundError, NotADirectoryError, PermissionError, LinkLeadsOut):
        return ()
    return tuple(sorted(found))


def dossiers(spaces: Iterable[Space], clock: Clock, *, undecided: bool = False) -> Iterator[Dossier]:
    """Every task that can be read, oldest first within a space; what can't be read is told by `unreadable`.

    With `undecided` those are passed over whose drafts are all in memory: after a night of thousands most are.
    """
    for space in spaces:
        found: list[Dossier] = []
        for task in task_ids(space):
            if undecided and _is_in_memory(space, task):
                continue
            try:
                found.append(open_dossier(space, task, clock))
            except NOT_OPENED:
                continue
        yield from sorted(found, key=lambda d: (d.sheet.created, d.sheet.row, d.task))


def _is_in_memory(space: Space, task: TaskId) -> bool:
    try:
        return all_committed(read_beneath(space.staging(task), "run.jsonl", max_bytes=_MOST_JOURNAL))
    except (UnsafeFile, OSError):
        return False


def unreadable(spaces: Iterable[Space], clock: Clock, *, undecided: bool = False) -> Iterator[Problem]:
    """What is wrong in staging/: sheets and journals that can't be read, and undecided drafts whose file is gone.

    `undecided` is as in `dossiers`.
    """
    for space in spaces:
        try:
            own(space, "staging")
        except LinkLeadsOut as e:
            yield led_out(e)
        for task in task_ids(space):
            if undecided and _is_in_memory(space, task):
                continue
            try:
                dossier = open_dossier(space, task, clock)
            except LinkLeadsOut as e:
                yield led_out(e)
            except (SheetUnreadable, UnsafeFile) as e:
                yield _no_sheet(space, task, e)
            else:
                yield from (p for p in dossier.problems if p.level != "error")
                for problem in dossier.damage:
                    lie = ", so drafts in the task's folder may be unknown" if dossier.folder.attempts() else ""
                    yield replace(problem, message=f"{problem.message}{lie}; next: onepen resume {task}")
                yield from _gone(dossier)


def told(spaces: Iterable[Space], clock: Clock) -> tuple[str, ...]:
    """What a person has to know who asks what waits for them: drafts that can't be told, because of what is wrong."""
    wrong = (p for p in unreadable(spaces, clock, undecided=True) if p.level == "error" or p.kind == "draft_missing")
    return tuple(map(str, wrong))


def _no_sheet(space: Space, task: TaskId, error: SheetUnreadable | UnsafeFile) -> Problem:
    path = space.path(f"staging/{task}/task.md")
    missing = isinstance(error, UnsafeFile) and error.kind == "missing"
    attempts = TaskFolder(space.staging(task)).attempts()
    if missing and not attempts:
        text = "a task that was never begun: its orchestrator ended while making it; it can be deleted"
        return Problem(space.path(f"staging/{task}"), 0, "task_unfinished", "info", text)
    reason = "it is missing" if missing else error.message
    if attempts:
        folders = ", ".join(f"{n}/drafts/" for n in attempts)
        return Problem(path, 0, "task_unreadable", "error", f"{reason}; what lies in {folders} belongs to no task now")
    return Problem(path, 0, "task_unreadable", "warning", reason)


def _gone(dossier: Dossier) -> Iterator[Problem]:
    """Drafts that wait for somebody and whose file is not there any more."""
    for draft in dossier.state.drafts:
        path = dossier.folder.drafts(draft.attempt) / draft.facts.name
        if draft.status in OPEN and not draft.facts.blocked and not os.path.lexists(path):
            text = f"draft {draft.id} is {draft.status}, but its file is gone; next: onepen reject {draft.id} -m REASON"
            yield Problem(dossier.draft_path(draft), 0, "draft_missing", "warning", text)


def find_task(workspace: Workspace, prefix: str, clock: Clock, scope: Scope = EVERYWHERE) -> Dossier:
    """The task of an id or a prefix of one; raises NoSuchTask, AmbiguousId or NoSuchClient."""
    spaces = workspace.spaces() if scope.only is None else (workspace.space(scope.only),)
    known = [(space, task) for space in spaces for task in task_ids(space)]
    exact = [pair for pair in known if pair[1] == prefix]
    found = exact or [pair for pair in known if prefix and pair[1].startswith(prefix)]
    found = [pair for pair in found if scope.first is not None and pair[0].client == scope.first] or found
    if not found:
        raise NoSuchTask(prefix, scope.only)
    if len(found) > 1:
        raise AmbiguousId("task", prefix, tuple(task for _, task in found))
    space, task = found[0]
    try:
        return open_dossier(space, task, clock)
    except UnsafeFile as e:
        if e.kind == "missing":
            raise NoSuchTask(prefix, scope.only) from e
        raise


def find_draft(
    workspace: Workspace, prefix: str, clock: Clock, scope: Scope = EVERYWHERE
) -> tuple[Dossier, DraftState]:
    """The draft of an id `<task>-<k>`, whose task may be cut short; raises NoSuchDraft, AmbiguousId or NoSuchClient.

    A task's id alone means its only draft, or the only one that is undecided.
    """
    head, dash, number = prefix.rpartition("-")
    if not dash or not number.isdigit():
        head, number = prefix, ""
    try:
        dossier = find_task(workspace, head, clock, scope)
    except NoSuchTask:
        raise NoSuchDraft(prefix, scope.only) from None
    drafts = dossier.state.drafts
    wanted = [d for d in drafts if not number or d.id == f"{dossier.task}-{number}"]
    if not wanted:
        raise NoSuchDraft(prefix, scope.only)
    if len(wanted) > 1:
        undecided = [d for d in wanted if d.status in OPEN]
        wanted = undecided if len(undecided) == 1 else wanted
    if len(wanted) > 1:
        raise AmbiguousId("draft", prefix, tuple(d.id for d in wanted))
    return dossier, wanted[0]
