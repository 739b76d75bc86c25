"""The seccomp filter, run here as the kernel would run it, for processors that aren't ours, too."""

import errno
import signal

import pytest

from onepen.subagents.sandbox import calls
from onepen.subagents.sandbox.filter import ALLOW, DENY, DONE, MISSING, Instruction, Kernel, packed, program

KILL = 0x80000000
MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
KERNELS = [Kernel(machine, landlock) for machine in MACHINES for landlock in (1, 3, 7)]
OTHER = 4711
NAMESPACE = 0x10000000


def answer(kernel: Kernel, name: str | int, *arguments: int, commands: bool = False, machine: int | None = None) -> int:
    """What a worker with process id 42 is answered."""
    number = calls.numbers(kernel.machine)[name] if isinstance(name, str) else name
    words = [number, MACHINES[kernel.machine] if machine is None else machine, 0, 0]
    for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]:
        words += [argument & 0xFFFFFFFF, argument >> 32 & 0xFFFFFFFF]
    return run(program(kernel, commands=commands, pid=42), words)


def run(instructions: tuple[Instruction, ...], words: list[int]) -> int:
    held, place = 0, 0
    while True:
        code, true, false, number = instructions[place]
        place += 1
        match code:
            case 0x06:
                return number
            case 0x20:
                held = words[number // 4]
            case 0x54:
                held &= number
            case 0x15 | 0x25 | 0x35 | 0x45:
                holds = {
                    0x15: held == number, 0x25: held > number, 0x35: held >= number, 0x45: bool(held & number)
                }[code]  # fmt: skip
                place += true if holds else false
            case _:
                raise AssertionError(code)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_worker_reads_writes_and_computes(kernel: Kernel) -> None:
    for name in ("read", "write", "openat", "mmap", "futex", "clock_gettime", "getrandom", "exit_group", "renameat"):
        assert answer(kernel, name) == ALLOW, name


@pytest.mark.parametrize("commands", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_what_is_not_named_is_denied(kernel: Kernel, commands: bool) -> None:
    """The list says what is let through: everything else is closed, what comes later looks like an older kernel."""
    named = set(calls.numbers(kernel.machine).values())
    for number in range(calls.NEWEST + 1):
        if number not in named:
            assert answer(kernel, number, commands=commands) == DENY, number
    assert answer(kernel, calls.NEWEST + 1, commands=commands) == MISSING


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_another_table_of_calls_ends_the_process(kernel: Kernel) -> None:
    assert answer(kernel, "read", machine=0x40000003) == KILL
    if kernel.machine == "x86_64":
        assert answer(kernel, 0x40000000) == KILL


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_programs_and_processes_are_for_commands(kernel: Kernel) -> None:
    for name in ("execve", "execveat"):
        assert answer(kernel, name) == DENY
        assert answer(kernel, name, commands=True) == ALLOW
    thread, fork = 0x3D0F00, int(signal.SIGCHLD)
    assert answer(kernel, "clone", thread) == ALLOW
    assert answer(kernel, "clone", fork) == DENY
    assert answer(kernel, "clone", fork, commands=True) == ALLOW
    for wanted in (NAMESPACE, NAMESPACE | thread, 0x8000):
        assert answer(kernel, "clone", wanted) == DENY
        assert answer(kernel, "clone", wanted, commands=True) == DENY
    assert answer(kernel, "clone3") == answer(kernel, "clone3", commands=True) == MISSING


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_modes_and_times_stay_as_they_are(kernel: Kernel) -> None:
    for name in calls.TOUCHES & calls.numbers(kernel.machine).keys():
        assert answer(kernel, name) == DENY
        assert answer(kernel, name, commands=True) == DONE
    for name in calls.ATTRIBUTES:
        assert answer(kernel, name) & 0xFFFF == errno.ENOTSUP


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_signals_reach_others_only_where_the_kernel_tells_whose_they_are(kernel: Kernel) -> None:
    for name in ("kill", "tkill", "tgkill"):
        assert answer(kernel, name, 42, signal.SIGABRT) == ALLOW
        assert answer(kernel, name, OTHER, signal.SIGKILL) == (ALLOW if kernel.landlock >= 6 else DENY)
        assert answer(kernel, name, OTHER, signal.SIGKILL, commands=True) == ALLOW


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_reading_cuts_nothing_short(kernel: Kernel) -> None:
    """Landlock knows of it from its third version on."""
    cut, creat = 0o1000, 0o100
    expected = DENY if kernel.landlock < 3 else ALLOW
    assert answer(kernel, "openat", 0, 1, cut) == expected
    assert answer(kernel, "openat", 0, 1, cut | 3) == expected
    assert answer(kernel, "truncate") == answer(kernel, "openat2") == expected
    assert answer(kernel, "openat", 0, 1, cut | creat | 1) == answer(kernel, "openat", 0, 1, cut | 2) == ALLOW
    assert answer(kernel, "openat", 0, 1, 0) == ALLOW


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_pair_of_connected_sockets_is_all_there_is(kernel: Kernel) -> None:
    nonblocking, datagram, address = 0o4000, 2, 1 << 33
    assert answer(kernel, "socketpair", 1, 1 | nonblocking) == DENY
    assert answer(kernel, "socketpair", 1, 1 | nonblocking, commands=True) == ALLOW
    assert answer(kernel, "socketpair", 1, datagram, commands=True) == DENY
    assert answer(kernel, "socketpair", 2, 1, commands=True) == DENY
    assert answer(kernel, "sendto", 3, 1, 1, 0, 0, commands=True) == ALLOW
    assert answer(kernel, "sendto", 3, 1, 1, 0, address, commands=True) == DENY


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_limits_and_places_of_others_are_not_touched(kernel: Kernel) -> None:
    for name in ("prlimit64", "sched_setaffinity"):
        assert answer(kernel, name, 0) == ALLOW
        assert answer(kernel, name, OTHER) == DENY


@pytest.mark.parametrize("commands", [False, True])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_a_program_that_the_kernel_takes(kernel: Kernel, commands: bool) -> None:
    instructions = program(kernel, commands=commands, pid=42)
    assert len(instructions) < 4096  # BPF_MAXINSNS
    assert len(packed(instructions)) == 8 * len(instructions)
    for place, (code, true, false, _) in enumerate(instructions):
        assert max(true, false) <= 255
        if code & 7 == 5:
            assert place + 1 + max(true, false) < len(instructions)
    assert instructions[-1][0] == 0x06


def test_a_processor_that_we_do_not_know_has_no_filter() -> None:
    assert not Kernel("riscv64", 7).can
    with pytest.raises(KeyError):
        program(Kernel("riscv64", 7), commands=False, pid=1)
