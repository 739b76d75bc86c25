"""A pool without processes: the worker's own loop and tools, run in a thread; and endings on demand."""

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import anyio
import anyio.from_thread
import anyio.to_thread

from onepen.memory import files
from onepen.memory.fence import Fences
from onepen.memory.ids import TaskId
from onepen.memory.snapshot import load
from onepen.subagents.loop import Said, work
from onepen.subagents.messages import Message
from onepen.subagents.pool import Assignment, Ending, Failed, Host, Reported, RequestRefused, Stopped
from onepen.subagents.prompt import WHOLE, first_message, prefix_sha, system_blocks, tools
from onepen.subagents.toolbox.drafting import Drafting
from onepen.subagents.toolbox.reading import Reading
from onepen.subagents.toolbox.running import Running
from onepen.subagents.toolbox.toolinput import ReportInput
from onepen.subagents.toolbox.tools import Toolbox
from onepen.subagents.toolbox.workfolder import WorkFolder

Instead = Callable[[Assignment], Ending | None]
"""Called with an attempt before it runs; an ending that it gives is the attempt's."""


class InProcessPool:
    """Runs attempts as the worker does, quickly; `assignments` holds what it was given."""

    def __init__(self, instead: Instead | None = None) -> None:
        self._instead = instead
        self.assignments: list[Assignment] = []
        self._running: dict[tuple[TaskId, int], anyio.CancelScope] = {}

    async def run(self, assignment: Assignment, host: Host) -> Ending:
        """The attempt's thread is left alone when it is stopped: it ends at its next question."""
        started, key = anyio.current_time(), (assignment.task, assignment.attempt)
        with anyio.CancelScope() as scope:
            self._running[key] = scope
            try:
                return await self.made(assignment, host)
            finally:
                del self._running[key]
        return Stopped(anyio.current_time() - started)

    def stop(self, task: TaskId, attempt: int) -> None:
        scope = self._running.get((task, attempt))
        if scope is not None:
            scope.cancel()

    async def made(self, assignment: Assignment, host: Host) -> Ending:
        """The attempt, unless it is stopped."""
        self.assignments.append(assignment)
        files.make_folder(assignment.drafts_folder, within=assignment.folder)
        ending = None if self._instead is None else self._instead(assignment)
        if ending is not None:
            return ending
        started = anyio.current_time()
        try:
            report = await anyio.to_thread.run_sync(_attempt, assignment, host, abandon_on_cancel=True)
        except RequestRefused as e:
            return Failed(e.reason, None, None, anyio.current_time() - started)
        return Reported(report.summary, report.answer, report.complete is not False, anyio.current_time() - started)


def _attempt(assignment: Assignment, host: Host) -> ReportInput:
    system = system_blocks(load(Path(assignment.snapshot)).files, assignment.agent)
    prefix = prefix_sha(assignment.model, system, tools())
    whole = assignment.snapshot / WHOLE
    reading = Reading(assignment.space, assignment.inputs_folder, assignment.inputs, whole=whole)
    work_folder = WorkFolder(assignment.work_folder) if assignment.commands else None
    drafting = Drafting(assignment.drafts_folder, reading, assignment.target, work_folder, assignment.project)

    def search(name: str, given: Mapping[str, object]) -> tuple[str, bool]:
        return anyio.from_thread.run(host.tool, name, given)

    def say(text: str) -> None:
        anyio.from_thread.run_sync(host.progress, text)

    def ask(delta: tuple[Message, ...]) -> Said:
        reply = anyio.from_thread.run(host.model, delta, prefix, nullcontext)
        return Said(reply.content, reply.stop_reason, reply.done)

    running = None
    if work_folder is not None:
        inputs, space, unsafe = assignment.inputs_folder, assignment.space, assignment.unsafe
        running = Running(work_folder, os.environ, inputs, space, say, unconfined=unsafe)
    asks = assignment.agent.asks
    toolbox = Toolbox(
        assignment.agent.tools, reading, drafting, search, running, asks, Fences(assignment.fence.encode())
    )
    return work(first_message(assignment), ask, toolbox, assignment.limits.turns)
