"""Attacks on the kernel's own doors: other views of the file system, more rights, parts that are young and large."""

import ctypes
import os
import resource
from pathlib import Path

from tests.attacks.attack import attack
from tests.attacks.kernel import LIBC, call, checked
from tests.attacks.world import World

_USER, _MOUNT, _NET = 0x10000000, 0x00020000, 0x40000000


@attack("make a view of the system of its own (user namespace)")
def _(w: World) -> bool:
    return checked(LIBC.unshare(_USER | _MOUNT)) == 0


@attack("make a network of its own")
def _(w: World) -> bool:
    return checked(LIBC.unshare(_NET)) == 0


@attack("enter the view of another process (setns)")
def _(w: World) -> bool:
    return checked(LIBC.setns(os.pidfd_open(w.orchestrator.pid), _MOUNT)) == 0


@attack("lay a file system over the cards (mount)")
def _(w: World) -> None:
    checked(LIBC.mount(b"none", os.fsencode(w.card.parent), b"tmpfs", 0, None))


@attack("take a part of the tree for itself (open_tree)")
def _(w: World) -> bool:
    return call("open_tree", -100, os.fsencode(w.other_card.parent), 1) >= 0


@attack("change its root folder (chroot)")
def _(w: World) -> bool:
    os.chroot(w.drafts)
    return True


@attack("make a device for itself")
def _(w: World) -> bool:
    os.mknod(w.drafts / "disk", 0o60600, os.makedev(254, 0))
    return True


@attack("become another user")
def _(w: World) -> bool:
    os.setresuid(12345, 12345, 12345)
    return True


@attack("have a right of root")
def _(w: World) -> bool:
    checked(LIBC.sethostname(os.uname().nodename.encode(), len(os.uname().nodename)))
    return True


@attack("change a setting of the kernel")
def _(w: World) -> bool:
    path = Path("/proc/sys/kernel/ctrl-alt-del")
    path.write_text(path.read_text())
    return True


@attack("put a program into the kernel (bpf)")
def _(w: World) -> bool:
    return call("bpf", 0, ctypes.byref((ctypes.c_uint32 * 32)(1, 4, 4, 1)), 128) >= 0


@attack("count what the processor does (perf)")
def _(w: World) -> bool:
    attributes = (ctypes.c_uint32 * 32)(1, 128, 1, 0)
    attributes[10] = 1 << 5 | 1 << 6  # without the kernel
    return call("perf_event_open", ctypes.byref(attributes), 0, -1, -1, 0) >= 0


@attack("answer for page faults (userfaultfd)")
def _(w: World) -> bool:
    return call("userfaultfd", 1) >= 0


@attack("raise a hard limit")
def _(w: World) -> bool:
    resource.setrlimit(resource.RLIMIT_NOFILE, (2_000_000 - 1, 2_000_000 - 1))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1] > 1_000_000
