"""What the main agent's tools reach of the house: memory as it is, the pen for a moment, other hands."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ...memory.clock import Clock
from ...memory.follow import Followed
from ...memory.history import Commit
from ...memory.view import View
from ...memory.workspace import Space
from ..errors import NoSuchDraft
from ..requests import DelegateRequest
from ..results import DelegateResult, DraftsResult, DraftView
from ..tasks.desk import Desk
from .said import Heard

_LATELY = timedelta(hours=1)
OnMade = Callable[[Sequence[str]], None]
"""Told the ids of tasks right after they lie in staging/."""


@dataclass(frozen=True)
class House:
    """The seams of one space's chats.

    `talked` says when each space was talked in last, by its prefix, `heard` knows which exchanges there are, and
    `renewing` holds the spaces whose synthesis is being renewed.
    """

    view: View
    space: Space
    desk: Desk
    clock: Clock
    history: Followed
    new_task: Callable[[], str]
    drafts: Callable[[], DraftsResult]
    look: Callable[[str], DraftView]
    delegate: Callable[[DelegateRequest, OnMade], Awaitable[DelegateResult]]
    resume: Callable[[str], Awaitable[DelegateResult]]
    talked: dict[str, datetime] = field(default_factory=dict)
    heard: Heard = field(default_factory=Heard)
    renewing: set[str] = field(default_factory=set)

    def lately(self) -> tuple[int, float]:
        """How many spaces talked within the last hour, now that this one does, and how many seconds ago one last did.

        0 seconds: none did, as far as this process knows.
        """
        now = self.clock.now()
        pause = min(((now - moment).total_seconds() for moment in self.talked.values()), default=0.0)
        self.talked[self.space.prefix] = now
        return sum(1 for moment in self.talked.values() if now - moment < _LATELY), max(0.0, pause)

    def commits(self) -> tuple[Commit, ...]:
        """The history of the space, by id."""
        return self.history.commits(self.view)

    def draft(self, prefix: str) -> DraftView:
        """A draft of this space with its diff; raises NoSuchDraft or AmbiguousId, also for one of another space."""
        view = self.look(prefix)
        if view.client != self.space.client:
            raise NoSuchDraft(prefix, self.space.client)
        return view
