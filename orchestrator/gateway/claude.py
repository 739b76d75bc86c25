"""A model behind a server that speaks the Messages API: this version knows its name, and does not call it yet."""

from ...subagents.model import Listener, ModelReply, ModelRequest
from ..setup import Profile


class Claude:
    """The model `name` through a profile."""

    def __init__(self, profile: Profile, name: str) -> None:
        self._profile = profile
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        """Not there yet."""
        raise NotImplementedError
