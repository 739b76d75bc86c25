"""The worker: a process that makes one attempt and ends.

It holds no key and opens no connection: models and search are asked for over its stdin and stdout. It lives no longer
than its orchestrator: on Linux the kernel kills it with its parent, and everywhere the end of its stdin ends it.
"""

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from ..memory.fence import Fences
from ..memory.text.clip import clip
from ..version import __version__
from . import wire
from .errors import SubagentFault
from .libc import libc
from .loop import Said, work
from .messages import Message, ToolUse, well_formed
from .prompt import WHOLE, first_message, prefix_sha, read_snapshot, system_blocks, tools
from .toolbox.drafting import Drafting
from .toolbox.reading import Reading
from .toolbox.toolinput import ReportInput
from .toolbox.tools import Toolbox

if TYPE_CHECKING:
    from .toolbox.running import Running

_PR_SET_PDEATHSIG = 1
_CHUNK = 65_536

R = TypeVar("R")


class WireClosed(SubagentFault):
    """Raised when the orchestrator has closed the wire: nobody waits for this worker any more."""

    def __init__(self) -> None:
        super().__init__("the orchestrator is gone")


class AttemptOver(SubagentFault):
    """Raised when the orchestrator says that the attempt is over."""


class _Address(TypedDict):
    task: str
    attempt: int


class Line:
    """The worker's end of the wire; one question is open at a time."""

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._splitter = wire.LineSplitter(wire.TO_WORKER)
        self._waiting: list[wire.ToWorker] = []
        self._asked = 0

    def hello(self) -> wire.Hello:
        """The assignment; raises WireClosed."""
        self.assignment = self._receive(wire.Hello)
        self._send(wire.HelloBack(**self._address(), version=__version__, pid=os.getpid()))
        return self.assignment

    def progress(self, text: str) -> None:
        self._send(wire.Progress(**self._address(), text=well_formed(text)))

    def model(self, prefix: str, delta: tuple[Message, ...]) -> Said:
        """The model's next reply; raises AttemptOver or WireClosed."""
        self._asked += 1
        self._send(wire.ModelRequested(**self._address(), id=self._asked, prefix_sha=prefix, delta=delta))
        reply = self._receive(wire.ModelReplied)
        if reply.error is not None:
            raise AttemptOver(reply.error)
        return Said(reply.content, reply.stop_reason, reply.done)

    def tool(self, name: str, given: Mapping[str, object]) -> tuple[str, bool]:
        """What a tool of the orchestrator says, and whether that is an error; raises AttemptOver or WireClosed."""
        self._asked += 1
        self._send(wire.ToolRequested(**self._address(), id=self._asked, name=name, input=dict(given)))
        reply = self._receive(wire.ToolReplied)
        return reply.content, reply.is_error

    def report(self, report: ReportInput) -> None:
        self._send(
            wire.Report(
                **self._address(),
                summary=well_formed(report.summary),
                answer=None if report.answer is None else well_formed(report.answer),
                complete=report.complete is not False,
            )
        )

    def _address(self) -> _Address:
        return {"task": self.assignment.task, "attempt": self.assignment.attempt}

    def _send(self, message: wire.FromWorker) -> None:
        view = memoryview(wire.encode(message))
        try:
            while view:
                view = view[os.write(self._outgoing, view) :]
        except BrokenPipeError as e:
            raise WireClosed from e

    def _receive(self, kind: type[R]) -> R:
        """The next message, which must be of this kind; replies to older questions are passed over."""
        while True:
            while self._waiting:
                message = self._waiting.pop(0)
                if isinstance(message, wire.Cancel):
                    raise AttemptOver("cancelled")
                if isinstance(message, wire.ModelReplied) and message.error is not None:
                    raise AttemptOver(message.error)
                if isinstance(message, kind) and getattr(message, "id", self._asked) == self._asked:
                    return message
            data = os.read(self._incoming, _CHUNK)
            if not data:
                raise WireClosed
            for one in self._splitter.feed(data):
                if isinstance(one, wire.Noise):
                    raise AttemptOver(f"a line from the orchestrator was not understood: {one.reason}")
                self._waiting.append(one)


def run(line: Line, snapshot: Sequence[tuple[str, str]] | None = None) -> None:
    """Make one attempt, with the texts of its snapshot unless they are given; raises AttemptOver or WireClosed."""
    task = line.hello()
    files = read_snapshot(Path(task.folders.snapshot)) if snapshot is None else snapshot
    system = system_blocks(files, task.agent)
    prefix = prefix_sha(task.model, system, tools())
    whole = Path(task.folders.snapshot) / WHOLE
    reading = Reading(Path(task.folders.space), Path(task.folders.inputs), task.inputs, whole=whole)
    running = _running(task, line)
    work_folder = None if running is None else running.folder
    drafting = Drafting(Path(task.folders.drafts), reading, task.target, work_folder, task.project)
    asks = frozenset(task.agent.asks)
    toolbox = Toolbox(
        frozenset(task.agent.tools), reading, drafting, line.tool, running, asks, Fences(task.fence.encode())
    )
    line.progress("started")

    def ask(delta: tuple[Message, ...]) -> Said:
        said = line.model(prefix, delta)
        if said.calls:
            line.progress(", ".join(_told(call) for call in said.calls))
        return said

    line.report(work(first_message(task), ask, toolbox, task.limits.turns))


def _running(task: wire.Hello, line: Line) -> "Running | None":
    """What runs commands, where this agent may have any run."""
    if task.folders.work is None:
        return None
    from .toolbox.running import Running
    from .toolbox.workfolder import WorkFolder

    work, inputs, space = WorkFolder(Path(task.folders.work)), Path(task.folders.inputs), Path(task.folders.space)
    return Running(work, os.environ, inputs, space, line.progress, task.limits.seconds, unconfined=task.unsafe)


def _told(call: ToolUse) -> str:
    """What a call does, for a person who watches: `read_input cones.md`."""
    given = call.input if isinstance(call.input, dict) else {}
    what = next(
        (given[name] for name in ("card", "name", "query", "command", "target", "title") if given.get(name)), ""
    )
    return f"{call.name} {clip(' '.join(what.split()), 60)}".strip() if isinstance(what, str) else call.name


def main() -> int:
    """Run as a program: the wire is taken away from stdin and stdout, so that nothing printed can get onto it."""
    _die_with_parent()
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        run(Line(incoming, outgoing))
    except (AttemptOver, WireClosed) as e:
        print(e.message, file=sys.stderr)  # noqa: T201
        return 1
    return 0


def _die_with_parent() -> None:
    if sys.platform == "linux":
        libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
