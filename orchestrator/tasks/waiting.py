"""What the gateway enters while a call has to wait: a person hears why, and a worker's clock stands still."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol

from ...subagents.host import Paused
from .dossier import Dossier

LONG = 30.0
"""Seconds of a wait that a person is told of in any case, in a log, too: they may want to stop it."""


class Say(Protocol):
    """Tells a person of a task; a `lasting` line stays on the screen, one that has `ended` says what became of it."""

    def __call__(self, dossier: Dossier, text: str, *, lasting: bool = False, ended: bool = False) -> None: ...


class SayOfOne(Protocol):
    """The same where the task is known."""

    def __call__(self, text: str, *, lasting: bool = False) -> None: ...


class Waiting:
    """For one worker, or for one review, which has no clock; `paused` is the worker's at its latest call."""

    def __init__(self, say: SayOfOne) -> None:
        self._say = say
        self.paused: Paused = nullcontext

    @contextmanager
    def __call__(self, reason: str, seconds: float) -> Iterator[None]:
        self._say(f"waits {seconds:.0f} s: {reason}" if seconds else f"waits: {reason}", lasting=seconds >= LONG)
        with self.paused():
            yield
