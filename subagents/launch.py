"""The first moments of a worker: it shakes off what its parent was, is closed in, and becomes a worker or a program."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
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


def launch(order: Order, files: Sequence[int], parent: int, level: Level) -> NoReturn:
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
        status = become(order, level)
    except BaseException:  # noqa: BLE001 - the worker's outer edge: what is above on the stack is the server's
        import traceback

        traceback.print_exc()
        status = 1
    finally:
        _flush()
        os._exit(status)


def become(order: Order, level: Level) -> int:
    """Close this process in as far as `level` goes, and be the worker or the program to its end; the exit status."""
    _adopt(order.environment)
    if order.confinement is not None:
        try:
            confine(Confinement.from_dict(order.confinement), level)
        except SandboxFailed as e:
            print(e.message, file=sys.stderr)  # noqa: T201
            return NOT_STARTED
    if not order.program:
        from .worker import main

        return main()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(order.program[0], order.program, dict(order.environment))
    except OSError as e:
        print(f"{order.program[0]}: could not be started: {e.strerror}", file=sys.stderr)  # noqa: T201
        return NOT_STARTED


def _adopt(environment: Mapping[str, str]) -> None:
    if os.environ != environment:
        os.environ.clear()
        os.environ.update(environment)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass  # nobody reads it any more
