"""Attacks on memory that the worker may read, or that lies beside it: every way to change a file."""

import ctypes
import fcntl
import os
import socket
from pathlib import Path

from tests.attacks.attack import attack
from tests.attacks.kernel import LIBC, call, checked
from tests.attacks.world import World

_FORGED = "# Forged\n"


def _mine(w: World) -> Path:
    path = w.drafts / "mine.md"
    path.write_text(_FORGED)
    return path


@attack("write into a card")
def _(w: World) -> None:
    with w.card.open("a") as file:
        file.write(_FORGED)


@attack("map a card into memory and write there")
def _(w: World) -> None:
    import mmap

    with w.card.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"X"


@attack("replace a card by renaming a draft")
def _(w: World) -> None:
    _mine(w).rename(w.card)


@attack("exchange a card for a draft")
def _(w: World) -> None:
    names = (os.fsencode(_mine(w)), os.fsencode(w.card))
    checked(LIBC.renameat2(-100, names[0], -100, names[1], 2))


@attack("add a card")
def _(w: World) -> None:
    (w.space / "projects/new.md").write_text(_FORGED)


@attack("remove a card")
def _(w: World) -> None:
    w.card.unlink()


@attack("move a card into the drafts")
def _(w: World) -> None:
    w.card.rename(w.drafts / "taken.md")


@attack("cut a card short by its name")
def _(w: World) -> None:
    os.truncate(w.card, 0)


@attack("cut a card short by opening it for reading")
def _(w: World) -> None:
    os.open(w.card, os.O_RDONLY | os.O_TRUNC)


@attack("give a card a second name in the drafts, and write to it there")
def _(w: World) -> None:
    mine = w.drafts / "twin.md"
    os.link(w.card, mine)
    mine.write_text(_FORGED)


@attack("give a draft a second name among the cards")
def _(w: World) -> None:
    os.link(_mine(w), w.space / "projects/planted.md")


@attack("write to a card through a link in the drafts")
def _(w: World) -> None:
    link = w.drafts / "link.md"
    link.symlink_to(w.card)
    link.write_text(_FORGED)


@attack("plant a link among the cards")
def _(w: World) -> None:
    (w.space / "projects/link.md").symlink_to("/etc/passwd")


@attack("make a folder among the cards")
def _(w: World) -> None:
    (w.space / "projects/made").mkdir()


@attack("remove a folder of memory")
def _(w: World) -> None:
    (w.space / "projects/empty").rmdir()


@attack("plant a pipe among the cards")
def _(w: World) -> None:
    os.mkfifo(w.space / "projects/pipe.md")


@attack("plant a socket among the cards")
def _(w: World) -> None:
    socket.socket(socket.AF_UNIX).bind(str(w.space / "projects/s"))


@attack("take away the right to read a card")
def _(w: World) -> None:
    w.card.chmod(0)


@attack("open a card to everybody, by a descriptor for reading")
def _(w: World) -> None:
    os.fchmod(os.open(w.card, os.O_RDONLY), 0o666)


@attack("open a folder of memory to everybody, by a newer call")
def _(w: World) -> None:
    call("fchmodat2", -100, os.fsencode(w.card.parent), 0o777, 0)


@attack("give a card away to another user")
def _(w: World) -> None:
    os.chown(w.card, 12345, 12345)


@attack("date a card back")
def _(w: World) -> None:
    os.utime(w.card, (0, 0))


@attack("date a card back, by a descriptor for reading")
def _(w: World) -> None:
    os.utime(os.open(w.card, os.O_RDONLY), (0, 0))


@attack("put an attribute on a card")
def _(w: World) -> None:
    os.setxattr(w.card, "user.mark", b"x")


@attack("put an attribute on a card, by a descriptor for reading")
def _(w: World) -> None:
    os.setxattr(os.open(w.card, os.O_RDONLY), "user.mark", b"x")


@attack("put an attribute on a card, by a newer call")
def _(w: World) -> None:
    value = ctypes.create_string_buffer(b"x")
    arguments = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 1)
    call("setxattrat", -100, os.fsencode(w.card), 0, b"user.mark", ctypes.byref(arguments), 16)


