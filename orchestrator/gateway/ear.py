"""What the gateway hears of a call before it is whole: words for a person, tokens counted so far, limits told."""

from collections.abc import Callable

from ...subagents.model import Listener, Usage
from .account import Amount
from .quota import Left


class Ear:
    """The listener of one try; an adapter also writes down here what it learns of usage and limits.

    `on_begin` gets what is counted when the reply begins. `unknown` is the most that a call may cost which was given up
    before anything was counted.
    """

    def __init__(self, listener: Listener | None = None, on_begin: Callable[[Usage], None] | None = None) -> None:
        self._listener = listener
        self._on_begin = on_begin
        self.words_heard = False
        self.usage = Usage()
        self.unknown: Amount | None = None
        self.left: tuple[Left, ...] = ()

    def counted(self, usage: Usage) -> None:
        """What the server has counted so far; the first time, the reply has begun."""
        self.usage = usage
        if self._on_begin is not None:
            on_begin, self._on_begin = self._on_begin, None
            on_begin(usage)

    def text(self, words: str) -> None:
        self.words_heard = True
        if self._listener is not None:
            self._listener.text(words)

    def broke_off(self, reason: str) -> None:
        """Tells the listener, if it has heard anything that no longer counts."""
        if self._listener is not None and self.words_heard:
            self._listener.broke_off(reason)
        self.words_heard = False
