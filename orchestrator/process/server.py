"""The orchestrator's end of the socket: requests in, work on its way, and the end of the process.

Everything runs in one event loop. What is short is done between two awaits; what takes longer is a job of its own,
apart from the connection that brought it, so a closed terminal stops nothing. Nobody but this user can connect, and of
each connection the kernel is asked whose it is.

The process ends when it had nothing to do for a while, when it is told to (`onepen down`, SIGTERM, SIGINT: first
nothing new starts and what runs may finish, the second time it ends now), and at once when the pen is lost or in doubt.
While it ends it still listens, so that a line for the day log needs nobody to wait.
"""

import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream

from ...version import __version__
from ..errors import OrchestratorFault
from ..settings.setup import NOTHING
from .asked import DOWN, WATCH, Asked, asked
from .calling import Calls, Notes
from .errors import Ending, error_line
from .job import Job
from .peer import peer_of
from .protocol import Garbled, Hello, Line, Lines, encode, greeted

GRACE_SECONDS = 60.0
"""How long running work may go on after the process was told to end."""
_NOW_SECONDS = 10.0
"""How long work that was told to end now may take for it."""
_LAST_SECONDS = 2.0
"""How long clients may take to read the last they are told."""
_HELLO_SECONDS = 10.0
_WATCH_SECONDS = 2.0
_MOST = 256
"""Connections at a time."""
_SPARE = 16
"""Descriptors that connections leave to the work: where there are no more, one has to go before the next is taken."""
_AGAIN_SECONDS = 0.1
_PART = 1 << 16


