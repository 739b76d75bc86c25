"""How closely workers are confined on this system: found out once, and told to the person by name."""

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Literal

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
        """Whether a worker may start programs, or be a program of somebody else."""
        return self.kind != "none"

    @property
    def kernel(self) -> Kernel:
        return Kernel(self.machine, self.landlock)

    @property
    def words(self) -> str:
        """For a person."""
        return _WORDS[self.kind] + (f" ({self.why})" if self.why else "")

    @property
    def gaps(self) -> tuple[str, ...]:
        """What a worker can do here although it shouldn't, each as a sentence's end."""
        return _GAPS[self.kind]


_WORDS: dict[Kind, str] = {
    "landlock+seccomp": "landlock+seccomp",
    "bubblewrap": "bubblewrap",
    "sandbox-exec": "sandbox-exec, untested",
    "none": "none",
}
_GAPS: dict[Kind, tuple[str, ...]] = {"landlock+seccomp": (), "bubblewrap": (), "sandbox-exec": (), "none": ()}


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
    return Level("none", machine=machine, why=missing)
