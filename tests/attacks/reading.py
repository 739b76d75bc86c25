"""Attacks on what a worker must not know: files of others, and what is to be learned without opening them."""

import ctypes
import os
from pathlib import Path

from tests.attacks.attack import attack
from tests.attacks.kernel import LIBC, call
from tests.attacks.world import World


@attack("read a card of another client")
def _(w: World) -> bytes:
    return w.other_card.read_bytes()


@attack("read it through a link in the drafts")
def _(w: World) -> bytes:
    link = w.drafts / "link.md"
    link.symlink_to(w.other_card)
    return link.read_bytes()


@attack("read it through a second name in the drafts")
def _(w: World) -> bytes:
    twin = w.drafts / "twin.md"
    os.link(w.other_card, twin)
    return twin.read_bytes()


@attack("read it by way of its own root folder (/proc/self/root)")
def _(w: World) -> bytes:
    return Path(f"/proc/self/root{w.other_card}").read_bytes()


@attack("read it by a folder that was left open")
def _(w: World) -> bytes:
    return os.read(os.open(w.other_card.name, os.O_RDONLY, dir_fd=w.folder), 100)


@attack("read it by way of another process's root folder")
def _(w: World) -> bytes:
    return Path(f"/proc/{w.orchestrator.pid}/root{w.other_card}").read_bytes()


@attack("read by way of the orchestrator's current folder")
def _(w: World) -> bytes:
    return Path(f"/proc/{w.orchestrator.pid}/cwd/../MEMORY.md").read_bytes()


@attack("read it by its handle, without its name")
def _(w: World) -> bytes:
    handle = (ctypes.c_uint32 * 34)(128)
    mount = ctypes.c_int()
    call("name_to_handle_at", -100, os.fsencode(w.other_card), ctypes.byref(handle), ctypes.byref(mount), 0)
    top = os.open("/", os.O_RDONLY) if not w.root.is_relative_to("/tmp") else os.open(w.root, os.O_RDONLY)
    return os.read(call("open_by_handle_at", top, ctypes.byref(handle), os.O_RDONLY), 100)


@attack("list the cards of another client")
def _(w: World) -> bool:
    return any(w.other_card.parent.iterdir())


@attack("list all clients")
def _(w: World) -> bool:
    return any((w.workspace / "clients").iterdir())


@attack("read what the main agent has learned")
def _(w: World) -> bytes:
    return (w.space / "MEMORY.md").read_bytes()


@attack("read the day log")
def _(w: World) -> bytes:
    return (w.space / "memory/2026-11-29.md").read_bytes()


@attack("read a chat")
def _(w: World) -> bytes:
    return (w.space / "chats/2026-11-29-a.jsonl").read_bytes()


@attack("read who the person is")
def _(w: World) -> bytes:
    return (w.workspace / "USER.md").read_bytes()


@attack("read the inputs of another task")
def _(w: World) -> bytes:
    return (w.other_task / "inputs/n.md").read_bytes()


@attack("read the redo log")
def _(w: World) -> bytes:
    return (w.workspace / ".onepen/redo/1.jsonl").read_bytes()


@attack("read the person's keys")
def _(w: World) -> bytes:
    return (w.home / ".config/onepen/config.toml").read_bytes()


@attack("read the passwords of the system")
def _(w: World) -> bool:
    return bool(Path("/etc/shadow").read_bytes())


@attack("read who has an account here")
def _(w: World) -> bool:
    return bool(Path("/etc/passwd").read_bytes())


@attack("read the disk beneath the file system")
def _(w: World) -> bool:
    parts = Path("/proc/partitions").read_text().split()
    return bool(os.read(os.open(f"/dev/{parts[-1]}", os.O_RDONLY), 512))


@attack("learn that a file exists")
def _(w: World) -> bool:
    return w.other_card.exists()


@attack("learn how large a file is, whose, and how old")
def _(w: World) -> bool:
    return w.other_card.stat().st_size > 0


@attack("learn where a link leads")
def _(w: World) -> bytes:
    return os.fsencode((w.home / "link").readlink())


@attack("learn how full the disk is")
def _(w: World) -> bool:
    return os.statvfs(w.other_card).f_bfree > 0


@attack("learn a file's attributes")
def _(w: World) -> bool:
    return isinstance(os.listxattr(w.other_card), list)


@attack("watch what another client's folder gets (inotify)")
def _(w: World) -> bool:
    return call("inotify_add_watch", call("inotify_init1", 0), os.fsencode(w.other_card.parent), 0xFFF) > 0


@attack("watch a whole file system (fanotify)")
def _(w: World) -> bool:
    return call("fanotify_init", 0, 0) >= 0


@attack("read what the kernel logs")
def _(w: World) -> bool:
    return call("syslog", 3, ctypes.create_string_buffer(4096), 4096) > 0


@attack("read what is in another's temporary folder")
def _(w: World) -> bool:
    return any(Path("/tmp").iterdir())


@attack("read a key of the person's keyring")
def _(w: World) -> bytes:
    buffer = ctypes.create_string_buffer(64)
    call("keyctl", 11, w.key, buffer, 64)
    return buffer.value


@attack("read shared memory (System V)")
def _(w: World) -> bytes:
    LIBC.shmat.restype = ctypes.c_void_p
    at = LIBC.shmat(w.segment, None, 0o10000)
    return b"" if at in (None, ctypes.c_void_p(-1).value) else ctypes.string_at(at, 64)