class Server:
    """Serves one workspace.

    `idle_seconds` 0: it doesn't end by itself; None: after as long as whoever brought work last wants it.
    `there` says whether the workspace still is; `renewed` gives a new socket where the old one's name was taken away.
    """

    def __init__(
        self,
        calls: Calls,
        notes: Notes,
        key: str,
        since: str,
        *,
        idle_seconds: float | None,
        there: Callable[[], bool] = lambda: True,
        renewed: Callable[[], socket.socket | None] = lambda: None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._calls = calls
        self._key = key
        self._since = since
        self._notes = notes
        self._idle_seconds = NOTHING.idle_seconds if idle_seconds is None else idle_seconds
        self._idle_is_fixed = idle_seconds is not None
        self._there = there
        self._renewed = renewed
        self._seconds = seconds
        self._jobs: dict[int, Job] = {}
        self._connected = 0
        self._most = _MOST
        self._quiet_since = seconds()
        self._changed = anyio.Event()
        self._ends = ""
        self._now = False

    # -- its life ------------------------------------------------------------------------------------------------------

    async def run(self, listening: socket.socket) -> str:
        """Serve until it is time to end; the reason for that."""
        async with anyio.create_task_group() as group:
            self._group = group
            group.start_soon(self._listen, listening)
            group.start_soon(self._heed)
            group.start_soon(self._watch)
            await self._until(lambda: bool(self._ends))
            await self._finish()
            group.cancel_scope.cancel()
        return self._ends

    async def _listen(self, listening: socket.socket) -> None:
        """Take connections, only so many at a time: without descriptors to spare nothing can be written any more."""
        async with await SocketListener.from_socket(listening) as listener:
            with anyio.CancelScope() as self._listening:
                while True:
                    await self._until(self._takes_more)
                    try:
                        stream = await listener.accept()
                    except anyio.BrokenResourceError:  # no descriptor is left
                        await anyio.sleep(_AGAIN_SECONDS)
                    else:
                        self._connected += 1
                        self._most = _MOST if _spares(stream.extra(SocketAttribute.raw_socket)) else self._connected
                        self._group.start_soon(self._connection, stream)

    def _takes_more(self) -> bool:
        return self._connected < self._most

    def _look_after_socket(self) -> None:
        """Listen anew where the socket's name was taken away; if that can't be done it is tried again."""
        try:
            listening = self._renewed()
        except (OrchestratorFault, OSError) as e:
            self._notes.failed("no socket", e)
            return
        if listening is not None:
            self._notes.note("listens anew", socket=listening.getsockname())
            self._listening.cancel()
            self._group.start_soon(self._listen, listening)

    def end(self, reason: str, *, now: bool = False) -> None:
        """Begin nothing more and end when what runs is done; `now`, or told so again: end what runs."""
        again = bool(self._ends)
        self._ends = self._ends or reason
        self._now = self._now or now or again
        for job in self._jobs.values():
            self._press(job)
        self._stir()

    async def _finish(self) -> None:
        """Wait for what runs: until it is done, or its time is up, or it was told to end now."""
        with anyio.move_on_after(GRACE_SECONDS):
            await self._until(lambda: not self._jobs or self._now)
        self._now = True
        for job in self._jobs.values():
            self._press(job)
        with anyio.move_on_after(_NOW_SECONDS):
            await self._until(lambda: not self._jobs)
        with anyio.move_on_after(_LAST_SECONDS):
            await self._until(lambda: not self._connected)

    def _press(self, job: Job) -> None:
        while job.stop.presses < (2 if self._now else 1):
            job.stop.press()

    def _stir(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _until(self, reached: Callable[[], bool]) -> None:
        while not reached():
            await self._changed.wait()

    async def _heed(self) -> None:
        """SIGTERM, SIGINT and a closed terminal mean the same as `onepen down`."""
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            async for number in signals:
                self.end(signal.Signals(number).name)

    async def _watch(self) -> None:
        """End when nothing is to do for too long, or the workspace is gone from its place."""
        while True:
            await anyio.sleep(min(_WATCH_SECONDS, self._idle_seconds or _WATCH_SECONDS))
            self._notes.catch_up()
            if self._stands() and not self._ends:
                self._look_after_socket()
            if self._jobs or self._connected:
                self._quiet_since = self._seconds()
            elif self._idle_seconds and self._seconds() - self._quiet_since >= self._idle_seconds:
                self.end("idle")

    def _stands(self) -> bool:
        """Whether the workspace is where it was; else this is the end, and who asks is to ask whoever is there now."""
        there = self._there()
        if not there:
            self.end("the workspace or its lock was taken away", now=True)
        return there

    # -- its connections -----------------------------------------------------------------------------------------------

    async def _connection(self, stream: SocketStream) -> None:
        peer = peer_of(stream.extra(SocketAttribute.raw_socket))
        try:
            async with stream:
                if peer is not None and peer.uid == os.getuid():
                    await self._converse(stream)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError):
            pass  # the client went away
        except Exception as e:  # noqa: BLE001 - the edge of a connection: the work of others goes on
            self._notes.failed("connection", e)
        finally:
            self._connected -= 1
            self._quiet_since = self._seconds()
            self._stir()

    async def _converse(self, stream: SocketStream) -> None:
        reader = _Reader(stream)
        try:
            with anyio.fail_after(_HELLO_SECONDS):
                first = await reader.next()
                if first is None:
                    return
                _, key = greeted(first)
                await stream.send(encode(self._hello().line()))
                line = await reader.next()
                if line is None or key != self._key:
                    return
                request = asked(line)
                if not self._stands():
                    return
        except Garbled as e:
            await stream.send(encode(error_line("Garbled", e.message, e.hint, e.exit_code)))
            return
        if request.op == DOWN:
            await self._down(stream, request)
        elif request.op == WATCH:
            await self._watched(stream)
        elif request.works and self._ends and not self._jobs:
            return  # nothing to wait for: whoever hears nothing asks the next orchestrator
        elif request.works and self._ends:
            refused = Ending(os.getpid(), [str(job) for job in self._jobs.values()])
            await stream.send(encode(error_line("Ending", refused.message, refused.hint, refused.exit_code)))
        else:
            await stream.send(encode({"accepted": True}))
            await self._answer(stream, reader, Job(request))

    async def _watched(self, stream: SocketStream) -> None:
        """Tell who is at work until the client goes away, or the process ends; who watches keeps nobody from ending."""
        self._connected -= 1
        self._stir()
        try:
            async for line in self._calls.watched():
                await stream.send(encode(line))
        finally:
            self._connected += 1

    def _hello(self) -> Hello:
        return Hello(__version__, self._key, os.getpid(), self._since, len(self._jobs))

    async def _down(self, stream: SocketStream, request: Asked) -> None:
        """End; the answer comes first, and says what runs."""
        ran = [str(job) for job in self._jobs.values()]
        ends = not (request.args["idle_only"] and ran)
        await stream.send(encode({"result": {"ends": ends, "ran": ran, "seconds": GRACE_SECONDS}}))
        if ends:
            self.end("down", now=bool(request.args["now"]))

    async def _answer(self, stream: SocketStream, reader: "_Reader", job: Job) -> None:
        """Carry out a request and send what it comes to, as long as the client is there."""
        with job.listened_to() as ear:
            if job.asked.works:
                if not self._idle_is_fixed:
                    self._idle_seconds = job.asked.setup.idle_seconds
                self._jobs[id(job)] = job
                self._group.start_soon(self._work, job)
            else:
                job.end(await self._calls.answer(job))
            async with anyio.create_task_group() as group:
                group.start_soon(self._presses, reader, job)
                with suppress(anyio.BrokenResourceError):  # nobody listens any more
                    async for line in ear:
                        await stream.send(encode(line))
                group.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS  # by then the client has hung up

    async def _presses(self, reader: "_Reader", job: Job) -> None:
        """Hand on each Ctrl-C; a client that says nothing more may still be listening."""
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, Garbled):
            while (line := await reader.next()) is not None:
                if "press" in line:
                    job.stop.press()

    # -- its work ------------------------------------------------------------------------------------------------------

    async def _work(self, job: Job) -> None:
        try:
            job.end(await self._calls.answer(job))
            if job.after is not None and not self._ends:
                job.goes_on()
                await self._calls.after(job)
        finally:
            del self._jobs[id(job)]
            self._quiet_since = self._seconds()
            self._stir()


def _spares(newest: socket.socket) -> bool:
    """Whether the work has descriptors left beside the newest one, which has the lowest number that was free."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most == resource.RLIM_INFINITY or newest.fileno() < most - _SPARE


class _Reader:
    """The lines that come in on a connection."""

    def __init__(self, stream: SocketStream) -> None:
        self._stream = stream
        self._lines = Lines()
        self._waiting: list[Line] = []

    async def next(self) -> Line | None:
        """The next line, None at the end; raises Garbled or BrokenResourceError."""
        while not self._waiting:
            try:
                self._waiting = self._lines.feed(await self._stream.receive(_PART))
            except anyio.EndOfStream:
                return None
        return self._waiting.pop(0)
