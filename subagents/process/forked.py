"""A child that the fork server has forked: its pipes are ours, its life hangs on a lead (see order.py)."""

import signal
import socket

import anyio

from .child import Child
from .order import LARGEST, Word

FINISH_SECONDS = 10.0
"""How long the fork server may take to say that nothing of a worker is there any more."""


class ForkedChild(Child):
    """A worker of the fork server; when the server is gone, it counts as killed, as it was by the kernel."""

    def __init__(self, stdin: int, stdout: int, stderr: int, lead: socket.socket) -> None:
        super().__init__(stdin, stdout, stderr)
        self._lead = lead
        self._closed = False
        self._cleared = anyio.Event()
        self._status = -signal.SIGKILL.value
        self._left = 0
        self.pid: int | None = None
        """Its process id, once it was forked."""

    async def watch(self) -> None:
        while not self.gone:
            await self._hear()

    async def left_something(self) -> bool:
        await self._until_cleared()
        return self._left > 0

    async def end(self, grace: float) -> None:
        if not self.gone:
            self._signal(signal.SIGTERM)
            with anyio.move_on_after(grace):
                await self.ended()
        self._signal(signal.SIGKILL)

    async def finish(self) -> int:
        """Wait until nothing of it is there; the server kills what is, and is not waited for for ever."""
        if not self._closed:
            self._signal(signal.SIGKILL)
            await self._until_cleared()
            self.kill()
        return self._status

    def kill(self) -> None:
        """Let go of the lead: the server ends whatever hangs on it."""
        if not self._closed:
            self._closed = True
            self._lead.close()
            self._close_pipes()
            self._has_ended()

    async def _until_cleared(self) -> None:
        with anyio.move_on_after(FINISH_SECONDS):
            while not self._cleared.is_set():
                await self._hear()

    async def _hear(self) -> None:
        """What the server says next; its end is the end of all its workers."""
        try:
            data = self._lead.recv(LARGEST)
        except BlockingIOError:
            await anyio.wait_readable(self._lead)
            return
        except OSError:
            data = b""
        word = Word.decode(data) if data else self._lost
        match word.kind:
            case "started":
                self.pid = word.value
            case "exited":
                self._status = word.value
                self._has_ended()
            case "refused":
                self.refused = word.text
                self._is_cleared(0)
            case _:
                self._is_cleared(word.value)

    @property
    def _lost(self) -> Word:
        return Word("refused", text="the fork server has ended") if self.pid is None else Word("cleared")

    def _is_cleared(self, left: int) -> None:
        self._left = left
        self._cleared.set()
        self._has_ended()

    def _signal(self, number: signal.Signals) -> None:
        try:
            self._lead.send(Word("signal", number).encode())
        except OSError:
            pass  # the server is gone, and its workers with it
