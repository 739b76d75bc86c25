"""The person's own command at the end of a batch: `[notify] command` in their config, and never from a workspace.

It is started without a shell, in the folder /, with one line of text as its last argument and the batch as JSON on
stdin. It gets what the orchestrator has of the environment, so no key, and ten seconds. What it says is nobody's
business, and whatever goes wrong with it is a note: the batch is over either way.
"""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio
import anyio.to_thread

from ...memory.ids import shown
from ..amounts import lasting, money
from ..process.environment import background_environment
from .answer import BatchView

_SECONDS = 10.0
_HOW = {
    "finished": "is finished",
    "stopped": "was stopped",
    "over_budget": "has reached its budget",
    "too_many_failures": "stopped: too many tasks failed",
    "cancelled": "was cancelled",
}


def line_of(view: BatchView) -> str:
    """What a person is told of a batch that ended, in one line: how, what came of it, what it cost.

    It begins with a word: a program would take a file's name that begins with "-" for an option.
    """
    counts = view.counts
    parts = [f"{counts.done:,} of {counts.total:,} done"]
    parts += [f"{counts.failed:,} failed"] if counts.failed else []
    parts += [f"{counts.in_review:,} wait for review"] if counts.in_review else []
    parts += [f"cost {money(view.cost_usd)}", f"in {lasting(view.seconds)}"]
    name = " ".join(view.name.split())
    return f"Batch {name} {_HOW.get(view.state, view.state)}: {', '.join(parts)}"


async def notify(
    command: Sequence[str], line: str, document: Mapping[str, object], *, seconds: float = _SECONDS
) -> str | None:
    """Runs the command to its end, without keeping anybody waiting; what went wrong with it, None for nothing."""
    if not command:
        return None
    data = json.dumps(document, ensure_ascii=False).encode()
    return await anyio.to_thread.run_sync(_told, tuple(command), line, data, seconds)


def _told(command: tuple[str, ...], line: str, data: bytes, seconds: float) -> str | None:
    named = f"[notify] command {shown(command[0])}"
    try:
        process = subprocess.Popen(
            [*command, line], cwd="/", env=background_environment(os.environ), start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError) as e:
        reason = getattr(e, "strerror", None) or e
        return f"{named} could not be started: {reason}"
    try:
        process.communicate(data, timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # what it started goes with it
        process.wait()
        return f"{named} was ended: it took longer than {seconds:g} s"
    return None if process.returncode == 0 else f"{named} ended with {process.returncode}"


async def notified(view: BatchView, command: Sequence[str]) -> BatchView:
    """The view, once the person's command was told of it; one who stopped it by hand is there and knows."""
    note = None if view.interrupted else await notify(command, line_of(view), view.as_json())
    return view if note is None else replace(view, told=(*view.told, note))
