"""The life of an orchestrator process: take the pen, open the socket, say so, serve, and put both down."""

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ...memory.clock import Clock, SystemClock
from ...memory.errors import MemoryFault
from ...memory.holder import Holder, PenHeld, holder, note_holder
from ...memory.room import LOCK
from ...version import __version__
from ..compose import build_orchestrator
from .calling import Calls, Failure
from .listening import Listening
from .log import ProcessLog
from .place import key_of
from .server import Server

if TYPE_CHECKING:
    from ..compose import Orchestrator

_WAIT_SECONDS = 10.0
_TRY_SECONDS = 0.25


class Life:
    """One process. `on_ready` is told once that requests are taken from now on; `streams` lead to the log, too.

    `clock` is the machine's, unless another is given."""

    def __init__(
        self,
        root: Path,
        env: Mapping[str, str],
        told: Callable[[BaseException], Failure],
        *,
        idle_seconds: float | None,
        on_ready: Callable[[Holder], None],
        streams: tuple[int, ...] = (),
        clock: Clock | None = None,
    ) -> None:
        self._root = root.resolve()
        self._env = env
        self._told = told
        self._idle_seconds = idle_seconds
        self._on_ready = on_ready
        self._streams = streams
        self._clock = clock
        self._server: Server | None = None
        self._broken: MemoryFault | None = None

    def run(self) -> str:
        """Live, and give the reason for the end; raises PenHeld, SocketFolderUnfit or what opening the pen raises."""
        return anyio.run(self._run)

    async def _run(self) -> str:
        async with AsyncExitStack() as held:
            orchestrator = await self._orchestrator(held)
            clock = self._clock or SystemClock(orchestrator.service.workspace.settings.timezone)
            since = clock.now().isoformat(timespec="seconds")
            durability = orchestrator.pen.durability
            note = Holder(os.getpid(), socket.gethostname(), since, version=__version__, durability=durability)
            with closing(Listening(self._root, self._env)) as listening:
                note = replace(note, socket=str(listening.path))
                note_holder(self._root, note)
                self._on_ready(note)
                log = ProcessLog(self._root, clock, orchestrator.known.mask, self._streams)
                with closing(log):
                    return await self._serve(orchestrator, listening, log, note)

    async def _serve(self, orchestrator: "Orchestrator", listening: Listening, log: ProcessLog, note: Holder) -> str:
        log.note("began", version=note.version, socket=note.socket)
        for notice in orchestrator.notices:
            log.note("found", text=notice)
        calls = Calls(orchestrator.service, log, self._told, orchestrator.known.mask)

        def renewed() -> socket.socket | None:
            if not listening.renew():
                return None
            note_holder(self._root, replace(note, socket=str(listening.path)))
            return listening.socket

        self._server = Server(
            calls, log, key_of(self._root), note.since,
            idle_seconds=self._idle_seconds, there=_there(self._root), renewed=renewed,
        )  # fmt: skip
        if self._broken is not None:
            self._server.end(self._broken.message, now=True)
        try:
            reason = await self._server.run(listening.socket)
        except BaseException as e:
            log.failed("crashed", e)
            raise
        log.note("ended", reason=reason)
        return reason

    async def _orchestrator(self, held: AsyncExitStack) -> "Orchestrator":
        """The pen and what works with it; an orchestrator that is there is not waited for, a short writer is."""
        deadline = anyio.current_time() + _WAIT_SECONDS
        while True:
            try:
                making = build_orchestrator(self._root, clock=self._clock, wait=_TRY_SECONDS, on_broken=self._broke)
                return await held.enter_async_context(making)
            except PenHeld as e:
                found = holder(self._root)
                if (found is not None and found.socket) or anyio.current_time() > deadline:
                    raise PenHeld(str(self._root), found or e.holder) from None

    def _broke(self, error: MemoryFault) -> None:
        self._broken = error
        if self._server is not None:
            self._server.end(error.message, now=True)


def _there(root: Path) -> Callable[[], bool]:
    """Whether the workspace and its lock are still where they were; a deleted lock file lets a second holder in."""
    lock = root / LOCK
    before = lock.stat()

    def there() -> bool:
        try:
            return os.path.samestat(lock.stat(), before)
        except OSError:
            return False

    return there
