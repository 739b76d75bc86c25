"""A child process with three pipes, in a session of its own, that never outlives its use.

Waiting for a child is done without reaping it (its pidfd becomes readable, or `waitid` with WNOWAIT), so that its
process group can't be taken over by a stranger before it is killed. Pipes are read until they are empty once the child
is gone, not until their end: a grandchild may hold them for hours.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import anyio
import anyio.lowlevel
import anyio.to_thread

CHUNK = 65_536
"""Bytes read at once."""


class Child:
    """A running child; it must be ended by `end` (politely, in time) or `kill`, which is safe to call again."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._process = process
        self._files = (process.stdin, process.stdout, process.stderr)
        self._stdin, self.stdout, self.stderr = (file.fileno() for file in self._files)
        for pipe in (self._stdin, self.stdout, self.stderr):
            os.set_blocking(pipe, False)
        self._pidfd = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        self._scopes: set[anyio.CancelScope] = set()
        self._reaped = False
        self._ended = anyio.Event()

    @classmethod
    def start(cls, command: Sequence[str], environment: Mapping[str, str]) -> "Child":
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

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def gone(self) -> bool:
        """Whether the child has ended, as far as `watch` has seen; its exit status is known after `kill`."""
        return self._ended.is_set()

    async def watch(self) -> None:
        """See the child end: the others wait with `ended`. One task runs this as long as the child is used."""
        if self._pidfd is not None:
            await anyio.wait_readable(self._pidfd)
        else:
            await anyio.to_thread.run_sync(self._wait_unreaped, abandon_on_cancel=True)
        self._ended.set()
        for scope in tuple(self._scopes):
            scope.cancel()

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

    def holds_pipes(self) -> bool:
        """Whether somebody still has our pipes although the child is gone: something that it started."""
        for pipe in (self.stdout, self.stderr):
            try:
                if os.read(pipe, CHUNK):
                    return True
            except BlockingIOError:
                return True
        return False

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the child and what it started in its session; nothing once it has been reaped."""
        if not self._reaped:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                pass  # nobody is left, or (macOS) only a process that has ended and waits to be reaped

    async def end(self, grace: float) -> None:
        """Ask the group to end (SIGTERM), and kill it after `grace` seconds; `kill` reaps the child."""
        if not self.gone:
            self.signal_group(signal.SIGTERM)
            with anyio.move_on_after(grace):
                await self.ended()
        self.signal_group(signal.SIGKILL)

    def kill(self) -> int:
        """Kill what is left of the group, reap the child, close the pipes; its exit status, negative for a signal."""
        if not self._reaped:
            self.signal_group(signal.SIGKILL)
            self._process.wait()
            self._reaped = True
            self._ended.set()
            for file in self._files:
                file.close()
            if self._pidfd is not None:
                os.close(self._pidfd)
        return self._process.returncode

    def _wait_unreaped(self) -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._process.wait()
