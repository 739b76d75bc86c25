"""Find the orchestrator that runs, or start one: which of several wins is decided by the pen's lock alone."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...memory.holder import Holder, PenHeld, holder, noted_holder
from ...memory.room import ORCHESTRATOR_LOG
from ...version import __version__
from .errors import Gone, NotStarted, OtherVersion
from .link import Link

if TYPE_CHECKING:
    from .spawn import Started

PATIENCE_SECONDS = 10.0
"""How long a command waits for an orchestrator to come up, or for one to go."""
_STARTING_SECONDS = 60.0
"""How long a process that was started may say nothing, on a machine that is busy."""
_POLL = 0.02


class Finder:
    """Finds the orchestrator of the workspace in `root` as the shell with the environment `env` can."""

    def __init__(
        self,
        root: Path,
        env: Mapping[str, str],
        *,
        seconds: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._root = root
        self._env = env
        self._seconds = seconds
        self._sleep = sleep

    def running(self, *, any_version: bool = False) -> Link | None:
        """A link to the orchestrator that runs; None for none. One of another version that is idle makes room.

        Raises OtherVersion, Silent or Garbled.
        """
        link = Link.open(self._root, self._env, noted_holder(self._root).socket)
        if link is None or any_version or link.hello.version == __version__:
            return link
        with closing(link):
            if link.hello.busy or not self._makes_room(link):
                raise OtherVersion(link.hello, __version__)
        self.wait_gone(link.hello.pid)
        return self.running()

    def at_work(self, started: "Started | None", *, idle_seconds: float | None = None) -> tuple[Link, bool]:
        """A link to an orchestrator, and whether it was started for this; `started` is one that is on its way.

        Raises PenHeld where another process has the pen and takes no requests, NotStarted, or what made the start fail.
        """
        began, told = self._seconds(), None
        try:
            while True:
                link = self.running()
                if link is not None:
                    return link, started is not None and link.hello.pid == started.pid
                waited = self._seconds() - began
                if started is None:
                    started, told = self._start(idle_seconds), None
                report = started.report()
                if report.error is not None:
                    raise report.error
                if report.state == "starting" and waited > _STARTING_SECONDS:
                    raise NotStarted(f"process {started.pid} said nothing in {waited:.0f} s", ORCHESTRATOR_LOG)
                if report.state != "starting":  # there may be one that can be reached, and only now
                    told = self._seconds() if told is None else told
                    if self._seconds() - told > PATIENCE_SECONDS or waited > _STARTING_SECONDS:
                        raise PenHeld(str(self._root), self.holder() or noted_holder(self._root))
                    if self.holder() is None:  # it ended again, whichever it was
                        started.leave()
                        started = None
                self._sleep(_POLL)
        finally:
            if started is not None:
                started.leave()

    def begin(self, *, idle_seconds: float | None = None) -> "Started | None":
        """Start one without waiting for it, unless the pen is held: it comes up while the request is made ready."""
        return None if self.holder() is not None else self._start(idle_seconds)

    def holder(self) -> Holder | None:
        """Who holds the pen."""
        return holder(self._root)

    def wait_gone(self, pid: int, patience: float = PATIENCE_SECONDS) -> bool:
        """Wait until the process `pid` doesn't hold the pen any more; False if it still does."""
        deadline = self._seconds() + patience
        while (found := self.holder()) is not None and found.pid == pid:
            if self._seconds() > deadline:
                return False
            self._sleep(_POLL)
        return True

    def wait_ended(self, pid: int, patience: float = 5.0) -> None:
        """Wait for the rest of a process that has put the pen down; nothing depends on it."""
        deadline = self._seconds() + patience
        with suppress(OSError):
            while self._seconds() < deadline:
                os.kill(pid, 0)
                self._sleep(_POLL)

    def _start(self, idle_seconds: float | None) -> "Started":
        from .spawn import start  # a command that only hands a line over needs none of it

        return start(self._root, self._env, idle_seconds=idle_seconds)

    @staticmethod
    def _makes_room(link: Link) -> bool:
        try:
            answer = link.ask("down", "0" * 8, {"idle_only": True})
        except Gone:
            return True
        return isinstance(answer, dict) and bool(answer.get("ends"))
