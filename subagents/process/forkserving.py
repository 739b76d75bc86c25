"""The fork server: a warm process with one thread that forks a worker for each order, and buries it.

It has imported what a worker needs before the first order, so a worker is ready in milliseconds and shares its memory.
A worker's own changes are its own: each is forked anew from a process that has never been a worker. The server reaps
what ends, says so at once, and kills on sight each child that it didn't fork itself: what a worker had started and left
behind. It ends, with everything below it, when the orchestrator or the warden is gone.
"""

import gc
import importlib
import os
import select
import signal
import socket
import time
from array import array
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from ..sandbox import confine
from ..sandbox.level import Level, probe
from .kin import end_all, strike, take_in_orphans
from .launch import Prepared, launch, prepare
from .order import DESCRIPTORS, LARGEST, Order, Word

_LOOK_SECONDS = 1.0
"""How often it looks for children that it didn't fork, as long as there are workers."""
_CLEAR_SECONDS = 0.002
"""Between two looks whether anything is left of a worker that has exited."""
_PATIENCE_SECONDS = 2.0
"""How long the end of one worker waits for strangers: they may be another's, who goes on making them."""
_AGAIN_SECONDS = 0.1
"""Between two tries to fork where there was no room for one process more."""
_ORDERS_AT_ONCE = 32


_NEEDED = (
    "onepen.subagents.worker",
    "onepen.subagents.toolbox.running",
    "rapidfuzz.fuzz",
    "rapidfuzz.process",
    "traceback",
)
"""All that a worker may import on its way: in the sandbox it would take the same time each time."""


@dataclass
class _Worker:
    """A worker by its lead; `pid` is None until it was forked."""

    lead: socket.socket
    prepared: Prepared
    files: tuple[int, ...]
    pid: int | None = None
    ended: float | None = None
    """When it exited; it is forgotten once nothing of it is left."""
    left: int = 0
    heard: bool = True
    """Whether its lead is listened to; not any more once it was let go of."""

    def say(self, word: Word) -> None:
        with suppress(OSError):  # nobody waits for it any more
            self.lead.send(word.encode())


def serve(orders: socket.socket, warden: int) -> int:
    """Serve until the orchestrator or the warden is gone; the exit status."""
    take_in_orphans()
    level = probe()
    warm(level)
    return _Server(orders, warden, level).run()


def warm(level: Level) -> None:
    """Import what workers need, rehearse, and settle the memory that they will share."""
    for name in _NEEDED:
        importlib.import_module(name)
    from .practice import practise
    from .rehearsal import TIMES, rehearse

    for turn in range(TIMES):
        confine.rehearse(level)
        rehearse()
        practise(turn)
    gc.disable()  # a collection would write to pages that workers share
    gc.collect()
    gc.freeze()


