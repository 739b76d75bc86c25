"""How the pen is come by: for a moment, as a short command does, or held for the life of a process and lent out.

Everything that writes memory runs in one thread and between two awaits, so any number of loans of a held pen can be
out at the same time and none has to wait for another.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Protocol, Self

from ..memory.clock import Clock
from ..memory.errors import MemoryFault
from ..memory.view import View
from .commit import Broken, Lender, Scribe
from .settings.redact import Known
from .witness import Witness

WAIT = 10.0
"""Seconds that a command waits for a pen that another process holds."""


class Pens(Protocol):
    """Gives the pen to a piece of work; closing the scribe gives it back."""

    def take(self, known: Known) -> Scribe:
        """The pen; no credential of `known` gets into a file by it.

        Raises PenHeld, PenLost, RecoveryNeeded, RedoDamaged or an OSError.
        """
        ...


class OwnPen:
    """Takes the pen for each piece of work and puts it down behind it; first what a crash left is finished."""

    def __init__(
        self, view: View, clock: Clock, *, wait: float = WAIT, witness: Callable[[], Witness | None] | None = None
    ) -> None:
        self._view = view
        self._clock = clock
        self._wait = wait
        self._witness = witness

    def take(self, known: Known) -> Scribe:
        witness = None if self._witness is None else self._witness()
        return Scribe.open(self._view, self._clock, wait=self._wait, known=known, witness=witness)


class HeldPen:
    """The pen of a process that holds it for its life; what it lends is given back, not put down.

    Once the pen is lost, or in doubt after an error of the disk, it lends no more and `on_broken` is told why: the
    process has to end, and the next one recovers. What opening it found is told to the first who borrows it.
    """

    def __init__(self, scribe: Scribe, on_broken: Callable[[MemoryFault], None]) -> None:
        self._scribe = scribe
        self._on_broken = on_broken
        self._loans = 0
        self._untold = True
        self.broken: Broken | None = None

    @classmethod
    def open(
        cls,
        view: View,
        clock: Clock,
        *,
        wait: float = WAIT,
        on_broken: Callable[[MemoryFault], None] = lambda _: None,
        witness: Callable[[], Witness | None] | None = None,
    ) -> Self:
        """Takes the pen within `wait` seconds; raises what `Scribe.open` raises.

        `witness` is called with the pen held: it looks itself for what was committed until then.
        """
        scribe = Scribe.open(view, clock, wait=wait)
        try:
            scribe.reconcile(view.workspace.spaces())
            scribe.witness = None if witness is None else witness()
        except BaseException:
            scribe.close()
            raise
        return cls(scribe, on_broken)

    @property
    def notices(self) -> tuple[str, ...]:
        """What recovery did when the pen was opened, and which hand edits were indexed then."""
        return self._scribe.found()

    def take(self, known: Known) -> Scribe:
        if self.broken is not None:
            raise self.broken
        loan = self._scribe.lend(known, Lender(self._broke, self._given_back), told=self._untold)
        self._untold = False
        self._loans += 1
        return loan

    def close(self) -> None:
        """Puts the pen down."""
        self._scribe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _broke(self, error: Broken) -> None:
        if self.broken is None:
            self.broken = error
            self._on_broken(error)

    def _given_back(self) -> None:
        """With nothing under way the redo log is trimmed, so that readers have little to lay over the files."""
        self._loans -= 1
        if not self._loans and self.broken is None:
            self._scribe.tidy()
