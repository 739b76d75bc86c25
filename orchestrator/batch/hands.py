"""How one task of a batch is made, found again and carried out: as any other task is, with the pen held."""

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...memory.errors import OnepenError
from ...memory.ids import TaskId
from ...memory.trash import discard
from ...staging.characters import visible
from ...staging.folder import TaskFolder, TaskSheet
from ...subagents.model import Usage
from ..commit import PenLost, RecoveryNeeded
from ..errors import OrchestratorFault
from ..premises import own
from ..stop import StopSign
from ..tasks.attempt import WAITS
from ..tasks.desk import Desk
from ..tasks.dossier import Dossier, open_dossier
from ..tasks.driver import Driver
from ..tasks.events import Resumed
from ..tasks.plan import STOPPED, Review, due
from ..tasks.rebuild import rebuild
from ..tasks.recover import lost
from ..tasks.settle import Settled
from ..tasks.taskstate import TaskState
from ..tasks.workshop import Workshop
from ..usage import Booking
from .events import TaskOver
from .item import Item
from .outcome import OVER, place_of

if TYPE_CHECKING:
    from ..outbox.outbox import Outbox

_LETTERS = "abcdefghjkmnpqrstvwxyz"
_SIGNS = "0123456789" + _LETTERS
_LENGTH = 9


class TaskTaken(OrchestratorFault):
    """Raised when the folder that a batch has for a task holds something else; nothing is written there."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}, so the batch's task can't be made there", hint="onepen doctor")


class BatchHands:
    """Carries out the tasks of one batch; `sheet_of` makes the sheet of an item's task, `inputs` go to each of them.

    `outbox` None: the models answer at once. `space_of` finds the space of a client.
    """

    def __init__(
        self,
        batch: str,
        desk: Desk,
        workshop: Workshop,
        driver: Driver,
        stop: StopSign,
        sheet_of: Callable[[Item, TaskId], TaskSheet],
        inputs: tuple[Path, ...],
        outbox: "Outbox | None",
        say: Callable[[str], None],
    ) -> None:
        self._batch = batch
        self._desk = desk
        self._workshop = workshop
        self._driver = driver
        self._stop = stop
        self._sheet_of = sheet_of
        self._inputs = inputs
        self._outbox = outbox
        self._say = say
        self._settled = Settled(desk.view)
        self._parked: set[str] = set()
        self._short = ""

    def task_id(self, item: Item, made: int) -> str:
        """The same item of the same batch has the same task, also where nobody remembers that it was made."""
        digest = int.from_bytes(hashlib.sha256(f"{self._batch} {item.key} {made}".encode()).digest(), "big")
        digest, first = divmod(digest, len(_LETTERS))
        signs = [_LETTERS[first]]
        for _ in range(_LENGTH - 1):
            digest, sign = divmod(digest, len(_SIGNS))
            signs.append(_SIGNS[sign])
        return "".join(signs)

    def parked(self, task: str) -> bool:
        return task in self._parked

    def short(self) -> str:
        return self._short

    def held(self) -> frozenset[str]:
        return frozenset() if self._outbox is None else self._outbox.held

    async def deliver(self) -> None:
        if self._outbox is not None:
            await self._outbox.deliver(self._stop, self._say)

    async def carry_out(self, item: Item, task: str, made: int) -> TaskOver:
        """Raises RecoveryNeeded or PenLost; whatever else goes wrong is this task's failure."""
        self._parked.discard(task)
        try:
            dossier = await self._found(item, TaskId(task))
            if dossier.state.phase in STOPPED:
                dossier = dossier.happened(Resumed())
            (dossier,) = await self._driver.run((dossier,))
            self._driver.over(dossier)
        except (PenLost, RecoveryNeeded):
            raise
        except (OnepenError, OSError) as e:
            words = e.strerror or str(e) if isinstance(e, OSError) else e.message
            return replace(self._spent(item, task), reason=visible(words))
        return self._over(item, dossier)

    async def _found(self, item: Item, task: TaskId) -> Dossier:
        """The task as it can go on, made where it isn't there yet."""
        space = self._desk.view.workspace.space(item.client)
        folder = TaskFolder(own(space, f"staging/{task}"))
        if not (folder.sheet_file.is_file() and folder.run_journal.is_file()) and not folder.attempts():
            # Its journal is the last thing that is made of a task: what lies there without one was cut short.
            if os.path.lexists(folder.path):
                discard(self._desk.view.workspace.root, folder.path)
            dossier, _ = self._desk.make(space, self._sheet_of(item, task), self._inputs)
            await self._desk.keep((dossier,))
            return dossier
        dossier = open_dossier(space, task, self._desk.clock)
        if dossier.sheet.key != item.key:
            raise TaskTaken(dossier.path(""), "it is another task's")
        if task in self._workshop.at_work:
            return dossier
        dossier, _ = rebuild(self._desk.view, dossier)
        return lost(self._desk, self._settled.journal(dossier))

    def _over(self, item: Item, dossier: Dossier) -> TaskOver:
        """What the task came to; `status` is no end where it is to go on later."""
        state = dossier.state
        place, kind = place_of(state)
        if place not in OVER:
            self._note(dossier)
        reason = state.reason or "; ".join(dict.fromkeys(d.reason for d in state.drafts if d.reason))
        return replace(
            self._spent(item, dossier.task, dossier.sheet.created),
            status=place if kind is None else state.status,
            reason=visible(reason),
            kind=kind,
            seconds=state.seconds,
            attempts=state.attempt,
            drafts=tuple(d.id for d in state.drafts),
            commits=tuple(d.commit for d in state.drafts if d.commit is not None),
        )

    def _spent(self, item: Item, task: str, since: str = "") -> TaskOver:
        """A task that failed, with all that it has cost as the books tell it."""
        booked: Sequence[Booking] = ()
        with suppress(OnepenError, OSError):
            booked = self._workshop.cashbook(self._desk.view.workspace.space(item.client)).of_task(task, since)
        cut = [one for one in booked if one.role == "cut" or _given_up(one)]
        return TaskOver(
            key=item.key,
            task=task,
            status="failed",
            kind="bug",
            cost_usd=None
            if any(one.cost_usd is None for one in booked)
            else sum(one.cost_usd or 0.0 for one in booked),
            input=sum(one.usage.input for one in booked),
            cache_write=sum(one.usage.cache_write for one in booked),
            cache_read=sum(one.usage.cache_read for one in booked),
            output=sum(one.usage.output for one in booked),
            cut=len(cut),
            cut_usd=sum(one.cost_usd or 0.0 for one in cut),
        )

    def _note(self, dossier: Dossier) -> None:
        """Why a task is to go on later."""
        state = dossier.state
        if state.stopped_by == "shared" or self._driver.short:
            self._short = self._driver.short or state.reason
        elif self._outbox is not None and not self._stop.presses and _waits(state):
            self._parked.add(dossier.task)


def _given_up(booking: Booking) -> bool:
    """Whether nobody knows what a call has used, and its most is booked."""
    return bool(booking.lost) and booking.usage == Usage() and bool(booking.cost_usd)


def _waits(state: TaskState) -> bool:
    """Whether a worker's reply or a reviewer's is asked for in a Message Batch."""
    return state.reason == WAITS or any(isinstance(one, Review) for one in due(state))
