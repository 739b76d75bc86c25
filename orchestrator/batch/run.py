"""One run of a batch: starts tasks as the plan says, as many at a time as it may, until nothing is left to start.

Nothing is decided here, and nothing is done to memory: `plan.py` says what comes next, `Hands` do it, and what came of
it goes into the run journal. Tasks are made when their turn comes, so a batch of ten thousand keeps few in memory.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

import anyio

from ..stop import StopSign
from .events import TaskMade, TaskOver
from .item import Item
from .journal import BatchJournal
from .outcome import DONE
from .plan import Bounds, Deliver, End, Moment, Start, Wait, next_step
from .state import BatchState

_BEAT_SECONDS = 0.5


class Hands(Protocol):
    """What carries out the tasks of a batch."""

    def task_id(self, item: Item, made: int) -> str:
        """The id of the task that is made for an item, when `made` were made for it before."""
        ...

    async def carry_out(self, item: Item, task: str, made: int) -> TaskOver:
        """Makes the task, or goes on with it, and sees it to where a person is needed.

        A status that is neither done nor failed says that it is to go on later.
        """
        ...

    def parked(self, task: str) -> bool:
        """Whether the task waits for a reply that is asked for in a Message Batch."""
        ...

    def short(self) -> str:
        """Which cap that all tasks share was reached, in words; "" for none."""
        ...

    def held(self) -> frozenset[str]:
        """The tasks whose next reply is asked for at a server: they can't go on before it has come."""
        ...

    async def deliver(self) -> None:
        """Sends what parked tasks ask, and waits until answers have come, or the person wants to stop."""
        ...


class Run:
    """Runs the tasks of one batch that are not over; `on_over` is told of each that is, `on_beat` now and then.

    `sample`: so many tasks, and no more.
    """

    def __init__(
        self,
        items: Sequence[Item],
        state: BatchState,
        journal: BatchJournal,
        hands: Hands,
        bounds: Bounds,
        stop: StopSign,
        *,
        sample: int | None = None,
        on_over: Callable[[TaskOver], None],
        on_beat: Callable[[], None],
    ) -> None:
        self._items = {item.key: item for item in items}
        self._state = state
        self._journal = journal
        self._hands = hands
        self._bounds = bounds
        self._stop = stop
        self._on_over = on_over
        self._on_beat = on_beat
        left = (*state.unfinished(), *state.new())
        self._queue = deque(left if sample is None else left[:sample])
        self._beyond = len(left) - len(self._queue)
        self._parked: list[str] = []
        self._sort()
        self._at_work = 0
        self._failed = 0
        self._unreached = 0
        self._cancelled = False
        self._changed = anyio.Event()

    def cancel(self) -> None:
        """Start nothing more; what runs is ended by the stop sign."""
        self._cancelled = True
        self._stir()

    @property
    def at_work(self) -> int:
        return self._at_work

    async def run(self) -> End:
        """Until nothing is left to start, or something keeps it from starting; raises what ends the pen."""
        with self._stop.heard_by(self._stir):
            try:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._beat)
                    end = await self._steps(group.start_soon)
                    group.cancel_scope.cancel()
            except BaseExceptionGroup as several:
                raise _first_of(several) from several
        return end

    async def _steps(self, start_soon: Callable[..., object]) -> End:
        while True:
            changed = self._changed
            match next_step(self._moment(), self._bounds):
                case Start():
                    key = self._queue.popleft()
                    self._at_work += 1
                    self._state.begins(key)
                    start_soon(self._one, key)
                case Wait():
                    await changed.wait()
                case Deliver():
                    await self._hands.deliver()
                    self._queue.extend(self._parked)
                    self._parked.clear()
                    self._sort()
                case End() as end:
                    return end

    def _sort(self) -> None:
        """Of tasks that could go on, those whose reply is still at a server go back to where they wait."""
        out = self._hands.held()
        waits = [key for key in self._queue if self._state.tasks[key].task in out]
        if waits:
            self._parked += waits
            self._queue = deque(key for key in self._queue if self._state.tasks[key].task not in out)

    def _moment(self) -> Moment:
        return Moment(
            left=len(self._queue),
            at_work=self._at_work,
            parked=len(self._parked),
            beyond=self._beyond,
            failed=self._failed,
            unreached=self._unreached,
            presses=self._stop.presses,
            cancelled=self._cancelled,
            short=self._hands.short(),
        )

    async def _one(self, key: str) -> None:
        """One task to where a person is needed, or to where it is kept from going on."""
        item, facts = self._items[key], self._state.tasks[key]
        task = facts.task or self._hands.task_id(item, facts.made)
        if not facts.task:
            self._take(TaskMade(key, task))
            self._state.begins(key)
        try:
            over = await self._hands.carry_out(item, task, facts.made)
            self._take(over)  # also where it is to go on later: what it has cost until now counts
            if over.kind is not None or over.status in DONE:
                self._failed += over.kind is not None
                self._unreached = self._unreached + 1 if over.kind == "overload" else 0
                self._on_over(over)
            elif self._hands.parked(task):
                self._parked.append(key)
        except BaseException:
            self._cancelled = True  # the pen is lost, or the process ends: nothing begins that would have to be undone
            raise
        finally:
            self._state.leaves(key)
            self._at_work -= 1
            self._stir()

    def _take(self, event: TaskMade | TaskOver) -> None:
        """Both are found out again where a power cut took them: neither waits for the disk."""
        entry = self._journal.append(event, sync=False)
        self._state.take(event, entry.at)

    async def _beat(self) -> None:
        while True:
            await anyio.sleep(_BEAT_SECONDS)
            self._on_beat()

    def _stir(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _first_of(several: BaseExceptionGroup[BaseException]) -> BaseException:
    first = several.exceptions[0]
    return _first_of(first) if isinstance(first, BaseExceptionGroup) else first
