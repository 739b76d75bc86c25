"""The first moments of a worker: it shakes off what its parent was, is closed in, and becomes a worker or a program."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from ..sandbox.confine import SandboxFailed, confine
from ..sandbox.confinement import Confinement
from ..sandbox.level import Level
from .kin import die_with_parent
from .order import Order

NOT_STARTED = 126
"""The exit status of a worker that could not be closed in, or whose program could not be started."""

_FIRST_OTHER = 3
_MOST_DESCRIPTORS = (1 << 31) - 1


@dataclass(frozen=True)
class Prepared:
    """An order as a process carries it out: made of it before the fork, so that no worker has to make it.

    `environment` is None where the process has it already.
    """

    program: tuple[str, ...]
    environment: Mapping[str, str] | None
    confinement: Confinement | None


def prepare(order: Order) -> Prepared:
    """For a process that is going to have the environment of this one, as one forked by it has."""
    return Prepared(
        order.program,
        None if os.environ == order.environment else order.environment,
        None if order.confinement is None else Confinement.from_dict(order.confinement),
    )


def launch(prepared: Prepared, files: Sequence[int], parent: int, level: Level) -> NoReturn:
    """Called in a process that was just forked by `parent`: never returns, and nothing of its caller runs again.

    `files` are its stdin, stdout and stderr; all other descriptors are closed.
    """
    status = NOT_STARTED
    try:
        os.setsid()
        die_with_parent(parent)
        for number, file in enumerate(files):
            os.dup2(file, number)
        signal.set_wakeup_fd(-1)
        os.closerange(_FIRST_OTHER, _MOST_DESCRIPTORS)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        status = become(prepared, level)
    except BaseException:  # noqa: BLE001 - the worker's outer edge: what is above on the stack is the server's
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        _flush()
        os._exit(status)


def become(prepared: Prepared, level: Level) -> int:
    """Close this process in as far as `level` goes, and be the worker or the program to its end; the exit status."""
    if prepared.environment is not None:
        os.environ.clear()
        os.environ.update(prepared.environment)
    if prepared.confinement is not None:
        try:
            confine(prepared.confinement, level)
        except SandboxFailed as e:
            print(e, file=sys.stderr)  # noqa: T201
            return NOT_STARTED
    if not prepared.program:
        from ..worker import main

        return main()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(prepared.program[0], prepared.program)
    except OSError as e:
        print(f"{prepared.program[0]}: could not be started: {e.strerror}", file=sys.stderr)  # noqa: T201
        return NOT_STARTED


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more
