"""The warden: it sees to it that nothing outlives the orchestrator, whoever is killed in which order.

The process that the orchestrator starts is the warden; it forks the fork server and does nothing but wait. When the
orchestrator is gone, or the server, it kills the server, and with it, by the kernel, all workers; what they had started
is then below the warden and is ended there. When the warden itself is killed, the server does the same and ends. So
only who kills both at one moment leaves something behind.
"""

import os
import select
import signal
import socket

from .kin import end_all, take_in_orphans


def guard(fd: int) -> int:
    """Be the warden and the fork server of the process whose socket `fd` is, until it is gone; the exit status."""
    orchestrator = _watched(os.getppid())
    take_in_orphans()
    warden = os.getpid()
    server = os.fork()
    if server == 0:
        from .forkserving import serve

        os._exit(serve(socket.socket(fileno=fd), warden))
    poll = select.poll()
    poll.register(fd, 0)  # nothing but its hanging up: what comes in is the server's
    poll.register(os.pidfd_open(server), select.POLLIN)
    if orchestrator is not None:
        poll.register(orchestrator, select.POLLIN)
    poll.poll()
    os.close(fd)  # an order that comes now must not be taken for one that waits
    os.kill(server, signal.SIGKILL)
    return 0 if end_all() else 1


def _watched(parent: int) -> int | None:
    """The parent's end, as a descriptor; None if that was before we looked: then its socket has hung up, too."""
    try:
        return os.pidfd_open(parent)
    except OSError:
        return None
