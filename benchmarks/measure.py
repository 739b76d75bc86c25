"""Run a program a few times and say how long it took and how much memory it held at most."""

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# ru_maxrss counts kibibytes on Linux and bytes on macOS.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024

# On Linux a process inherits the memory peak of the process that it was forked from, so this one (large, with its test
# runner around it) can't start what it measures. A bare interpreter can: nothing that we measure is smaller.
LAUNCHER = """
import os, sys, time
report, command = int(sys.argv[1]), sys.argv[2:]
os.set_inheritable(report, False)
began = time.perf_counter()
child = os.fork()
if child == 0:
    try:
        os.execvp(command[0], command)
    except OSError as e:
        os.write(2, f"{command[0]}: {e.strerror}".encode())
        os._exit(127)
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - began
cpu = usage.ru_utime + usage.ru_stime
os.write(report, f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss} {seconds} {cpu}".encode())
"""


class ProgramFailed(Exception):
    """Raised when a measured program ends with another exit code than 0; a figure for it would mean nothing."""

    def __init__(self, command: Sequence[str], code: int, stderr: str) -> None:
        super().__init__(f"{' '.join(command)}: exit {code}\n{stderr.strip()}")


@dataclass(frozen=True)
class Run:
    """One run of a program: wall time and processor time in seconds, peak resident memory in bytes, its stderr."""

    seconds: float
    peak_bytes: int
    stderr: str
    cpu: float = 0.0


@dataclass(frozen=True)
class Figure:
    """What several runs of one program came to: seconds (median, least, most), and medians of peak and processor time.

    The processor's time says what a program costs on a machine that is busy with other things, too.
    """

    name: str
    seconds: float
    least: float
    most: float
    peak_bytes: int
    runs: int
    cpu: float = 0.0

    def as_json(self) -> dict[str, object]:
        """Milliseconds and mebibytes, rounded as they are printed."""
        return {
            "name": self.name,
            "ms": round(self.seconds * 1000, 1),
            "ms_least": round(self.least * 1000, 1),
            "ms_most": round(self.most * 1000, 1),
            "cpu_ms": round(self.cpu * 1000, 1),
            "peak_mb": round(self.peak_bytes / 2**20, 1),
            "runs": self.runs,
        }


def run(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Run:
    """Run a program to its end, without input.

    The peak is that of the largest process in its tree, as the kernel tells it at the exit. Raises ProgramFailed.
    """
    report_end, launcher_end = os.pipe()
    try:
        child = subprocess.Popen(
            (sys.executable, "-I", "-S", "-c", LAUNCHER, str(launcher_end), *command),
            cwd=cwd,
            env=env,
            pass_fds=(launcher_end,),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    finally:
        os.close(launcher_end)
    with os.fdopen(report_end, "rb") as report, child:
        assert child.stderr is not None
        stderr = child.stderr.read().decode(errors="replace")
        code, peak, seconds, cpu = report.read().decode().split()
    if int(code) != 0:
        raise ProgramFailed(command, int(code), stderr)
    return Run(float(seconds), int(peak) * RSS_UNIT, stderr, float(cpu))


def figure(name: str, runs: Sequence[Run]) -> Figure:
    """Sum up several runs."""
    seconds = [one.seconds for one in runs]
    peak = int(statistics.median(one.peak_bytes for one in runs))
    cpu = statistics.median(one.cpu for one in runs)
    return Figure(name, statistics.median(seconds), min(seconds), max(seconds), peak, len(runs), cpu)


def in_turns(programs: Mapping[str, Callable[[], Run]], *, rounds: int) -> tuple[Figure, ...]:
    """Run all programs once per round, so that a busy moment of the machine meets all of them alike.

    One more round goes before, uncounted: it warms the file cache and writes byte code.
    """
    seen: dict[str, list[Run]] = {name: [] for name in programs}
    for turn in range(rounds + 1):
        for name, program in programs.items():
            one = program()
            if turn:
                seen[name].append(one)
    return tuple(figure(name, runs) for name, runs in seen.items())