@attack("set the file system's flags of a card")
def _(w: World) -> None:
    fd = os.open(w.card, os.O_RDONLY)
    flags = ctypes.c_long()
    checked(LIBC.ioctl(fd, ctypes.c_ulong(0x80086601), ctypes.byref(flags)))
    flags.value |= 0x40  # no dump
    checked(LIBC.ioctl(fd, ctypes.c_ulong(0x40086602), ctypes.byref(flags)))


@attack("keep others from opening a card (a lease)")
def _(w: World) -> None:
    fcntl.fcntl(os.open(w.space / "research/cones.md", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)


@attack("hold a lock on a card that it may read")
def _(w: World) -> None:
    fcntl.flock(os.open(w.card, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


@attack("hold the pen's lock")
def _(w: World) -> None:
    fcntl.flock(os.open(w.workspace / ".onepen/pen.lock", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)


@attack("remove the pen's lock")
def _(w: World) -> None:
    (w.workspace / ".onepen/pen.lock").unlink()


@attack("write into the redo log")
def _(w: World) -> None:
    (w.workspace / ".onepen/redo/2.jsonl").write_text("{}\n")


@attack("write into the log of commits")
def _(w: World) -> None:
    (w.space / "logs/commits-2026-11.jsonl").write_text("")


@attack("write into an index")
def _(w: World) -> None:
    (w.space / "projects/_index.md").write_text(_FORGED)


@attack("write into the day log")
def _(w: World) -> None:
    (w.space / "memory/2026-11-29.md").write_text(_FORGED)


@attack("change who the main agent is")
def _(w: World) -> None:
    (w.workspace / "SOUL.md").write_text(_FORGED)


@attack("change the definition of an agent")
def _(w: World) -> None:
    (w.workspace / "agents/researcher.md").write_text(_FORGED)


@attack("change the settings of the workspace")
def _(w: World) -> None:
    (w.workspace / "onepen.toml").write_text("")


@attack("change the snapshot that others start from")
def _(w: World) -> None:
    (w.snapshot / "OPS.md").write_text(_FORGED)


@attack("change its own inputs, the sources that it quotes")
def _(w: World) -> None:
    (w.inputs / "notes.md").write_text(_FORGED)


@attack("change its own transcript")
def _(w: World) -> None:
    (w.task / "1/transcript.jsonl").write_text("")


@attack("change a draft of another task")
def _(w: World) -> None:
    (w.other_task / "1/drafts/d.md").write_text(_FORGED)


@attack("write a card of another client")
def _(w: World) -> None:
    w.other_card.write_text(_FORGED)


@attack("leave a program that git runs")
def _(w: World) -> None:
    (w.workspace / ".git/hooks/post-commit").write_text("#!/bin/sh\n")


@attack("leave a program that Python runs at its start")
def _(w: World) -> None:
    (w.library / "sitecustomize.py").write_text("import os\n")


@attack("leave a program that the person's shell runs")
def _(w: World) -> None:
    with (w.home / ".bashrc").open("a") as file:
        file.write("true\n")


@attack("let itself in by ssh")
def _(w: World) -> None:
    with (w.home / ".ssh/authorized_keys").open("a") as file:
        file.write("ssh-ed25519 AAAA\n")


@attack("write into a card by a descriptor that was left open")
def _(w: World) -> None:
    os.write(w.inherited, b"X")


@attack("change the mode of a card by the processor's other table of calls")
def _(w: World) -> bool:
    """`int 0x80` is chmod of 32 bits where the kernel still knows it."""
    import mmap
    import platform

    if platform.machine() != "x86_64":
        return False
    name = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)  # MAP_32BIT
    name.write(os.fsencode(w.card) + b"\0")
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    where = ctypes.addressof(ctypes.c_char.from_buffer(name))
    code.write(b"\x53\xbb" + where.to_bytes(4, "little") + b"\xb9\x92\x01\x00\x00\xb8\x0f\x00\x00\x00\xcd\x80\x5b\xc3")
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
    return False


@attack("change the mode of a card by the table of x32")
def _(w: World) -> None:
    checked(LIBC.syscall(ctypes.c_long(0x40000000 | 90), os.fsencode(w.card), ctypes.c_long(0o602)))
