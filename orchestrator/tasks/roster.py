"""Who is at work in this process and what they do now: kept for those who watch, and for nothing else."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import anyio

from ...memory.ids import TaskId
from ..results import TaskStatus
from ..watched import LeftView, WorkersView, WorkerView
from .dossier import Dossier

_REMEMBERED = 50


@dataclass
class _Entry:
    seen: WorkerView
    cost: Callable[[], float | None] = field(default=lambda: 0.0)


class Roster:
    """One for the life of a process; what is said of a task that isn't in it is passed over."""

    def __init__(self) -> None:
        self._entries: dict[TaskId, _Entry] = {}
        self._left: deque[LeftView] = deque(maxlen=_REMEMBERED)
        self._number = 0
        self.changes = 0
        """How often anything changed."""
        self._stirred: anyio.Event | None = None

    @contextmanager
    def at_work(self, dossier: Dossier, since: str, where: Callable[[], tuple[TaskStatus, str]]) -> Iterator[None]:
        """The task is worked on inside; `where` says where it stands behind it, and why."""
        sheet = dossier.sheet
        seen = WorkerView(sheet.task, sheet.agent, dossier.space.client, 0, since, "")
        self._entries[sheet.task] = _Entry(seen)
        self._stir()
        try:
            yield
        finally:
            del self._entries[sheet.task]
            self._number += 1
            self._left.append(LeftView(self._number, sheet.task, sheet.agent, seen.client, *where()))
            self._stir()

    def begins(self, task: TaskId, attempt: int, since: str) -> None:
        """An attempt starts."""
        self._change(task, attempt=attempt, since=since)

    def says(self, task: TaskId, text: str) -> None:
        """A line for people was said of a task."""
        self._change(task, doing=text)

    def costs(self, task: TaskId, cost: Callable[[], float | None]) -> None:
        """`cost` says at any time what the attempt has cost so far."""
        if (entry := self._entries.get(task)) is not None:
            entry.cost = cost

    def view(self, *, waiting: int = 0) -> WorkersView:
        """Everybody as they are at this moment; `waiting` tasks have no place yet."""
        entries = sorted(self._entries.values(), key=lambda entry: entry.seen.since)
        return WorkersView(
            tuple(replace(entry.seen, cost_usd=entry.cost()) for entry in entries), waiting, tuple(self._left)
        )

    async def changed(self, since: int, seconds: float) -> None:
        """Wait until something is other than at the change `since`, and no longer than so long."""
        if self.changes != since:
            return
        if self._stirred is None or self._stirred.is_set():
            self._stirred = anyio.Event()
        with anyio.move_on_after(seconds):
            await self._stirred.wait()

    def _change(self, task: TaskId, **fields: object) -> None:
        if (entry := self._entries.get(task)) is not None:
            entry.seen = replace(entry.seen, **fields)  # type: ignore[arg-type]
            self._stir()

    def _stir(self) -> None:
        self.changes += 1
        if self._stirred is not None:
            self._stirred.set()
