"""What one worker asks of the orchestrator during its attempt: replies of the model, and what was found."""

from collections.abc import Mapping

import anyio
import anyio.to_thread

from ...memory.fence import Fences
from ...subagents.host import Paused, RequestRefused
from ...subagents.messages import Message
from ...subagents.model import ModelReply
from .conversation import Conversation
from .lookup import Lookup
from .stored import Asked, asked_for
from .waiting import SayOfOne, Waiting
from .workplace import AFRESH, Workplace


class WorkerHost:
    """Answers one worker: its model calls, its searches. `place` is where its commands run, None where none may.

    `found` is what earlier attempts were told at the same points of the same conversation: it is told again as it was.
    """

    def __init__(
        self,
        conversation: Conversation,
        lookup: Lookup,
        say: SayOfOne,
        waiting: Waiting,
        fences: Fences,
        place: Workplace | None,
        found: Mapping[Asked, tuple[str, tuple[str, ...]]] | None = None,
    ) -> None:
        self._found = found or {}
        self._place = place
        self._conversation = conversation
        self._lookup = lookup
        self._say = say
        self._waiting = waiting
        self._fences = fences
        self.refused = False

    async def model(self, delta: tuple[Message, ...], prefix_sha: str, paused: Paused) -> ModelReply:
        self._waiting.paused = paused
        try:
            reply = await self._conversation.reply(delta, prefix_sha)
        except RequestRefused:
            self.refused = True  # asking again the same way would be refused again
            raise
        if self._place is not None and not self._place.fits(reply):
            self._conversation.begin_afresh(AFRESH)
            self._found = {}
            raise RequestRefused(AFRESH)
        return reply

    async def tool(self, name: str, input: Mapping[str, object]) -> tuple[str, bool]:  # noqa: A002
        if name != "search":
            return f"{name}: the orchestrator has no such tool; it answers search", True
        if (known := self._found.get((self._conversation.last, asked_for(input)))) is not None:
            self._conversation.note_tool(name, input, *known)
            return known[0], False
        content, is_error, shown = await anyio.to_thread.run_sync(self._lookup.tool, input)
        content = content if is_error else self._fences.around("what was found", content)
        self._conversation.note_tool(name, input, content, shown, is_error=is_error)
        return content, is_error

    def progress(self, text: str) -> None:
        self._say(text)
