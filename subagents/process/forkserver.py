"""The orchestrator's end of the fork server: it is started when it is needed, and again when it has died."""

import errno
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

import anyio

from ..errors import SubagentFault
from .forked import ForkedChild
from .order import Order

OWN = (sys.executable, "-P", "-m", "onepen.subagents")
"""The command line of our own worker, and of the fork server."""

_BUSY_SECONDS = 0.005
_PATIENCE_SECONDS = 30.0
_END_SECONDS = 5.0
_FULL = {errno.EAGAIN, errno.ETOOMANYREFS, errno.ENOBUFS}
"""The server has yet to take earlier orders, or their descriptors."""


class NoForkServer(SubagentFault):
    """Raised when the fork server can't be started, or takes no orders."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the server that forks workers {reason}", hint="onepen down, then the same again")


class ForkServer:
    """One server for a process, with its warden: when the process ends, however it does, all workers end.

    `environment` is the server's own; a worker gets the one of its order. `program` is what serves, with `--serve FD`
    added. It belongs to no event loop.
    """

    def __init__(self, environment: Mapping[str, str], program: Sequence[str] = OWN) -> None:
        self._environment = dict(environment)
        self._program = tuple(program)
        self._orders: socket.socket | None = None
        self._former: set[int] = set()
        self.pid: int | None = None
        """The warden's process id."""

    @staticmethod
    def possible() -> bool:
        """Whether it works here: Linux with pidfd (5.3), the one system where orphans can be taken in."""
        try:
            os.close(os.pidfd_open(os.getpid()))
        except (AttributeError, OSError):
            return False
        return sys.platform == "linux"

    def start_early(self) -> None:
        """Start the server so that it is warm when the first order comes; if that fails, the order says why."""
        with suppress(NoForkServer):
            self.start()

    def start(self) -> None:
        """Start the server unless it was started; it makes itself ready on its own time. Raises NoForkServer."""
        if self._orders is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = subprocess.Popen(
                    [*self._program, "--serve", str(theirs.fileno())],
                    cwd="/", env=self._environment, start_new_session=True, pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                )  # fmt: skip
            except OSError as e:
                ours.close()
                raise NoForkServer(f"could not be started: {e.strerror}") from e
        process.returncode = 0  # it is waited for here: Popen would complain of one that still runs at the end
        self.pid = process.pid
        ours.setblocking(False)
        self._orders = ours
        weakref.finalize(self, ours.close)  # nobody has to close a server: with its owner's end it ends, too

    async def spawn(self, order: Order) -> ForkedChild:
        """A worker by an order; it can be written to at once. Raises NoForkServer or an OSError (no descriptors)."""
        with ExitStack() as kept, ExitStack() as handed:
            files = [_pipe(kept, handed, theirs=end) for end in (0, 1, 1)]
            lead, their_lead = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            kept.callback(lead.close)
            handed.callback(their_lead.close)
            await self._order(order.encode(), [theirs for _, theirs in files] + [their_lead.fileno()])
            lead.setblocking(False)
            stdin, stdout, stderr = (ours for ours, _ in files)
            child = ForkedChild(stdin, stdout, stderr, lead)
            kept.pop_all()
            return child

    async def close(self) -> None:
        """End the server and with it all workers; it is waited for, not for ever."""
        self._leave()
        with anyio.move_on_after(_END_SECONDS):
            while self._forget_former():
                await anyio.sleep(_BUSY_SECONDS)

    async def _order(self, data: bytes, files: list[int]) -> None:
        deadline = anyio.current_time() + _PATIENCE_SECONDS
        while True:
            self._forget_former()
            self.start()
            assert self._orders is not None
            try:
                socket.send_fds(self._orders, [data], files)
                return
            except (BrokenPipeError, ConnectionResetError):  # it has died
                self._leave()
                reason = "ended again and again"
            except OSError as e:
                if e.errno not in _FULL:
                    raise
                reason = "takes no orders"
            if anyio.current_time() > deadline:
                self._leave()
                raise NoForkServer(reason)
            await anyio.sleep(_BUSY_SECONDS)

    def _leave(self) -> None:
        """Let go of the server, which ends by that with all below it, if it hasn't."""
        if self._orders is not None and self.pid is not None:
            self._orders.close()
            self._former.add(self.pid)
        self._orders = self.pid = None

    def _forget_former(self) -> bool:
        """Wait for servers that have ended; whether there is one that hasn't."""
        for pid in tuple(self._former):
            with suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            self._former.discard(pid)
        return bool(self._former)


def _pipe(kept: ExitStack, handed: ExitStack, *, theirs: int) -> tuple[int, int]:
    """Our end of a new pipe, and the one handed on: its end number `theirs`."""
    ends = os.pipe()
    kept.callback(os.close, ends[1 - theirs])
    handed.callback(os.close, ends[theirs])
    return ends[1 - theirs], ends[theirs]
