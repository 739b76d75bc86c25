"""Attacks on other processes: the orchestrator's secrets in memory, its life, its place among others."""

import ctypes
import fcntl
import os
import resource
import signal
from pathlib import Path

from tests.attacks.attack import attack
from tests.attacks.kernel import LIBC, call, checked
from tests.attacks.world import World


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _spans(w: World, mine: ctypes.Array[ctypes.c_char], offset: int = 0) -> tuple[object, int, object, int, int]:
    here = _Span(ctypes.addressof(mine), 8 if offset else 64)
    there = _Span(ctypes.addressof(w.orchestrator.memory) + offset, 8 if offset else 64)
    return ctypes.byref(here), 1, ctypes.byref(there), 1, 0


@attack("read the environment of another process")
def _(w: World) -> bytes:
    return Path(f"/proc/{w.shell}/environ").read_bytes()


@attack("read the command line of another process")
def _(w: World) -> bool:
    return b"cat" in Path(f"/proc/{w.shell}/cmdline").read_bytes()


@attack("see which processes there are")
def _(w: World) -> bool:
    return Path(f"/proc/{w.orchestrator.pid}") in Path("/proc").iterdir()


@attack("see where the memory of another process lies")
def _(w: World) -> bool:
    return bool(Path(f"/proc/{w.orchestrator.pid}/maps").read_bytes())


@attack("read the memory of the orchestrator (/proc/…/mem)")
def _(w: World) -> bytes:
    fd = os.open(f"/proc/{w.orchestrator.pid}/mem", os.O_RDONLY)
    return os.pread(fd, 64, ctypes.addressof(w.orchestrator.memory))


@attack("write into the memory of the orchestrator (/proc/…/mem)")
def _(w: World) -> None:
    fd = os.open(f"/proc/{w.orchestrator.pid}/mem", os.O_RDWR)
    os.pwrite(fd, b"X", ctypes.addressof(w.orchestrator.memory) + 56)


@attack("read the memory of the orchestrator (process_vm_readv)")
def _(w: World) -> bytes:
    mine = ctypes.create_string_buffer(64)
    call("process_vm_readv", w.orchestrator.pid, *_spans(w, mine))
    return mine.value


@attack("write into the memory of the orchestrator (process_vm_writev)")
def _(w: World) -> None:
    call("process_vm_writev", w.orchestrator.pid, *_spans(w, ctypes.create_string_buffer(b"X" * 8, 8), 56))


@attack("read a file that the orchestrator has open (/proc/…/fd)")
def _(w: World) -> bytes:
    return Path(f"/proc/{w.orchestrator.pid}/fd/{w.orchestrator.hidden}").read_bytes()


@attack("take a descriptor out of the orchestrator (pidfd_getfd)")
def _(w: World) -> bytes:
    fd = call("pidfd_getfd", os.pidfd_open(w.orchestrator.pid), w.orchestrator.hidden, 0)
    return os.pread(fd, 100, 0)


@attack("attach to the orchestrator (ptrace)")
def _(w: World) -> bool:
    return call("ptrace", 0x4206, w.orchestrator.pid, 0, 0) == 0  # PTRACE_SEIZE


@attack("end the orchestrator")
def _(w: World) -> None:
    os.kill(w.orchestrator.pid, signal.SIGKILL)


@attack("stop the orchestrator")
def _(w: World) -> None:
    os.kill(w.orchestrator.pid, signal.SIGSTOP)


@attack("signal a whole group of processes")
def _(w: World) -> None:
    os.killpg(w.orchestrator.pid, signal.SIGTERM)


@attack("signal a thread of the orchestrator (tgkill)")
def _(w: World) -> None:
    call("tgkill", w.orchestrator.pid, w.orchestrator.pid, signal.SIGUSR1)


@attack("signal the orchestrator with a forged sender (rt_sigqueueinfo)")
def _(w: World) -> None:
    info = (ctypes.c_int * 32)(signal.SIGUSR1, 0, -1)
    call("rt_sigqueueinfo", w.orchestrator.pid, signal.SIGUSR1, ctypes.byref(info))


@attack("signal the orchestrator by a descriptor of it")
def _(w: World) -> None:
    call("pidfd_send_signal", call("pidfd_open", w.orchestrator.pid, 0), signal.SIGUSR1, 0, 0)


@attack("let a pipe signal the orchestrator (F_SETOWN)")
def _(w: World) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, w.orchestrator.pid)
    fcntl.fcntl(reader, 10, signal.SIGTERM)  # F_SETSIG
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writer, b"x")


