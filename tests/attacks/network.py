"""Attacks by way of a network: to carry something out, to reach a server of this machine, to be reached."""

import socket

from tests.attacks.attack import attack
from tests.attacks.kernel import call
from tests.attacks.world import World


def _port(one: socket.socket | None) -> int:
    if one is None:
        raise OSError("there is no such server here")
    port: int = one.getsockname()[1]
    return port


@attack("carry something out by TCP")
def _(w: World) -> None:
    socket.create_connection(("127.0.0.1", _port(w.tcp))).sendall(b"x")


@attack("carry something out by TCP, IPv6")
def _(w: World) -> None:
    socket.create_connection(("::1", _port(w.tcp6))).sendall(b"x")


@attack("carry something out by TCP with the first packet (MSG_FASTOPEN)")
def _(w: World) -> None:
    socket.socket().sendto(b"x", socket.MSG_FASTOPEN, ("127.0.0.1", _port(w.tcp)))


@attack("carry something out by several paths at once (MPTCP)")
def _(w: World) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as one:
        one.connect(("127.0.0.1", _port(w.mptcp)))
        one.sendall(b"x")


@attack("carry something out by UDP")
def _(w: World) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", _port(w.udp)))


@attack("carry something out by UDP-Lite")
def _(w: World) -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136).sendto(b"x", ("127.0.0.1", _port(w.udplite)))


@attack("carry something out by ping (raw ICMP)")
def _(w: World) -> bool:
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).sendto(b"\x08\0" + bytes(14), ("127.0.0.1", 0)) > 0


@attack("see all packets (AF_PACKET)")
def _(w: World) -> bool:
    return socket.socket(17, socket.SOCK_RAW).fileno() > 0


@attack("listen for somebody from outside")
def _(w: World) -> bool:
    one = socket.socket()
    one.bind(("127.0.0.1", 0))
    one.listen()
    return True


@attack("learn the network's addresses and routes (netlink)")
def _(w: World) -> bool:
    one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    one.send(bytes([17, 0, 0, 0, 18, 0, 1, 3]) + bytes(9))
    return bool(one.recv(100))


@attack("speak to the machine around this one (vsock)")
def _(w: World) -> bool:
    return socket.socket(40, socket.SOCK_STREAM).fileno() > 0


@attack("speak to the orchestrator's socket")
def _(w: World) -> None:
    socket.socket(socket.AF_UNIX).connect(str(w.root / "s"))


@attack("speak to a service by a socket of packets, as to a system log")
def _(w: World) -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", str(w.root / "d"))


@attack("the same by one half of a pair")
def _(w: World) -> None:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", str(w.root / "d"))


@attack("speak to a service without a file (abstract socket)")
def _(w: World) -> None:
    socket.socket(socket.AF_UNIX).connect("\0" + w.root.name)


@attack("reach the kernel's ciphers (AF_ALG)")
def _(w: World) -> bool:
    return socket.socket(38, 5).fileno() > 0


@attack("have the kernel do its calls behind a queue (io_uring)")
def _(w: World) -> bool:
    import ctypes

    return call("io_uring_setup", 4, ctypes.byref((ctypes.c_uint32 * 30)())) >= 0


@attack("use a socket that was left open")
def _(w: World) -> bool:
    return bool(w.stream.getsockname())
