"""What the gateway enters while a call has to wait: a person hears why, and a worker's clock stands still."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from ...subagents.host import Paused


class Waiting:
    """For one worker, or for one review, which has no clock; `paused` is the worker's at its latest call."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self.paused: Paused = nullcontext

    @contextmanager
    def __call__(self, reason: str, seconds: float) -> Iterator[None]:
        self._say(f"waits {seconds:.0f} s: {reason}" if seconds else f"waits: {reason}")
        with self.paused():
            yield
