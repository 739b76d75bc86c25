"""Who is at the other end of a Unix socket: what the kernel says, whatever the other end says of itself."""

import socket
import struct
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A process as the kernel knows it; of a listening socket it is the one that began to listen."""

    pid: int
    uid: int


def peer_of(connection: socket.socket) -> Peer | None:
    """The process at the other end; None where the kernel doesn't tell."""
    try:
        if sys.platform == "darwin":
            local, credentials, process = 0, 1, 2  # SOL_LOCAL, LOCAL_PEERCRED, LOCAL_PEERPID of sys/un.h
            _, uid = struct.unpack("II", connection.getsockopt(local, credentials, 76)[:8])
            return Peer(connection.getsockopt(local, process), uid)
        pid, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except (OSError, AttributeError):
        return None
    return Peer(pid, uid)
