"""What there is to harm: a workspace with several clients, a home, an orchestrator, its sockets, its memory.

An attack has worked when something of it has changed that isn't the worker's own, when a secret was said, or when the
attack shows what it has got (`DONE`). So nobody has to think of what exactly an attack would do: `traces` looks at
everything.
"""

import ctypes
import fcntl
import hashlib
import os
import pty
import resource
import secrets
import signal
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.attacks.kernel import LIBC, call

DONE = b"DONE"
_FLAGS = 0x80086601  # FS_IOC_GETFLAGS
_IPC_CREATE, _IPC_REMOVE = 0o1000 | 0o600, 0
_USER_KEYRING = -4


class Orchestrator:
    """A process that holds what a worker wants: a secret in memory, descriptors, sockets; it takes no signal."""

    def __init__(self, card: Path, secret: str) -> None:
        self.memory = ctypes.create_string_buffer(64)
        """At the same address in each process that is forked from this one."""
        self.hidden = os.open(card.parent.parent / "hidden", os.O_RDWR | os.O_CREAT)
        self.card = os.open(card, os.O_RDWR)
        ready, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            with suppress(BaseException):
                signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
                os.setsid()
                self.memory.value = secret.encode()
                os.write(self.hidden, secret.encode())
                os.chdir(card.parent)
                os.write(tell, b".")
                time.sleep(60)
            os._exit(0)
        os.read(ready, 1)
        for fd in (ready, tell, self.hidden, self.card):
            os.close(fd)
        (card.parent.parent / "hidden").unlink()

    def state(self) -> str:
        """All that somebody may have done to it."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except FileNotFoundError:
            return "gone"
        kept = ("State", "TracerPid", "SigPnd", "ShdPnd", "Cpus_allowed")
        lines = [line for line in status.splitlines() if line.partition(":")[0] in kept]
        lines[0] = "alive" if lines[0].split()[1] in "RSD" else lines[0]
        parts = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        nice, policy = parts[16], parts[38]
        score = Path(f"/proc/{self.pid}/oom_score_adj").read_text()
        limits = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        priority = LIBC.syscall(ctypes.c_long(252 if os.uname().machine == "x86_64" else 31), 1, self.pid)
        held = ctypes.create_string_buffer(8)
        local, remote = _Span(ctypes.addressof(held), 8), _Span(ctypes.addressof(self.memory) + 56, 8)
        with suppress(OSError):
            call("process_vm_readv", self.pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
        groups = Path(f"/proc/{self.pid}/cgroup").read_text()
        return repr((lines, nice, policy, score, limits, priority, held.raw, groups))

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass
class World:
    """One small world for one attack; paths of what is there, and what the attacker is told about it."""

    root: Path
    secret: str = field(default_factory=lambda: f"secret-{secrets.token_hex(8)}")
    known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.workspace = self.root / "w"
        self.space = self.workspace / "clients/acme"
        self.task = self.space / "staging/qw3cm1gk"
        self.drafts, self.work, self.inputs = self.task / "1/drafts", self.task / "1/work", self.task / "inputs"
        self.card = self.space / "projects/kiln.md"
        self.snapshot = self.workspace / ".onepen/cache/context/abc"
        self.other_card = self.workspace / "clients/beta/projects/prices.md"
        self.other_task = self.space / "staging/rt4dn2hm"
        self.home = self.root / "home"
        self.library = self.root / "lib"
        self.temporary = Path("/tmp") / f"onepen-attack-{secrets.token_hex(4)}"
        self.shared = Path("/dev/shm") / self.temporary.name
        self._build()

    def _build(self) -> None:
        said = f"# Card\n\n{self.secret}\n"
        plain = "# Card\n\nNothing that a worker may not read.\n"
        for path, text in {
            self.card: plain,
            self.space / "projects/_index.md": plain,
            self.space / "research/cones.md": plain,
            self.inputs / "notes.md": plain,
            self.snapshot / "OPS.md": plain,
            self.library / "package/__init__.py": "",
            self.space / "MEMORY.md": said,
            self.space / "memory/2026-11-29.md": said,
            self.space / "chats/2026-11-29-a.jsonl": said,
            self.space / "logs/commits-2026-11.jsonl": said,
            self.task / "run.jsonl": said,
            self.task / "1/transcript.jsonl": said,
            self.other_task / "inputs/n.md": said,
            self.other_task / "1/drafts/d.md": said,
            self.other_card: said,
            self.workspace / "SOUL.md": said,
            self.workspace / "USER.md": said,
            self.workspace / "agents/researcher.md": said,
            self.workspace / "onepen.toml": said,
            self.workspace / ".onepen/pen.lock": "",
            self.workspace / ".onepen/redo/1.jsonl": said,
            self.workspace / ".git/hooks/post-commit.sample": "",
            self.home / ".bashrc": said,
            self.home / ".ssh/authorized_keys": said,
            self.home / ".config/onepen/config.toml": f'key = "{self.secret}"\n',
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (self.space / "projects/empty").mkdir()
        (self.home / "link").symlink_to(self.secret)
        self.drafts.mkdir(parents=True)
        self.work.mkdir()

    @contextmanager
    def alive(self) -> Iterator[None]:
        """With its processes, sockets, keys and shared memory."""
        self.orchestrator = Orchestrator(self.card, self.secret)
        self.inherited = os.open(self.card, os.O_RDWR)
        self.folder = os.open(self.other_card.parent, os.O_RDONLY)
        environment = {"TOKEN": self.secret}
        hold, self._hold = os.pipe()
        self.shell = os.posix_spawn(
            "/bin/cat", ["cat", "-", f"--{self.secret}"][:2], environment, file_actions=[(os.POSIX_SPAWN_DUP2, hold, 0)]
        )
        os.close(hold)
        self.tcp, self.tcp6, self.mptcp = _tcp(socket.AF_INET, 0), _tcp(socket.AF_INET6, 0), _tcp(socket.AF_INET, 262)
        self.udp, self.udplite = _udp(0), _udp(136)
        self.stream, self.datagram = _unix(self.root / "s", False), _unix(self.root / "d", True)
        self.abstract = _unix(None, False, "\0" + self.root.name)
        self.listening = [s for s in (self.tcp, self.tcp6, self.mptcp, self.stream, self.abstract) if s is not None]
        self.receiving = [s for s in (self.udp, self.udplite, self.datagram) if s is not None]
        self.terminal, self.their_terminal = pty.openpty()
        self.terminal_name = os.ttyname(self.their_terminal)
        os.set_blocking(self.terminal, False)
        self.segment = call("shmget", 0, 4096, _IPC_CREATE)
        LIBC.shmat.restype = ctypes.c_void_p
        self.attached = LIBC.shmat(self.segment, None, 0)
        ctypes.memmove(self.attached, self.secret.encode(), len(self.secret))
        self.queue = call("msgget", 0, _IPC_CREATE)
        self.semaphore = call("semget", 0, 1, _IPC_CREATE)
        self.mq = b"/" + self.root.name.encode()
        self.mq_fd = LIBC.mq_open(self.mq, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK, 0o600, None)
        self.key = LIBC.syscall(
            ctypes.c_long(248 if os.uname().machine == "x86_64" else 217),
            b"user",
            self.root.name.encode(),
            self.secret.encode(),
            len(self.secret),
            ctypes.c_long(_USER_KEYRING),
        )
        self.received = b""
        try:
            yield
        finally:
            self._bury()

    def _bury(self) -> None:
        self.orchestrator.end()
        for fd in (self.inherited, self.folder, self._hold, self.terminal, self.their_terminal):
            os.close(fd)
        os.kill(self.shell, signal.SIGKILL)
        os.waitpid(self.shell, 0)
        for one in (*self.listening, *self.receiving):
            one.close()
        LIBC.shmdt(ctypes.c_void_p(self.attached))
        LIBC.shmctl(self.segment, _IPC_REMOVE, None)
        LIBC.msgctl(self.queue, _IPC_REMOVE, None)
        LIBC.semctl(self.semaphore, 0, _IPC_REMOVE)
        LIBC.mq_unlink(self.mq)
        if self.mq_fd >= 0:
            os.close(self.mq_fd)
        if self.key > 0:
            with suppress(OSError):
                call("keyctl", 9, self.key, _USER_KEYRING)  # KEYCTL_UNLINK
        for path in (self.temporary, self.shared, self.root / "s", self.root / "d"):
            path.unlink(missing_ok=True)
        for groups in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            with suppress(OSError):
                Path(groups, self.root.name).rmdir()

    def traces(self) -> frozenset[str]:
        """Everything that isn't the attacker's own, as it is now."""
        return frozenset((*self._files(), *self._things(), f"orchestrator {self.orchestrator.state()}"))

    def _files(self) -> Iterator[str]:
        own = (self.drafts, self.work)
        folders = [self.root]
        while folders:
            folder = folders.pop()
            for entry in os.scandir(folder):
                path = Path(entry.path)
                yield self._file(path)
                if entry.is_dir(follow_symlinks=False) and path not in own:
                    folders.append(path)

    def _file(self, path: Path) -> str:
        found = path.lstat()
        own = path in (self.drafts, self.work)
        told: list[object] = [path, oct(found.st_mode), found.st_uid, found.st_gid]
        if stat.S_ISREG(found.st_mode) or (stat.S_ISDIR(found.st_mode) and not own):
            told += [found.st_size, found.st_mtime_ns, found.st_nlink]
            told.append(sorted((name, os.getxattr(path, name)) for name in os.listxattr(path)))
        if stat.S_ISREG(found.st_mode):
            try:
                fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            except OSError as e:
                return " ".join(map(str, [*told, e]))
            try:
                told.append(hashlib.sha256(os.read(fd, 1 << 20)).hexdigest())
                flags = ctypes.c_long()
                LIBC.ioctl(fd, ctypes.c_ulong(_FLAGS), ctypes.byref(flags))
                told.append(flags.value & ~0x80000)
            finally:
                os.close(fd)
        return " ".join(map(str, told))

    def _things(self) -> Iterator[str]:
        """Locks, sockets, terminals, shared memory and the like."""
        for path in (self.card, self.space / "research/cones.md", self.workspace / ".onepen/pen.lock"):
            with suppress(OSError):
                fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    yield f"{path} is free"
                finally:
                    os.close(fd)
        for one in self.listening:
            with suppress(OSError):
                taken, _ = one.accept()
                taken.settimeout(0.2)
                with taken, suppress(OSError):
                    self.received += taken.recv(64) or b"opened"
        for one in self.receiving:
            with suppress(OSError):
                self.received += one.recv(64)
        with suppress(OSError):
            self.received += os.read(self.terminal, 64)
        yield f"received {self.received!r}"
        yield f"shared {ctypes.string_at(self.attached, 64)!r}"
        yield f"semaphore {LIBC.semctl(self.semaphore, 0, 12)}"
        queued = (ctypes.c_long * 32)()
        LIBC.msgctl(self.queue, 2, ctypes.byref(queued))
        yield f"queued {list(queued[6:12])}"
        with suppress(OSError):
            buffer = ctypes.create_string_buffer(1 << 14)
            if self.mq_fd >= 0 and LIBC.mq_receive(self.mq_fd, buffer, 1 << 14, None) > 0:
                yield "something in the queue"
        for path in (self.temporary, self.shared):
            yield f"{path} {path.exists()}"
        yield f"key {self._key()!r}"

    def _key(self) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        with suppress(OSError):
            call("keyctl", 11, self.key, buffer, 64)
        return buffer.value


def _tcp(family: int, protocol: int) -> socket.socket | None:
    try:
        one = socket.socket(family, socket.SOCK_STREAM, protocol)
        one.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        with suppress(OSError):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
        one.listen()
    except OSError:
        return None
    one.setblocking(False)
    return one


def _udp(protocol: int) -> socket.socket | None:
    try:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, protocol)
        one.bind(("127.0.0.1", 0))
    except OSError:
        return None
    one.setblocking(False)
    return one


def _unix(path: Path | None, datagram: bool, name: str = "") -> socket.socket:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if datagram else socket.SOCK_STREAM)
    one.bind(name or str(path))
    if not datagram:
        one.listen()
    one.setblocking(False)
    return one
