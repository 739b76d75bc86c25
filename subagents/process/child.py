"""A child process with three pipes, in a session of its own, that never outlives its use.

Waiting for a plain child is done without reaping it (its pidfd becomes readable, or `waitid` with WNOWAIT), so that its
process group can't be taken over by a stranger before it is killed. Pipes are read until they are empty once the child
is gone, not until their end: a grandchild may hold them for hours.
"""

import os
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import anyio
import anyio.lowlevel
import anyio.to_thread

CHUNK = 65_536
"""Bytes read at once."""


class Child(ABC):
    """A running child, whoever forked it: its pipes, and what waits for its end.

    It must be ended by `finish` (after `end`, which asks politely) or `kill`; all three are safe to call again.
    """

    refused: str | None = None
    """Why it could not be started, if that came out afterwards."""

    def __init__(self, stdin: int, stdout: int, stderr: int) -> None:
        self._stdin, self.stdout, self.stderr = stdin, stdout, stderr
        for pipe in (stdin, stdout, stderr):
            os.set_blocking(pipe, False)
        self._scopes: set[anyio.CancelScope] = set()
        self._ended = anyio.Event()

    @abstractmethod
    async def watch(self) -> None:
        """See the child end: the others wait with `ended`. One task runs this as long as the child is used."""

    @abstractmethod
    async def left_something(self) -> bool:
        """Whether something that the child had started was still there when the child was gone."""

    @abstractmethod
    async def end(self, grace: float) -> None:
        """Ask the child and its group to end (SIGTERM), and kill them after `grace` seconds."""

    @abstractmethod
    async def finish(self) -> int:
        """Kill what is left of the child and of what it started; its exit status, negative for a signal."""

    @abstractmethod
    def kill(self) -> None:
        """The same as `finish` for who can't wait."""

    @property
    def gone(self) -> bool:
        """Whether the child has ended, as far as `watch` has seen; its exit status is known after `finish`."""
        return self._ended.is_set()

    async def ended(self) -> None:
        """Wait until the child has ended."""
        await self._ended.wait()

    @contextmanager
    def while_alive(self) -> Iterator[None]:
        """What is awaited inside is cancelled when the child ends."""
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            if self.gone:
                scope.cancel()
            try:
                yield
            finally:
                self._scopes.discard(scope)

    async def read(self, pipe: int) -> bytes:
        """What has come on `stdout` or `stderr`; b"" when no more will, or when the child is gone and it is empty."""
        while True:
            await anyio.lowlevel.checkpoint()  # a child that floods must not keep the others waiting
            try:
                return os.read(pipe, CHUNK)
            except BlockingIOError:
                if self.gone:
                    return b""
            with self.while_alive():
                await anyio.wait_readable(pipe)

    async def write(self, data: bytes) -> bool:
        """Write all of `data` to the child's stdin; False if it no longer listens."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._stdin, view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._stdin)
            except (BrokenPipeError, ConnectionResetError):
                return False
        return True

    def _has_ended(self) -> None:
        self._ended.set()
        for scope in tuple(self._scopes):
            scope.cancel()

    def _pipes_are_held(self) -> bool:
        """Whether somebody still has our pipes."""
        for pipe in (self.stdout, self.stderr):
            try:
                if os.read(pipe, CHUNK):
                    return True
            except BlockingIOError:
                return True
        return False

    def _close_pipes(self) -> None:
        for pipe in (self._stdin, self.stdout, self.stderr):
            os.close(pipe)


class PlainChild(Child):
    """A child that this process started itself: of what it starts, its process group is ended with it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        super().__init__(*(os.dup(file.fileno()) for file in (process.stdin, process.stdout, process.stderr)))
        for file in (process.stdin, process.stdout, process.stderr):
            file.close()
        self._pidfd = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        self._reaped = False

    @classmethod
    def start(cls, command: Sequence[str], environment: Mapping[str, str]) -> "PlainChild":
        """Start `command` with exactly this environment, in `/`; raises an OSError if it can't be started."""
        return cls(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(environment),
                cwd="/",
                start_new_session=True,
                bufsize=0,
            )
        )

    async def watch(self) -> None:
        if self._pidfd is not None:
            await anyio.wait_readable(self._pidfd)
        else:
            await anyio.to_thread.run_sync(self._wait_unreaped, abandon_on_cancel=True)
        self._has_ended()

    async def left_something(self) -> bool:
        return self._pipes_are_held()

    async def end(self, grace: float) -> None:
        if not self.gone:
            self._signal_group(signal.SIGTERM)
            with anyio.move_on_after(grace):
                await self.ended()
        self._signal_group(signal.SIGKILL)

    async def finish(self) -> int:
        self.kill()
        return self._process.returncode

    def kill(self) -> None:
        if not self._reaped:
            self._signal_group(signal.SIGKILL)
            self._process.wait()
            self._reaped = True
            self._has_ended()
            self._close_pipes()
            if self._pidfd is not None:
                os.close(self._pidfd)

    def _signal_group(self, number: signal.Signals) -> None:
        """Signal the child and what it started in its session; nothing once it has been reaped."""
        if not self._reaped:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # nobody is left, or (macOS) only a process that has ended and waits to be reaped

    def _wait_unreaped(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
