"""How closely workers are confined on this system: found out once, and told to the person by name."""

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Literal

from ..errors import SubagentFault
from . import landlock
from .filter import Kernel

Kind = Literal["landlock+seccomp", "bubblewrap", "sandbox-exec", "none"]


@dataclass(frozen=True)
class Level:
    """What is in force here; `why` there is no more of it, `landlock` the version of the kernel's interface.

    `seccomp` says whether calls are filtered, which bubblewrap alone doesn't do.
    """

    kind: Kind
    landlock: int = 0
    seccomp: bool = False
    machine: str = ""
    program: str = ""
    why: str = ""

    @property
    def confines(self) -> bool:
        """Whether it holds what is hostile: a worker may start programs, or be a program of somebody else."""
        return self.kind != "none"

    @property
    def by_itself(self) -> bool:
        """Whether a process confines itself; else a program in front of it does."""
        return self.kind in ("landlock+seccomp", "none")

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.machine, self.landlock)

    @property
    def words(self) -> str:
        """For a person: its name, and what it means where it isn't the best one."""
        return _WORDS[self.kind].format(why=self.why)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What is left open to a worker here, each as what it could get at."""
        if self.kind == "landlock+seccomp":
            return _ALWAYS if self.landlock >= _SCOPES else (*_ALWAYS, _SIGNALS)
        return _GAPS[self.kind] if self.seccomp or self.kind != "bubblewrap" else (*_GAPS["bubblewrap"], _CALLS)

    @property
    def full(self) -> bool:
        """Whether nothing is missing that a newer system would give."""
        return self.kind == "landlock+seccomp" and self.landlock >= _SCOPES


_SCOPES = 6
_ALWAYS = ("whether a path exists, its size and date", "many small files", "locks on cards")
_SIGNALS = "with run_command, signals to your own programs (until Linux 6.12)"
_CALLS = "every system call of the kernel"
_WORDS: dict[Kind, str] = {
    "landlock+seccomp": "landlock+seccomp",
    "bubblewrap": "bubblewrap ({why})",
    "sandbox-exec": "sandbox-exec (nobody has tested it yet)",
    "none": "none ({why}): workers run under your own user, with onepen's own tools only",
}
_GAPS: dict[Kind, tuple[str, ...]] = {
    "landlock+seccomp": (),
    "bubblewrap": _ALWAYS[1:],
    "sandbox-exec": ("what its profile forgets",),
    "none": ("all that you can reach",),
}


class NoSandbox(SubagentFault):
    """Raised when somebody else's program, or a worker that may run commands, would run where nothing confines it."""

    exit_code = 2

    def __init__(self, what: str, level: Level) -> None:
        super().__init__(
            f"{what}: refused, since there is no sandbox here to run it in ({level.why}); with --unsafe-no-sandbox "
            "it runs with all your rights",
            hint="onepen doctor",
        )


def check_confined(level: Level, *, commands: bool, program: tuple[str, ...], unsafe: bool) -> None:
    """Raises NoSandbox; a worker of ours with onepen's own tools is let through everywhere."""
    if not (level.confines or unsafe):
        if program:
            raise NoSandbox(program[0], level)
        if commands:
            raise NoSandbox("run_command", level)


def probe() -> Level:
    """The level of this system; asks the kernel, starts nothing."""
    if sys.platform == "darwin":
        program = shutil.which("sandbox-exec", path="/usr/bin")
        return Level("sandbox-exec", program=program) if program else Level("none", why="no sandbox-exec")
    if sys.platform != "linux":
        return Level("none", why=f"not for {sys.platform}")
    from .seccomp import offered

    machine, version = os.uname().machine, landlock.version()
    filters = Kernel(machine, version).can and sys.maxsize > 1 << 32 and sys.byteorder == "little" and offered()
    if version and filters:
        return Level("landlock+seccomp", version, True, machine)
    missing = "no Landlock in this kernel" if not version else f"no filter of system calls on {machine}"
    program = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if program:
        return Level("bubblewrap", 0, filters, machine, program, missing)
    return Level("none", 0, filters, machine, why=missing)
