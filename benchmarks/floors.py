"""The least that the same work can cost: bare loops of the same calls, measured in the same run.

- a bare asyncio loop: as many waits as there are turns, and nothing else
- a bare fork of a warm process: for each task a process that asks three times over a socket, and has nothing to do
- a fresh interpreter that imports the library which calls Claude
"""

import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio

from .measure import run
from .startup import interpreter
from .studio import TURNS

# The warm process: it has imported what a worker needs, and forks one child for each connection.
_WARM = f"""
import gc, os, socket, sys
import onepen.subagents.worker
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[1])
    listening.listen(256)
    gc.freeze()
    print("ready", flush=True)
    while True:
        connection, _ = listening.accept()
        if os.fork() == 0:
            for _ in range({TURNS}):
                connection.sendall(b"?")
                connection.recv(1)
            os._exit(0)
        connection.close()
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
"""


@contextmanager
def warm(folder: Path) -> Iterator[Path]:
    """The socket of a warm process; it ends with the context."""
    path = folder / "warm.sock"
    command = (sys.executable, "-P", "-c", _WARM, str(path))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            process.stdout.readline()
            yield path
        finally:
            process.kill()


async def forked(path: Path, seconds: float) -> tuple[float, float]:
    """One task of a bare fork, whose questions are answered after so many seconds: to its first question, in all."""
    began = time.monotonic()
    first = 0.0
    async with await anyio.connect_unix(path) as connection:
        for _ in range(TURNS):
            await connection.receive(1)
            first = first or time.monotonic() - began
            await anyio.sleep(seconds)
            await connection.send(b"!")
        try:
            await connection.receive(1)
        except anyio.EndOfStream:
            pass  # the child has ended
    return first, time.monotonic() - began


async def slept(seconds: float) -> None:
    """One task of a bare loop."""
    for _ in range(TURNS):
        await anyio.sleep(seconds)


async def side_by_side(task: Callable[[], Awaitable[object]], count: int, at_once: int) -> float:
    """Seconds for `count` tasks, so many at once."""
    places = anyio.Semaphore(at_once)

    async def one() -> None:
        async with places:
            await task()

    began = time.monotonic()
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return time.monotonic() - began


def fresh_import(folder: Path) -> float:
    """Seconds of an interpreter that imports anthropic and ends."""
    env = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG", "HOME"}}
    return run(interpreter("-c", "import anthropic"), cwd=folder, env=env).seconds
