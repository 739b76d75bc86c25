"""The seccomp filter of a worker: a small program in the kernel's own language, made here and looked at by tests.

The kernel runs it at each system call, with the number, the processor and the arguments (seccomp(2), bpf(4)). It can't
follow a pointer, so it knows no paths: those are Landlock's. What it answers: calls.py lists what is let through as it
is; some calls are let through for some arguments only; all else is denied (EPERM). A call of another processor's
table, by which all this could be walked around, ends the process.
"""

import errno
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from .calls import ATTRIBUTES, COMMANDS, FILES, MEMORY, NEWEST, SELF, TOUCHES, numbers

ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL = 0x80000000
DENY = _ERRNO | errno.EPERM
MISSING = _ERRNO | errno.ENOSYS
DONE = _ERRNO  # "done", although nothing was: the answer for what a program can do without
_NOT_HERE = _ERRNO | errno.ENOTSUP
_NO_TERMINAL = _ERRNO | errno.ENOTTY

_MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_…
_X32 = 0x40000000  # x86_64: the bit of a second table of numbers for the same calls

_LOAD, _EQUAL, _ABOVE, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x54, 0x06
_NUMBER, _MACHINE = 0, 4

_APART = 0x7E028080  # CLONE_NEW… (time, mount, cgroup, uts, ipc, user, pid, net), CLONE_PARENT: out of its own family
_THREAD = 0x00010000
_IOCTLS = (0x5401, 0x5402, 0x5403, 0x5404, 0x540F, 0x5410, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C542A)
_FCNTLS = (*range(8), 9, 12, 13, 14, 36, 37, 38, 1030, 1031, 1032, 1033, 1034)
_PRCTLS = (1, 2, 3, 4, 15, 16, 21, 22, 23, 24, 27, 29, 30, 36, 37, 38, 39, 42, 47, 52, 53, 0x53564D41)
_UNIX, _STREAM = 1, 1
_SCOPES = 6  # the version of Landlock that knows whom a process may signal
_O_TRUNC, _O_ACCMODE = 0x200, 3

Instruction = tuple[int, int, int, int]
"""What to do, where to jump if true, if false (counted from the next one), and a number."""
Block = tuple[Instruction, ...]
_LAYOUT = struct.Struct("=HBBI")
SIZE = _LAYOUT.size
"""Bytes of an instruction, as the kernel has it."""


@dataclass(frozen=True)
class Kernel:
    """What the filter depends on: the processor as uname names it, and the version of Landlock (0: none)."""

    machine: str
    landlock: int

    @property
    def can(self) -> bool:
        return self.machine in _MACHINES


def program(kernel: Kernel, *, commands: bool, pid: int) -> tuple[Instruction, ...]:
    """The filter of a worker with this process id; raises KeyError for a processor that we don't know."""
    known = numbers(kernel.machine)
    plain = FILES | MEMORY | SELF | (COMMANDS if commands else frozenset())
    if kernel.landlock < 3:  # it doesn't know yet that cutting a file short is writing
        plain -= {"truncate", "openat2"}
    judged = _judged(kernel.landlock, commands, pid)
    plain -= judged.keys()
    body: list[Instruction] = [(_LOAD, 0, 0, _MACHINE), (_EQUAL, 1, 0, _MACHINES[kernel.machine]), _answer(_KILL)]
    body.append((_LOAD, 0, 0, _NUMBER))
    if kernel.machine == "x86_64":
        body += [(_AT_LEAST, 0, 1, _X32), _answer(_KILL)]
    for name, block in judged.items():
        if name in known:
            body += [(_EQUAL, 0, len(block), known[name]), *block]
    for first, last in _runs(known[name] for name in plain if name in known):
        body += [(_AT_LEAST, 0, 2, first), (_ABOVE, 1, 0, last), _answer(ALLOW)]
    body += [(_ABOVE, 0, 1, NEWEST), _answer(MISSING), _answer(DENY)]
    return tuple(body)


def together(kernel: Kernel) -> tuple[Instruction, ...]:
    """A filter beside that of a worker, for a command of it: what it starts can't leave its process group, so that one
    signal ends all of it. Raises KeyError for a processor that we don't know.
    """
    session, group = (numbers(kernel.machine)[name] for name in ("setsid", "setpgid"))
    leave = ((_LOAD, 0, 0, _NUMBER), (_EQUAL, 1, 0, session), (_EQUAL, 0, 1, group))
    return (*leave, _answer(DENY), _answer(ALLOW))


