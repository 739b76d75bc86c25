"""The pool runs attempts: `Pool` is the seam, `ProcessPool` has a process for each.

An attempt is over when its worker has reported, ended, gone beyond a limit or been stopped; then its worker is ended
with all that it started. What a worker says in another task's or attempt's name is logged and changes nothing.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

from ..memory import files
from ..memory.ids import TaskId
from ..staging.secret import mask as mask_shapes
from .assignment import Assignment, Limits
from .ending import Ending, Failed, Reported, Stopped, TimedOut
from .environment import child_environment
from .host import Host, RequestRefused
from .process.child import Child, PlainChild
from .process.forkserver import OWN, ForkServer
from .process.order import Order
from .sandbox.confine import SandboxFailed
from .sandbox.confinement import confinement_of
from .sandbox.level import Level, NoSandbox, check_confined
from .sandbox.wrapping import wrapped
from .supervision import Supervision
from .workerlog import WorkerLog

__all__ = [
    "Assignment",
    "Ending",
    "Failed",
    "Host",
    "Limits",
    "Pool",
    "ProcessPool",
    "Reported",
    "RequestRefused",
    "Stopped",
    "TimedOut",
]


class Pool(Protocol):
    """Runs attempts, any number side by side. Cancelling `run` ends the worker at once, with what it started."""

    async def run(self, assignment: Assignment, host: Host) -> Ending: ...

    def stop(self, task: TaskId, attempt: int) -> None:
        """End an attempt that runs: its worker is told, gets a moment, and `run` returns Stopped."""
        ...


class ProcessPool:
    """A process for each attempt: the program that its assignment names, else our own worker or `command`.

    `mask` takes secrets out of what a worker prints. Processes are forked by the `server`; without one each is a plain
    child: slower to start, and what it starts in sessions of their own isn't ended with it. With a `level` they are
    confined to what their attempt needs; without one they may do what this process may.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        mask: Callable[[str], str] = mask_shapes,
        server: ForkServer | None = None,
        level: Level | None = None,
    ) -> None:
        self._mask = mask
        self._command = tuple(command or ())
        self._server = server
        self._level = level
        self._running: dict[tuple[TaskId, int], Supervision] = {}
        self._called_off: set[tuple[TaskId, int]] = set()

    async def run(self, assignment: Assignment, host: Host) -> Ending:
        """Start a worker and see it to its end; errors of the host pass through, after the worker was ended."""
        files.make_folder(assignment.drafts_folder, within=assignment.folder)
        append = partial(files.append, assignment.log)
        log = WorkerLog(append, assignment.limits.log_bytes, self._mask)
        program = assignment.program or self._command
        try:
            child = await self._start(program, assignment)
        except (NoSandbox, SandboxFailed) as e:
            return Failed(str(e), None, None, 0.0)
        except OSError as e:
            name = (program or OWN)[0]
            return Failed(f"{name}: the worker could not be started: {e.strerror}", None, None, 0.0)
        key = (assignment.task, assignment.attempt)
        try:
            running = self._running[key] = Supervision(assignment, host, child, log)
            if key in self._called_off:
                running.stop()
            return await running.run()
        finally:
            self._running.pop(key, None)
            self._called_off.discard(key)
            child.kill()

    async def _start(self, program: tuple[str, ...], assignment: Assignment) -> Child:
        level, environment = self._level, child_environment(os.environ)
        if level is None or (assignment.unsafe and not level.confines):
            order = Order(environment, program)
            if self._server is not None:
                return await self._server.spawn(order)
            return PlainChild.start(program or OWN, environment)
        check_confined(level, commands=assignment.commands, program=program, unsafe=assignment.unsafe)
        confinement = confinement_of(replace(assignment, program=program))
        order = Order(environment, program, confinement.as_dict())
        if self._server is not None and level.by_itself:
            return await self._server.spawn(order)
        command = (*OWN, "--order", order.encode().decode())
        return PlainChild.start(wrapped(command, confinement, level), environment)

    def stop(self, task: TaskId, attempt: int) -> None:
        """End an attempt that runs: its worker is told, gets a moment, and `run` returns Stopped."""
        self._called_off.add((task, attempt))  # its worker may not be there yet
        running = self._running.get((task, attempt))
        if running is not None:
            running.stop()
