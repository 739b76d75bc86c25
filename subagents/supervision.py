"""One running worker, seen from the orchestrator: it answers requests, keeps the limits and says how it ended."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf

import anyio
import anyio.to_thread

from ..memory.ids import shown
from . import wire
from .assignment import Assignment, hello
from .ending import Ending, Reported, Stopped, TimedOut
from .hoard import overfull
from .host import Host, RequestRefused
from .messages import well_formed
from .outcome import GRACE, Flood, Outcome, Refused, Remains, Unreported, ending_of, why_ended
from .process.child import Child
from .workerlog import WorkerLog

KILL_GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL, and for each last thing that is said to a worker or read of it."""

LOOK_SECONDS = 1.0
"""How often what a worker has left is measured; less often where that takes long."""

_PROGRESS = 200  # characters of what a worker says of its progress
_SHARE = 20  # measuring takes a twentieth of the time at most, however much there is
_PIECE = 100  # what each piece of noise counts besides its bytes: small ones cost us more than they say


class _Flooded(Exception):
    """Raised when a worker printed more beside the wire than is borne."""


class Supervision:
    """Runs one attempt with a child that has just been started; `stop` ends it."""

    def __init__(self, assignment: Assignment, host: Host, child: Child, log: WorkerLog) -> None:
        self._assignment = assignment
        self._host = host
        self._child = child
        self._log = log
        self._splitter = wire.LineSplitter(wire.FROM_WORKER)
        self._waiting: deque[wire.FromWorker | wire.Noise] = deque()
        self._noise = 0
        self._refused_line: str | None = None
        self._time = anyio.CancelScope()
        self._talk = anyio.CancelScope()
        self._too_much: str | None = None
        self._stdout_read = anyio.Event()
        self._stderr_read = anyio.Event()

    def stop(self) -> None:
        """Ask for the end of the attempt; the worker gets a moment."""
        self._talk.cancel()

    async def run(self) -> Ending:
        """Until the attempt is over and nothing of its worker is there; errors of the host pass through."""
        started = anyio.current_time()
        try:
            outcome = await self._supervised()
        finally:
            with anyio.CancelScope(shield=True):
                status = await self._child.finish()
            self._log.close()
        return ending_of(outcome, self._remains(status), round(anyio.current_time() - started, 3))

    async def _supervised(self) -> Outcome:
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._child.watch)
                group.start_soon(self._keep_stderr)
                group.start_soon(self._measure)
                outcome = await self._outcome()
                group.start_soon(self._keep_late)
                await self._wind_down(outcome)
                group.cancel_scope.cancel()
        except ExceptionGroup as several:
            raise _single(several) from None
        return outcome

    async def _outcome(self) -> Outcome:
        self._time.deadline = anyio.current_time() + self._assignment.limits.seconds
        with self._time:
            with self._talk:
                return await self._converse()
            return Stopped(0.0) if self._too_much is None else Flood(self._too_much)
        return TimedOut("time", 0.0)

    @contextmanager
    def _paused(self) -> Iterator[None]:
        """The attempt's time stands still inside; silence is no matter, since something is owed to the worker."""
        left = self._time.deadline - anyio.current_time()
        self._time.deadline = inf
        try:
            yield
        finally:
            self._time.deadline = anyio.current_time() + left

    async def _converse(self) -> Outcome:
        """Answer the worker until it has no more to say."""
        limits = self._assignment.limits
        try:
            with anyio.move_on_after(limits.silence) as silence:
                await self._child.write(wire.encode(hello(self._assignment)))
                while (message := await self._next()) is not None:
                    silence.deadline = inf  # while something is owed to the worker, it may be silent
                    outcome = await self._answer(message)
                    if outcome is not None:
                        return outcome
                    silence.deadline = anyio.current_time() + limits.silence
                return Unreported()
            return TimedOut("silence", 0.0)
        except _Flooded:
            return Flood(f"it printed more than {limits.noise_bytes} bytes beside the wire")
        except wire.LineTooLong as e:
            return Refused(e.message)

    async def _answer(self, message: wire.FromWorker) -> Outcome | None:
        """Do what a message asks for; the outcome if it ends the conversation."""
        if isinstance(message, wire.Report):
            return Reported(message.summary, message.answer, message.complete, 0.0)
        if isinstance(message, wire.Progress):
            self._host.progress(message.text[:_PROGRESS])
            return None
        if isinstance(message, wire.HelloBack):
            return None
        task, attempt = self._assignment.task, self._assignment.attempt
        reply: wire.ModelReplied | wire.ToolReplied | None = None
        try:
            with self._child.while_alive():
                if isinstance(message, wire.ModelRequested):
                    said = await self._host.model(message.delta, message.prefix_sha, self._paused)
                    reply = wire.ModelReplied(
                        task=task,
                        attempt=attempt,
                        id=message.id,
                        content=said.content,
                        stop_reason=said.stop_reason,
                        done=said.done,
                    )
                else:
                    content, is_error = await self._host.tool(message.name, message.input)
                    content = well_formed(content)
                    reply = wire.ToolReplied(
                        task=task, attempt=attempt, id=message.id, content=content, is_error=is_error
                    )
            if reply is not None:
                await self._child.write(wire.encode(reply))
        except (RequestRefused, wire.LineTooLong) as e:
            reason = e.reason if isinstance(e, RequestRefused) else e.message
            refusal = wire.ModelReplied(task=task, attempt=attempt, id=message.id, error=well_formed(reason))
            await self._send_briefly(refusal)
            return Refused(reason)
        return None

    async def _next(self) -> wire.FromWorker | None:
        """The next message of this attempt; None when there will be no more."""
        while True:
            while self._waiting:
                one = self._waiting.popleft()
                if isinstance(one, wire.Noise):
                    self._heard_noise(one)
                elif (one.task, one.attempt) != (self._assignment.task, self._assignment.attempt):
                    self._ignored(one, f"it speaks for task {shown(one.task)}, attempt {one.attempt}")
                else:
                    if isinstance(one, wire.Progress):
                        self._count(len(one.text) + _PIECE)
                    return one
            self._log.flush()
            data = await self._child.read(self._child.stdout)
            skipped = self._splitter.skipped
            self._waiting.extend(self._splitter.feed(data) if data else self._splitter.finish())
            self._count(self._splitter.skipped - skipped)
            if not data and not self._waiting:
                return None

    def _heard_noise(self, noise: wire.Noise) -> None:
        if noise.meant:
            self._refused_line = noise.reason
        self._log.noise(noise.data, noise.reason)
        self._count(len(noise.data) + _PIECE)

    def _ignored(self, message: wire.FromWorker, why: str) -> None:
        line = wire.encode(message)
        self._log.noise(line, f"ignored, {why}")
        self._count(len(line) + _PIECE)

    def _count(self, size: int) -> None:
        self._noise += size
        if self._noise > self._assignment.limits.noise_bytes:
            raise _Flooded

    async def _measure(self) -> None:
        """End the attempt when what the worker leaves is more than is borne."""
        assignment, limits = self._assignment, self._assignment.limits
        works = assignment.commands or bool(assignment.program)
        took = 0.0
        while True:
            await anyio.sleep(max(LOOK_SECONDS, _SHARE * took))
            began = anyio.current_time()
            found = overfull(assignment.drafts_folder, limits.draft_files, limits.draft_bytes)
            if works and found is None:  # so many files that others would have to wait
                found = await anyio.to_thread.run_sync(
                    overfull, assignment.work_folder, limits.work_files, limits.work_bytes
                )
            took = anyio.current_time() - began
            if found is not None:
                self._cut(found)
                return

    def _cut(self, reason: str) -> None:
        """End the attempt, without the moment that a worker otherwise has."""
        self._too_much = self._too_much or reason
        self.stop()

    async def _keep_stderr(self) -> None:
        printed, most = 0, self._assignment.limits.stderr_bytes
        while data := await self._child.read(self._child.stderr):
            printed += len(data)
            if printed > most:
                self._cut(f"it printed more than {most} bytes on stderr")
            self._log.stderr(data)
            self._log.flush()
        self._stderr_read.set()

    async def _keep_late(self) -> None:
        """Read on after the outcome, so that the worker isn't kept from ending; what it says changes nothing."""
        with suppress(_Flooded):
            while (message := await self._next()) is not None:
                self._ignored(message, "it came late: the attempt was over")
        self._stdout_read.set()

    async def _wind_down(self, outcome: Outcome) -> None:
        """Let the worker end by itself where it may, then end it and whatever it started."""
        task, attempt = self._assignment.task, self._assignment.attempt
        if isinstance(outcome, Stopped):
            await self._send_briefly(wire.Cancel(task=task, attempt=attempt))
        if not isinstance(outcome, TimedOut | Flood):
            with anyio.move_on_after(GRACE):
                await self._child.ended()
        if not self._child.gone:
            self._log.note(f"{why_ended(outcome)}; the worker was still running and was ended")
        else:
            await self._read_all()
            if await self._child.left_something():
                self._log.note("something that the worker had started was still there; it was ended")
        await self._child.end(KILL_GRACE)
        await self._read_all()

    async def _read_all(self) -> None:
        """Wait until everything is read that the child has printed; something that it started may print for ever."""
        with anyio.move_on_after(KILL_GRACE):
            await self._child.ended()
            await self._stdout_read.wait()
            await self._stderr_read.wait()

    async def _send_briefly(self, message: wire.ToWorker) -> None:
        with anyio.move_on_after(KILL_GRACE):
            await self._child.write(wire.encode(message))

    def _remains(self, status: int) -> Remains:
        return Remains(status, self._child.refused, self._refused_line, self._log.last_line)


def _single(error: Exception) -> Exception:
    """The host's own error as it raised it, out of the groups that task groups put around it."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
