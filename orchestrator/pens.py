"""How the pen is come by: for a moment, as a short command does, or held for the life of a process and lent out.

Everything that writes memory runs in one thread and between two awaits, so any number of loans of a held pen can be
out at the same time and none has to wait for another.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

from ..memory.change import Change
from ..memory.clock import Clock
from ..memory.errors import MemoryFault
from ..memory.history import Commit
from ..memory.problem import Problem
from ..memory.view import View
from .commit import Durability, PenLost, RecoveryNeeded, Scribe
from .committing import Committer, Lender
from .settings.redact import Known
from .witness import Witness

WAIT = 10.0
"""Seconds that a command waits for a pen that another process holds."""


_FLUSH_SECONDS = 0.5
_TIDY_SECONDS = 1.0

Later = Callable[[float, Callable[[], None]], object]
"""Calls back after some seconds, in the thread that writes."""


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

    def __init__(
        self,
        scribe: Scribe,
        on_broken: Callable[[MemoryFault], None],
        durability: Durability = Durability.FULL,
        later: Later | None = None,
    ) -> None:
        self.durability = durability
        self._scribe = scribe
        self._on_broken = on_broken
        self._later = later
        self._timer_runs = False
        self._lender = Lender(self._broke, self._given_back, self._wrote, Committer(self._commit_all))
        self._loans = 0
        self._closed = False
        self._untold = True
        self.broken: MemoryFault | None = None

    @classmethod
    def open(
        cls,
        view: View,
        clock: Clock,
        *,
        wait: float = WAIT,
        on_broken: Callable[[MemoryFault], None] = lambda _: None,
        witness: Callable[[], Witness | None] | None = None,
        durability: Durability = Durability.FULL,
        later: Later | None = None,
    ) -> Self:
        """Takes the pen within `wait` seconds; raises what `Scribe.open` raises.

        `witness` is called with the pen held: it looks itself for what was committed until then. `later` calls back
        after some seconds: without it, what is committed lazily is flushed at once.
        """
        scribe = Scribe.open(view, clock, wait=wait, durability=durability)
        try:
            scribe.reconcile(view.workspace.spaces())
            scribe.witness = None if witness is None else witness()
        except BaseException:
            scribe.close()
            raise
        return cls(scribe, on_broken, durability, later)

    @property
    def notices(self) -> tuple[str, ...]:
        """What recovery did when the pen was opened, and which hand edits were indexed then."""
        return self._scribe.found()

    def take(self, known: Known) -> Scribe:
        if self.broken is not None:
            raise self.broken
        loan = self._scribe.lend(known, self._lender, told=self._untold)
        self._untold = False
        self._loans += 1
        return loan

    def close(self) -> None:
        """Puts the pen down."""
        self._closed = True
        self._scribe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _broke(self, error: MemoryFault) -> None:
        if self.broken is None:
            self.broken = error
            self._on_broken(error)

    def _commit_all(self, changes: Sequence[Change]) -> tuple[Sequence[Commit | Exception], tuple[Problem, ...]]:
        came = self._scribe.commit_all(changes)
        self._wrote()
        return came

    def _wrote(self) -> None:
        """What was committed lazily gets to the disk within a second, and out of the redo log, whatever is under way.

        As long as it is in the redo log, readers lay it over the files, and a crash would have it done again.
        """
        if self._timer_runs:
            return
        if self._later is not None:
            self._timer_runs = True
            self._later(_FLUSH_SECONDS if self._scribe.waits else _TIDY_SECONDS, self._flush)
        elif self._scribe.waits:
            self._flush()

    def _flush(self) -> None:
        self._timer_runs = False
        if self.broken is not None or self._closed:
            return
        try:
            self._scribe.flush()
        except (PenLost, RecoveryNeeded) as e:
            self._broke(e)
        else:
            self._scribe.tidy()

    def _given_back(self) -> None:
        """With nothing under way the redo log is trimmed, so that readers have little to lay over the files."""
        self._loans -= 1
        if not self._loans and self.broken is None:
            self._scribe.tidy()
