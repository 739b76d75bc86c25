"""A command as it is started where a process doesn't confine itself: with the program in front that does."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import bubblewrap, folders, seatbelt
from .confine import MemoryExposed
from .confinement import Confinement, exposed
from .level import Level


def wrapped(command: Sequence[str], confinement: Confinement, level: Level) -> tuple[str, ...]:
    """What to start instead of `command`; raises MemoryExposed."""
    if level.by_itself:
        return tuple(command)
    system = (*folders.libraries(), *folders.interpreter(), *(folders.programs() if confinement.commands else ()))
    found = exposed(system, confinement)
    if found:
        raise MemoryExposed(*found)
    confinement = replace(confinement, programs=folders.of_program(confinement))
    if level.kind == "bubblewrap":
        return bubblewrap.command_line(level.program, confinement, system, bubblewrap.root_links(), command)
    return (level.program, "-p", seatbelt.profile(_real(confinement), system, Path(sys.executable).resolve()), *command)


def _real(confinement: Confinement) -> Confinement:
    """With folders as they are without links, since that is how macOS compares them."""
    return replace(
        confinement,
        read=tuple(path.resolve() for path in confinement.read),
        write=tuple(path.resolve() for path in confinement.write),
        work=tuple(path.resolve() for path in confinement.work),
    )
