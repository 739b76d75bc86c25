"""Confines this process: what Confinement says becomes the kernel's to hold, and can't be undone.

It is done in the worker's process, after the fork and before any thread: a thread that was there before would not be
held. The order matters: limits while they may be set, Landlock while files may be opened, capabilities while they may
be given up, the filter last, since it denies what came before.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ..errors import SubagentFault
from . import capability, cgroup, folders, landlock, seccomp
from .confinement import Confinement, exposed
from .filter import code
from .level import Level
from .limits import limit

_MOST_DESCRIPTORS = 1 << 20


class SandboxFailed(SubagentFault):
    """Raised when a worker couldn't be confined; it must not go on."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"sandbox: {step}: {reason}", hint="onepen doctor")


class MemoryExposed(SandboxFailed):
    """Raised when a folder that every worker must read holds somebody's memory."""

    def __init__(self, folder: Path, private: Path) -> None:
        super().__init__(
            "folders", f"{folder} has to be readable for workers, and {private} lies in it; move one of them"
        )


def confine(confinement: Confinement, level: Level) -> None:
    """Hold this process and all that it will start to `confinement`, as far as `level` goes; raises SandboxFailed.

    Descriptors above 2 are closed, and it gets a session of its own. Call it once, before any thread.
    """
    os.closerange(3, _MOST_DESCRIPTORS)
    with suppress(PermissionError):  # it leads one already
        os.setsid()
    try:
        limit(confinement)
        if confinement.commands and os.getuid() == 0:
            cgroup.enclose(confinement.processes)
        if level.landlock or level.seccomp:
            seccomp.no_new_privileges()
        if level.landlock:
            landlock.restrict(_rules(confinement), level.landlock)
        if level.landlock or level.seccomp:
            capability.drop(capability.kept_for(_own(confinement), os.getuid()))
        if level.seccomp:
            seccomp.install(code(level.kernel, commands=confinement.commands, pid=os.getpid()))
    except OSError as e:
        raise SandboxFailed(level.kind, e.strerror or str(e)) from e


def rehearse(level: Level) -> None:
    """Do all that confining a worker takes short of binding this process, which is going to fork workers.

    What is found out and built on the way is theirs then, too.
    """
    for commands in (False, True):
        confinement = Confinement(commands=commands)
        tuple(_rules(confinement))
        if level.seccomp:
            code(level.kernel, commands=commands, pid=os.getpid())


def _own(confinement: Confinement) -> Iterable[Path]:
    return (*confinement.read, *confinement.write, *confinement.work)


def _rules(confinement: Confinement) -> Iterable[landlock.Rule]:
    """Every rule; raises MemoryExposed."""
    system = dict.fromkeys(folders.libraries(), landlock.LOOK)
    if confinement.commands:
        system |= dict.fromkeys((*system, *folders.programs()), landlock.RUN)
    found = exposed(system, confinement)
    if found:
        raise MemoryExposed(*found)
    yield from system.items()
    for path in folders.DEVICES:
        yield path, landlock.READ | landlock.WRITE
    for path in folders.of_program(confinement):
        yield path, landlock.RUN
    for path in confinement.read:
        yield path, landlock.LOOK
    for path in confinement.write:
        yield path, landlock.DRAFT
    for path in confinement.work:
        yield path, landlock.OWN
