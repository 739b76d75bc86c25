"""When the mirror is at work: at once for a command that takes the pen for a moment, behind it in an orchestrator."""

import threading
from collections.abc import Sequence

from ...memory.errors import MemoryFault
from ...memory.history import Commit
from .errors import NotMirrored
from .mirror import Mirror

_HINDERED = (NotMirrored, MemoryFault, OSError, ValueError)
_SOON = (1.0, 4.0, 15.0)
"""Seconds after which it is tried again where git is merely busy, before the person is told."""
_LATER = 60.0
"""Seconds after which it is tried again where git can't follow for now."""
_END_SECONDS = 60.0


class AtOnce:
    """The mirror of one short piece of work: git follows before the command says that it is done."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._due = False

    @property
    def wanted(self) -> bool:
        return self._mirror.wanted

    def saw(self, commits: Sequence[Commit]) -> None:
        self._mirror.saw(commits)
        self._due = True

    def news(self) -> tuple[str, ...]:
        """Has git follow, and gives what the person is to be told."""
        if not self._due:
            return ()
        self._due = False
        try:
            return self._mirror.follow()
        except _HINDERED as e:
            return self._mirror.told(e)

    def close(self) -> None:
        """What nobody was told stands in `status`."""
        self.news()
        self._mirror.leave()


class Behind:
    """The mirror in a thread of its own: no commit waits for git, and those that come meanwhile go together.

    The first thing it does is to catch up with what git lacks from before.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._changed = threading.Condition()
        self._due = True
        self._ends = False
        self._news: list[str] = []
        self._thread: threading.Thread | None = None
        self._begin()

    @property
    def wanted(self) -> bool:
        return self._mirror.wanted

    def saw(self, commits: Sequence[Commit]) -> None:
        self._mirror.saw(commits)
        with self._changed:
            self._due = True
            self._changed.notify()
        self._begin()

    def _begin(self) -> None:
        """A thread is there once a mirror is wanted, and not before."""
        if self._thread is None and self._mirror.wanted:
            self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)
            self._thread.start()

    def news(self) -> tuple[str, ...]:
        """What nobody was told yet; it may be of commits before the last one."""
        with self._changed:
            told, self._news = tuple(self._news), []
            return told

    def close(self) -> None:
        """Wait until git has what was committed, or can't have it."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)
        self._mirror.leave()

    def _run(self) -> None:
        patience: float | None = None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._ends, patience)
                if self._ends and not self._due:
                    return
                self._due = False
            patience = self._follow()

    def _follow(self) -> float | None:
        """Has git follow; the seconds after which to try again, None where it does."""
        for pause in (*_SOON, None):
            try:
                return self._tell(self._mirror.follow(), None)
            except _HINDERED as e:
                passes = isinstance(e, NotMirrored) and e.passes
                if pause is None or not passes or self._stopped(pause):
                    return self._tell(self._mirror.told(e), _LATER)
        raise AssertionError("the last try ends it")

    def _stopped(self, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._ends, seconds)

    def _tell(self, news: Sequence[str], again: float | None) -> float | None:
        with self._changed:
            self._news += news
        return again