class _Server:
    def __init__(self, orders: socket.socket, warden: int, level: Level) -> None:
        self._orders = orders
        self._pid = os.getpid()
        self._level = level
        self._workers: dict[int, _Worker] = {}  # by the descriptor of its lead
        self._running: dict[int, _Worker] = {}  # by process id
        self._queue: deque[_Worker] = deque()
        self._clearing: list[_Worker] = []
        self._looked = time.monotonic()
        self._strangers = False
        self._poll = select.epoll()
        self._warden = os.pidfd_open(warden)
        self._wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for fd in (self._orders.fileno(), self._warden, self._wake):
            self._poll.register(fd, select.EPOLLIN)
        if os.getppid() != warden:
            raise SystemExit(1)

    def run(self) -> int:
        while self._turn():
            pass
        signal.set_wakeup_fd(-1)
        return 0 if end_all() else 1

    def _turn(self) -> bool:
        """Wait for something to do and do it; False when this is the end."""
        for fd, _ in self._poll.poll(self._seconds()):
            if fd == self._orders.fileno():
                if not self._take_orders():
                    return False
            elif fd == self._warden:
                return False
            elif fd == self._wake:
                with suppress(BlockingIOError):
                    os.read(fd, 1 << 12)
            elif fd in self._workers:
                self._hear(self._workers[fd])
        self._reap()
        self._start_queued()
        self._clear()
        return True

    def _seconds(self) -> float | None:
        """How long to wait when nothing happens."""
        if self._clearing:
            return _CLEAR_SECONDS
        if self._queue:
            return _AGAIN_SECONDS
        return _LOOK_SECONDS if self._running or self._strangers else None

    # -- orders --------------------------------------------------------------------------------------------------------

    def _take_orders(self) -> bool:
        """The orders that have come, some at a time; False when there will be no more."""
        for _ in range(_ORDERS_AT_ONCE):
            try:
                data, files = _received(self._orders)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            if len(files) != DESCRIPTORS:  # no descriptor was left for them: the order's lead is let go of with them
                for file in files:
                    os.close(file)
                continue
            worker = _Worker(socket.socket(fileno=files[-1]), prepare(Order.decode(data)), tuple(files[:-1]))
            self._workers[worker.lead.fileno()] = worker
            self._poll.register(worker.lead, select.EPOLLIN)
            self._queue.append(worker)
        return True

    def _start_queued(self) -> None:
        while self._queue:
            if not self._start(self._queue[0]):
                return
            self._queue.popleft()

    def _start(self, worker: _Worker) -> bool:
        """Fork a worker; False if there is no room for one more right now."""
        try:
            pid = os.fork()
        except OSError:  # the user's or the system's limit of processes: others are going to end
            if self._running:
                return False
            worker.say(Word("refused", text="no process can be forked"))
            self._forget(worker)
            return True
        if pid == 0:
            gc.enable()
            launch(worker.prepared, worker.files, self._pid, self._level)
        for file in worker.files:
            os.close(file)
        worker.files = ()
        worker.pid = pid
        self._running[pid] = worker
        worker.say(Word("started", pid))
        return True

    def _hear(self, worker: _Worker) -> None:
        """What is said over a worker's lead; one that was let go of ends all that belongs to it."""
        try:
            data = worker.lead.recv(LARGEST, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._poll.unregister(worker.lead)
            worker.heard = False
        if worker.pid is None:
            if not data:
                self._queue.remove(worker)
                self._forget(worker)
        elif worker.ended is None:
            number = Word.decode(data).value if data else signal.SIGKILL
            try:
                os.killpg(worker.pid, number)
            except ProcessLookupError:  # it has no session of its own yet
                os.kill(worker.pid, number)

    # -- ends ----------------------------------------------------------------------------------------------------------

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            worker = self._running.pop(pid, None)
            if worker is not None:
                worker.ended = time.monotonic()
                worker.say(Word("exited", os.waitstatus_to_exitcode(status)))
                self._clearing.append(worker)

    def _clear(self) -> None:
        """Kill what workers have left, and say of each that has ended when nothing of it is there any more."""
        now = time.monotonic()
        if not (self._clearing or self._strangers or now - self._looked >= _LOOK_SECONDS):
            return
        self._looked = now
        struck = strike(self._running)
        self._strangers = struck > 0
        for worker in tuple(self._clearing):
            worker.left = max(worker.left, struck)
            if not struck or (worker.ended is not None and now - worker.ended > _PATIENCE_SECONDS):
                worker.say(Word("cleared", worker.left))
                self._clearing.remove(worker)
                self._forget(worker)

    def _forget(self, worker: _Worker) -> None:
        del self._workers[worker.lead.fileno()]
        if worker.heard:  # closing is not enough: a worker that was just forked may hold it, too, for a moment
            self._poll.unregister(worker.lead)
        for file in worker.files:
            os.close(file)
        worker.lead.close()


def _received(orders: socket.socket) -> tuple[bytes, list[int]]:
    """One packet and its descriptors; socket.recv_fds takes flags and forgets them (CPython 3.11)."""
    files = array("i")
    size = socket.CMSG_LEN(DESCRIPTORS * files.itemsize)
    data, parts, _, _ = orders.recvmsg(LARGEST, size, socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
    for level, kind, part in parts:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(part[: len(part) - len(part) % files.itemsize])
    return data, list(files)