@attack("set limits for the orchestrator (prlimit)")
def _(w: World) -> None:
    resource.prlimit(w.orchestrator.pid, resource.RLIMIT_NOFILE, (8, 8))


@attack("slow the orchestrator down (nice)")
def _(w: World) -> None:
    os.setpriority(os.PRIO_PROCESS, w.orchestrator.pid, 19)


@attack("slow the orchestrator down (idle class)")
def _(w: World) -> None:
    os.sched_setscheduler(w.orchestrator.pid, os.SCHED_IDLE, os.sched_param(0))


@attack("slow the orchestrator's disk down (ioprio)")
def _(w: World) -> None:
    call("ioprio_set", 1, w.orchestrator.pid, 3 << 13)


@attack("drive the orchestrator onto one processor")
def _(w: World) -> None:
    os.sched_setaffinity(w.orchestrator.pid, {0})


@attack("make the orchestrator the first to go when memory runs out")
def _(w: World) -> None:
    Path(f"/proc/{w.orchestrator.pid}/oom_score_adj").write_text("900")


@attack("put the orchestrator into a group of its own making (cgroup)")
def _(w: World) -> None:
    made = Path("/sys/fs/cgroup/unified" if Path("/sys/fs/cgroup/unified").is_dir() else "/sys/fs/cgroup", w.root.name)
    made.mkdir()
    (made / "cgroup.procs").write_text(str(w.orchestrator.pid))


@attack("write into shared memory (System V)")
def _(w: World) -> None:
    LIBC.shmat.restype = ctypes.c_void_p
    ctypes.memmove(LIBC.shmat(w.segment, None, 0), b"X", 1)


@attack("put a message into somebody's queue (System V)")
def _(w: World) -> None:
    checked(LIBC.msgsnd(w.queue, (ctypes.c_long * 4)(1), 8, 0))


@attack("change somebody's semaphore (System V)")
def _(w: World) -> None:
    checked(LIBC.semctl(w.semaphore, 0, 16, 7))


@attack("put a message into somebody's queue (POSIX)")
def _(w: World) -> None:
    checked(LIBC.mq_send(checked(LIBC.mq_open(w.mq, os.O_WRONLY)), b"x", 1, 0))


@attack("change a key of the person's keyring")
def _(w: World) -> None:
    call("keyctl", 2, w.key, b"forged", 6)


@attack("type into somebody's terminal")
def _(w: World) -> None:
    os.write(os.open(w.terminal_name, os.O_WRONLY | os.O_NOCTTY), b"\x1b]0;x\a")


@attack("leave a file for others in the temporary folder")
def _(w: World) -> None:
    w.temporary.write_text("x")


@attack("leave a file for others in shared memory")
def _(w: World) -> None:
    w.shared.write_text("x")


@attack("start a program")
def _(w: World) -> bool:
    reader, writer = os.pipe()
    pid = os.posix_spawn("/bin/echo", ["echo", "x"], {}, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)])
    os.waitpid(pid, 0)
    os.close(writer)
    return os.read(reader, 1) == b"x"


@attack("become another program, from memory and no file (memfd)")
def _(w: World) -> None:
    fd = os.memfd_create("x")
    os.write(fd, Path("/bin/echo").read_bytes())
    os.execve(fd, ["echo", "got DONE"], {})


@attack("fork")
def _(w: World) -> bool:
    return _counted(os.fork)


@attack("fork by the call below (clone)")
def _(w: World) -> bool:
    return _counted(lambda: call("clone", int(signal.SIGCHLD), 0, 0, 0, 0))


@attack("fork by the newer call (clone3)")
def _(w: World) -> bool:
    arguments = (ctypes.c_uint64 * 8)(0, 0, 0, 0, int(signal.SIGCHLD))
    return _counted(lambda: call("clone3", ctypes.byref(arguments), 64))


@attack("fork without end (300 times)")
def _(w: World) -> bool:
    pids = []
    try:
        for _ in range(300):
            pid = os.fork()
            if pid == 0:
                signal.pause()
                os._exit(0)
            pids.append(pid)
    except OSError:
        pass
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return len(pids) == 300


def _counted(fork) -> bool:  # type: ignore[no-untyped-def]
    reader, writer = os.pipe()
    if fork() == 0:
        os.write(writer, b"x")
        os._exit(0)
    os.close(writer)
    return os.read(reader, 1) == b"x"
