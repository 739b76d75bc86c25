"""Where the commits of one process meet: those that wait at the same time are made durable with one sync.

Everything that writes runs in the event loop's thread. Whoever wants a commit puts the change into the queue; the first
who finds it untended lets the others go ahead who are ready at this moment, then commits for all of them and tells each
what came of theirs. While the disk is waited for nothing else runs, so what arrives meanwhile is the next group.

A commit that was asked for is not called off: who is cancelled meanwhile finds it by its key.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint

from ..memory.change import Change
from ..memory.errors import MemoryFault
from ..memory.history import Commit
from ..memory.problem import Problem

_MOST = 64
_TURNS = 3  # of the loop: a request that has arrived is read, understood, and then asks


T = TypeVar("T")


def at_once(work: Coroutine[object, None, T]) -> T:
    """What a piece of work comes to that waits for nothing, as with a pen that is shared with nobody."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise AssertionError("this work waits for others, and there is no loop to wait in")


@dataclass
class _Waiter:
    change: Change
    stirred: anyio.Event = field(default_factory=anyio.Event)
    came: "Told | None" = None


@dataclass(frozen=True)
class Told:
    """What came of one change, and what a person should know of the doing."""

    outcome: Commit | Exception
    problems: tuple[Problem, ...] = ()


class Committer:
    """The queue of a held pen; `commit_all` commits several changes and tells the outcome of each."""

    def __init__(
        self,
        commit_all: Callable[[Sequence[Change]], tuple[Sequence[Commit | Exception], tuple[Problem, ...]]],
        most: int = _MOST,
    ) -> None:
        self._commit_all = commit_all
        self._most = most
        self._queue: list[_Waiter] = []
        self._tended = False

    async def commit(self, change: Change) -> Told:
        """What came of a change, which shared its sync with those that waited at the same time."""
        waiter = _Waiter(change)
        self._queue.append(waiter)
        with anyio.CancelScope(shield=True):
            while waiter.came is None:
                if self._tended:
                    await waiter.stirred.wait()
                    waiter.stirred = anyio.Event()
                else:
                    await self._tend()
        assert waiter.came is not None
        return waiter.came

    async def _tend(self) -> None:
        """Commits one group; if more are waiting, the first of them tends to the next."""
        self._tended = True
        try:
            for _ in range(_TURNS):
                await cancel_shielded_checkpoint()
            group, self._queue = self._queue[: self._most], self._queue[self._most :]
            self._commit(group)
        finally:
            self._tended = False
            if self._queue:
                self._queue[0].stirred.set()

    def _commit(self, group: Sequence[_Waiter]) -> None:
        try:
            outcomes, problems = self._commit_all([waiter.change for waiter in group])
        except Exception as e:  # a bug: each of those who wait is told of it
            self._tell(group, [e for _ in group], ())
            raise
        self._tell(group, outcomes, problems)

    @staticmethod
    def _tell(group: Sequence[_Waiter], outcomes: Sequence[Commit | Exception], problems: tuple[Problem, ...]) -> None:
        for waiter, outcome in zip(group, outcomes, strict=True):
            waiter.came = Told(outcome, problems)
            waiter.stirred.set()


@dataclass(frozen=True)
class Lender:
    """Whose pen it is, where a scribe has it on loan."""

    broke: Callable[[MemoryFault], None]
    given_back: Callable[[], None]
    wrote: Callable[[], None]
    committer: Committer
