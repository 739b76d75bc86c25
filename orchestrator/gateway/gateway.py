"""The one way by which models are called."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ...subagents.model import Listener, ModelReply, ModelRequest, OnLost
from .account import Account

if TYPE_CHECKING:
    from ..models import Served

Waiting = Callable[[str, float], AbstractContextManager[None]]
"""Entered before a call that has to wait, with the reason and the seconds; the worker's clock stands still inside."""


class Gateway:
    """Makes model calls for everybody in this process."""

    async def reply(
        self,
        served: "Served",
        request: ModelRequest,
        account: Account,
        *,
        on_lost: OnLost,
        waiting: Waiting,
        listener: Listener | None = None,
    ) -> ModelReply:
        """The model's whole reply, with its cost; raises OverBudget or CallFailed."""
        return await served.model.reply(request, listener)
