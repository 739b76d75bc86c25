"""What stands behind a worker's requests: the seam between the pool and the orchestrator."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from .errors import SubagentFault
from .messages import Message
from .model import ModelReply

Paused = Callable[[], AbstractContextManager[None]]
"""Entered while a worker has to wait for what is not its doing (a server's limit): its time stands still inside."""


class RequestRefused(SubagentFault):
    """Raised by a host that won't answer a worker; the worker is told, and its attempt has failed."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"request refused: {reason}")
        self.reason = reason


class Host(Protocol):
    """Answers one worker. A call is cancelled when its worker is gone; any other error than a refusal ends the run."""

    async def model(self, delta: tuple[Message, ...], prefix_sha: str, paused: Paused) -> ModelReply:
        """The model's reply to the conversation with `delta` added; raises RequestRefused.

        `paused` stops the worker's clock for as long as the call is not even made.
        """
        ...

    async def tool(self, name: str, input: Mapping[str, object]) -> tuple[str, bool]:  # noqa: A002
        """What the tool says, and whether that is an error; raises RequestRefused."""
        ...

    def progress(self, text: str) -> None:
        """The worker says what it is doing."""
        ...