def code(kernel: Kernel, *, commands: bool, pid: int) -> bytes:
    """The filter of a worker as the kernel takes it; where it doesn't depend on the process it is made once."""
    return _code(kernel, commands, pid if kernel.landlock < _SCOPES else 0)


@cache
def _code(kernel: Kernel, commands: bool, pid: int) -> bytes:
    return packed(program(kernel, commands=commands, pid=pid))


def packed(instructions: Sequence[Instruction]) -> bytes:
    """As the kernel takes it: `struct sock_filter`, one after the other."""
    return b"".join(_LAYOUT.pack(*one) for one in instructions)


def _judged(landlock: int, commands: bool, pid: int) -> dict[str, Block]:
    """Calls that aren't simply let through or denied, each with what decides."""
    alone = _only(0, (0,))  # itself, by the number that stands for it
    # With Landlock's scope of signals the kernel itself lets a worker reach its own domain only.
    signals = (_answer(ALLOW),) if commands or landlock >= _SCOPES else _only(0, (pid,))
    calls: dict[str, Block] = {
        "clone": _without(0, _APART) if commands else _thread(),
        "clone3": (_answer(MISSING),),  # its flags lie behind a pointer; libraries fall back to clone
        "ioctl": _only(1, _IOCTLS, otherwise=_NO_TERMINAL),  # the others set flags of files, or type into terminals
        "fcntl": _only(1, _FCNTLS),  # the others send signals, or keep a file from being opened
        "prctl": _only(0, _PRCTLS),
        "prlimit64": alone,
        "personality": _only(0, (0, 0xFFFFFFFF)),
        "sched_setaffinity": alone,
        **dict.fromkeys(("kill", "tgkill", "tkill"), signals),
        **dict.fromkeys(TOUCHES, (_answer(DONE if commands else DENY),)),
        **dict.fromkeys(ATTRIBUTES, (_answer(_NOT_HERE),)),
    }
    if landlock < 3:
        calls |= {"open": _no_cut(1), "openat": _no_cut(2)}
    if commands:
        calls |= {
            "socketpair": (*_require(0, _UNIX), *_require(1, _STREAM, 0xF), _answer(ALLOW)),
            "sendto": (*_require(4, 0), *_require(4, 0, upper=True), _answer(ALLOW)),
            "mknod": _only(1, (0o010000,), 0o170000),
            "mknodat": _only(2, (0o010000,), 0o170000),
            "setpriority": (*_require(0, 0), *_only(1, (0,))),
        }
        if landlock >= _SCOPES:
            calls |= dict.fromkeys(("pidfd_open", "pidfd_send_signal"), (_answer(ALLOW),))
    return calls


def _answer(what: int) -> Instruction:
    return (_RETURN, 0, 0, what)


def _argument(index: int, upper: bool = False) -> Instruction:
    """One half of it (both processors have the lower one first), which is all that the kernel takes of an int."""
    return (_LOAD, 0, 0, 16 + 8 * index + 4 * upper)


def _only(index: int, values: Sequence[int], mask: int | None = None, otherwise: int = DENY) -> Block:
    """Let through if an argument is one of these."""
    masked: Block = () if mask is None else ((_AND, 0, 0, mask),)
    tests = ((_EQUAL, len(values) - k, 0, value) for k, value in enumerate(values))
    return (_argument(index), *masked, *tests, _answer(otherwise), _answer(ALLOW))


def _require(index: int, value: int, mask: int | None = None, upper: bool = False) -> Block:
    """Deny unless an argument is this; what follows decides further."""
    masked: Block = () if mask is None else ((_AND, 0, 0, mask),)
    return (_argument(index, upper), *masked, (_EQUAL, 1, 0, value), _answer(DENY))


def _without(index: int, bits: int) -> Block:
    return (_argument(index), (_ANY_BIT, 0, 1, bits), _answer(DENY), _answer(ALLOW))


def _thread() -> Block:
    """A thread is no new process."""
    return (_argument(0), (_ANY_BIT, 1, 0, _THREAD), _answer(DENY), *_without(0, _APART))


def _no_cut(index: int) -> Block:
    """A file that is opened for reading must not be cut short by it."""
    writes = ((_AND, 0, 0, _O_ACCMODE), (_EQUAL, 2, 0, 1), (_EQUAL, 1, 0, 2))  # O_WRONLY, O_RDWR
    return (_argument(index), (_ANY_BIT, 0, 4, _O_TRUNC), *writes, _answer(DENY), _answer(ALLOW))


def _runs(values: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers without a gap, as the first and the last of each run."""
    runs: list[tuple[int, int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    return runs
