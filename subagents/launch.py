"""The first moments of a worker: it shakes off what its parent was, is closed in, and becomes a worker or a program."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from .kin import die_with_parent
from .order import Order
from .sandbox.confine import SandboxFailed, confine
from .sandbox.confinement import Confinement
from .sandbox.level import Level

NOT_STARTED = 126
"""The exit status of a worker that could not be closed in, or whose program could not be started."""

_FIRST_OTHER = 3
_MOST_DESCRIPTORS = (1 << 31) - 1


@dataclass(frozen=True)
class Plan:
    """What becomes of a process: made of an order before the fork, so that no worker has to make it.

    `environment` is None where the process has it already.
    """

    program: tuple[str, ...]
    environment: Mapping[str, str] | None
    confinement: Confinement | None


def planned(order: Order) -> Plan:
    """For a process with the environment of this one."""
    return Plan(
        order.program,
        None if os.environ == order.environment else order.environment,
        None if order.confinement is None else Confinement.from_dict(order.confinement),
    )


def launch(plan: Plan, files: Sequence[int], parent: int, level: Level) -> NoReturn:
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
        status = become(plan, level)
    except BaseException:  # noqa: BLE001 - the worker's outer edge: what is above on the stack is the server's
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        _flush()
        os._exit(status)


def become(plan: Plan, level: Level) -> int:
    """Close this process in as far as `level` goes, and be the worker or the program to its end; the exit status."""
    if plan.environment is not None:
        os.environ.clear()
        os.environ.update(plan.environment)
    if plan.confinement is not None:
        try:
            confine(plan.confinement, level)
        except SandboxFailed as e:
            print(e.message, file=sys.stderr)  # noqa: T201
            return NOT_STARTED
    if not plan.program:
        from .worker import main

        return main()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(plan.program[0], plan.program)
    except OSError as e:
        print(f"{plan.program[0]}: could not be started: {e.strerror}", file=sys.stderr)  # noqa: T201
        return NOT_STARTED


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more
