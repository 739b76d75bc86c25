"""What all work of one process shares, however many people ask: workers, places to run, the gateway, what runs now."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

import anyio

from ...memory.follow import Followed
from ...memory.ids import TaskId
from ...memory.workspace import Space
from ...subagents.process.descriptors import AT_ONCE
from ..cashbook import Cashbook
from ..gateway.account import Allowance
from ..watched import WorkersView
from .atwork import AtWork
from .roster import Roster
from .startgate import StartGate

if TYPE_CHECKING:
    from ...subagents.pool import Pool
    from ...subagents.sandbox.level import Level
    from ..batch.running import RunningBatch
    from ..chat.said import Heard
    from ..gateway.gateway import Gateway

_APART_SECONDS = 0.2
_BEAT_SECONDS = 0.8


@dataclass
class Workshop:
    """One for the life of a process. `slots` says how many attempts run at the same time; the others wait.

    `at_work` holds the tasks that a driver is seeing through.

    `level` says how workers are confined; None where they are not processes.

    `talking` holds the chats that are answering a message, `talked` when each space was talked in last, `histories`
    what is known of each space's history, `cashbooks` what is known of its bookings, `heard` which exchanges it had,
    and `renewing` the spaces whose synthesis is being renewed. `batches` are those that are run, and `allowances` what
    each of them may cost.
    """

    pool: "Pool"
    gateway: "Gateway"
    slots: anyio.CapacityLimiter = field(default_factory=lambda: anyio.CapacityLimiter(AT_ONCE))
    gate: StartGate = field(default_factory=StartGate)
    roster: Roster = field(default_factory=Roster)
    at_work: dict[TaskId, AtWork] = field(default_factory=dict)
    level: "Level | None" = None
    talking: set[str] = field(default_factory=set)
    talked: dict[str, datetime] = field(default_factory=dict)
    heard: "dict[str, Heard]" = field(default_factory=dict)
    renewing: set[str] = field(default_factory=set)
    histories: dict[str, Followed] = field(default_factory=dict)
    cashbooks: dict[str, Cashbook] = field(default_factory=dict)
    batches: "dict[str, RunningBatch]" = field(default_factory=dict)
    allowances: dict[str, Allowance] = field(default_factory=dict)

    def cashbook(self, space: Space) -> Cashbook:
        return self.cashbooks.setdefault(space.prefix, Cashbook(space))

    async def watch(self) -> AsyncIterator[WorkersView]:
        """Who is at work: at once, then whenever that changes and at least each second, for ever."""
        while True:
            changes, working = self.roster.changes, len(self.roster.view().workers)
            yield self.roster.view(waiting=len(self.at_work) - working)
            await anyio.sleep(_APART_SECONDS)
            await self.roster.changed(changes, _BEAT_SECONDS)
