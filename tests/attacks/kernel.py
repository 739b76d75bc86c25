"""System calls by number, for what Python has no word for; attacks use them as a hostile worker would."""

import ctypes
import os
import platform

LIBC = ctypes.CDLL(None, use_errno=True)

_NUMBERS = {
    "x86_64": {
        "ptrace": 101, "syslog": 103, "setpriority": 141, "semget": 64, "semctl": 66, "shmget": 29,
        "shmat": 30, "msgget": 68, "msgsnd": 69, "clone": 56, "tgkill": 234, "mq_open": 240, "mq_timedsend": 242,
        "ioprio_set": 251, "add_key": 248, "keyctl": 250, "rt_sigqueueinfo": 129, "perf_event_open": 298,
        "fanotify_init": 300, "name_to_handle_at": 303, "open_by_handle_at": 304, "process_vm_readv": 310,
        "process_vm_writev": 311, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323,
        "fchmodat": 268, "utimensat": 280, "inotify_add_watch": 254, "inotify_init1": 294, "openat": 257,
    },
    "aarch64": {
        "ptrace": 117, "syslog": 116, "setpriority": 140, "semget": 190, "semctl": 191, "shmget": 194, "shmat": 196,
        "msgget": 186, "msgsnd": 189, "clone": 220, "tgkill": 131, "mq_open": 180, "mq_timedsend": 182,
        "ioprio_set": 30, "add_key": 217, "keyctl": 219, "rt_sigqueueinfo": 138, "perf_event_open": 241,
        "fanotify_init": 262, "name_to_handle_at": 264, "open_by_handle_at": 265, "process_vm_readv": 270,
        "process_vm_writev": 271, "memfd_create": 279, "bpf": 280, "execveat": 281, "userfaultfd": 282,
        "fchmodat": 53, "utimensat": 88, "inotify_add_watch": 27, "inotify_init1": 26, "openat": 56,
    },
}  # fmt: skip
_EVERYWHERE = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "open_tree": 428, "pidfd_open": 434, "clone3": 435, "openat2": 437,
    "pidfd_getfd": 438, "fchmodat2": 452, "setxattrat": 463, "file_setattr": 469,
}  # fmt: skip


def call(name: str, *arguments: object) -> int:
    """Make a system call; raises OSError."""
    number = {**_EVERYWHERE, **_NUMBERS.get(platform.machine(), {})}.get(name)
    if number is None:
        raise NotImplementedError(f"{name} on {platform.machine()}")
    return checked(LIBC.syscall(ctypes.c_long(number), *map(_plain, arguments)))


def checked(result: int) -> int:
    """What the C library returned; raises the OSError that it means."""
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _plain(argument: object) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument
