"""How well many sub-agents share one orchestrator: `python -m benchmarks.throughput [--json] [--tasks N] [--peers]`.

So many tasks of three turns, each turn 300 ms of the model, 50 at once. Ideal is what the model alone would take; the
ratio is ideal ÷ measured. Processor time is that of everything together: orchestrator, fork server and workers.

- whole: as a person delegates, with staging, logs, ledger, checks and a model's opinion of each draft
- bare: the pool and its workers alone, with nothing stored and nothing judged
- over HTTP: whole, and the model is a server in a process of its own
- floors: a bare asyncio loop, and a bare fork of a warm process for each task
- with `--peers`: deepagents, in one process (benchmarks/peers.py)

It asserts nothing; a busy machine shows in the load that it prints.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import anyio

from onepen.memory import files, snapshot
from onepen.memory.ids import AgentId, TaskId
from onepen.memory.view import View
from onepen.subagents.definition import parse_definition
from onepen.subagents.host import Paused
from onepen.subagents.messages import Message
from onepen.subagents.model import ModelReply, ModelRequest
from onepen.subagents.pool import Assignment, Reported

from . import floors, peers
from .double import double
from .processes import processor_seconds
from .startup import machine
from .studio import INPUT, MODEL, TURNS, Player, Studio, studio

TARGETS = {"bare": 0.90, "whole": 0.85, "cpu_ms": 10.0}


@dataclass(frozen=True)
class Load:
    """What is to be done: so many tasks of three turns of so many seconds, so many at once."""

    tasks: int
    seconds: float
    at_once: int

    @property
    def ideal(self) -> float:
        """Seconds that the model alone would take."""
        rounds = -(-self.tasks // self.at_once)
        return rounds * TURNS * self.seconds


@dataclass(frozen=True)
class Came:
    """What it took, in seconds of the wall's clock and of processors; `own` is the part of this process."""

    name: str
    seconds: float
    cpu: float
    own: float = 0.0

    def as_json(self, load: Load) -> dict[str, object]:
        return {
            "name": self.name,
            "seconds": round(self.seconds, 3),
            "ideal_by_measured": round(load.ideal / self.seconds, 3),
            "cpu_ms_per_task": round(self.cpu * 1000 / load.tasks, 2),
            "own_cpu_ms_per_task": round(self.own * 1000 / load.tasks, 2),
        }


async def timed(name: str, work: Callable[[], Awaitable[object]], *, but: int | None = None) -> Came:
    """What `work` takes; the processor time of process `but` doesn't count."""

    def used() -> float:
        return processor_seconds(os.getpid()) - (0.0 if but is None else processor_seconds(but))

    cpu, own, began = used(), time.process_time(), time.monotonic()
    await work()
    return Came(name, time.monotonic() - began, used() - cpu, time.process_time() - own)


@dataclass
class _Host:
    """Answers one worker and keeps nothing but the conversation."""

    player: Player
    messages: tuple[Message, ...] = ()

    async def model(self, delta: tuple[Message, ...], prefix_sha: str, paused: Paused) -> ModelReply:
        self.messages += delta
        reply = await self.player.reply(ModelRequest(MODEL, (), (), self.messages, 8_192, "writer"))
        self.messages += (reply.message,)
        return reply

    async def tool(self, name: str, input: Mapping[str, object]) -> tuple[str, bool]:  # noqa: A002
        return "nothing found", False

    def progress(self, text: str) -> None:
        return None


def _assigned(at: Studio, number: int, place: Path) -> Assignment:
    """One attempt, with its folder."""
    workspace = at.orchestrator.service.workspace
    task, space = TaskId(f"bare{number}"), workspace.house
    folder = space.staging(task)
    files.make_folder(folder / "inputs", within=workspace.root)
    files.create_exclusive(folder / "inputs" / INPUT.name, INPUT.read_bytes())
    agent = parse_definition(AgentId("writer"), (workspace.root / "agents" / "writer.md").read_text())
    inputs = (INPUT.name,)
    return Assignment(task, 1, agent, f"Bare {number}", place, space.folder, folder, inputs=inputs, model=MODEL)


async def _bare(at: Studio, assignments: Iterator[Assignment]) -> None:
    """One attempt by the pool alone."""
    ending = await at.orchestrator.workshop.pool.run(next(assignments), _Host(at.player))
    assert isinstance(ending, Reported), ending


async def played(folder: Path, load: Load) -> list[Came]:
    """With the model in this process: whole, then bare."""
    async with studio(folder / "played", at_once=load.at_once) as at:
        await at.delegate("Warm up?")
        at.player.seconds = load.seconds
        texts = [f"Question {n}" for n in range(load.tasks)]
        whole = await timed("onepen, whole", partial(at.delegate, *texts))
        workspace = at.orchestrator.service.workspace
        place = snapshot.store(workspace, snapshot.take(View(workspace), workspace.house))
        each = iter([_assigned(at, n, place) for n in range(load.tasks)])
        bare = partial(floors.side_by_side, partial(_bare, at, each), load.tasks, load.at_once)
        return [whole, await timed("onepen, bare", bare)]


async def over_http(folder: Path, load: Load) -> list[Came]:
    """Whole, with the model behind a server; the server's own processor time is not in it."""
    with double(folder, load.seconds) as server:
        async with studio(folder / "asking", at_once=load.at_once, url=server.url) as at:
            await at.delegate("Warm up?")
            texts = [f"Question {n}" for n in range(load.tasks)]
            return [await timed("onepen, whole, over HTTP", partial(at.delegate, *texts), but=server.pid)]


async def bottom(folder: Path, load: Load) -> list[Came]:
    """The floors."""
    with floors.warm(folder) as warm:
        fork = partial(floors.side_by_side, partial(floors.forked, warm, load.seconds), load.tasks, load.at_once)
        loop = partial(floors.side_by_side, partial(floors.slept, load.seconds), load.tasks, load.at_once)
        return [await timed("floor: asyncio loop", loop), await timed("floor: fork of a warm process", fork)]


def beside(folder: Path, load: Load) -> tuple[list[Came], list[str]]:
    """What another library takes; why not, where it can't be had."""
    try:
        told = peers.deepagents(peers.python_of("deepagents", folder), asdict(load))
    except peers.PeerMissing as e:
        return [], [str(e)]
    assert isinstance(told, dict)
    return [Came("peer: deepagents, in process", told["seconds"], told["cpu"], told["cpu"])], []


def measure(load: Load, *, with_peers: bool = False) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    with tempfile.TemporaryDirectory(prefix="onepen-throughput-") as scratch:
        came = [one for part in (played, over_http, bottom) for one in anyio.run(part, Path(scratch), load)]
        others, missing = beside(Path(scratch), load) if with_peers else ([], [])
    return {
        "machine": machine(),
        "targets": TARGETS,
        "load": {**asdict(load), "turns": TURNS, "ideal_seconds": load.ideal},
        "ways": [one.as_json(load) for one in (*came, *others)],
        "left_out": missing,
    }


def table(result: dict[str, object]) -> str:
    """The same for people."""
    whole, load, ways, left = (result[name] for name in ("machine", "load", "ways", "left_out"))
    assert isinstance(whole, dict) and isinstance(load, dict) and isinstance(ways, list) and isinstance(left, list)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**whole),
        "{tasks} tasks of {turns} turns of {seconds} s, {at_once} at once: ideal {ideal_seconds:.1f} s".format(**load),
        "",
        f"{'':34}{'seconds':>9}{'ideal ÷ measured':>19}{'processor, each':>18}{'of it here':>13}",
    ]
    lines += [
        "{name:34}{seconds:>9}{ideal_by_measured:>19}{cpu_ms_per_task:>15} ms{own_cpu_ms_per_task:>10} ms".format(**row)
        for row in ways
    ]
    lines += ["targets: bare 0.90, whole 0.85; 10 ms of processor each", *(f"left out: {line}" for line in left)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description="Many sub-agents at once.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--tasks", type=int, default=200, help="how many tasks (default: 200)")
    parser.add_argument("--at-once", type=int, default=50, help="how many side by side (default: 50)")
    parser.add_argument("--seconds", type=float, default=0.3, help="the model's time for a turn (default: 0.3)")
    parser.add_argument("--peers", action="store_true", help="measure other libraries, too, from PyPI")
    arguments = parser.parse_args()
    load = Load(max(1, arguments.tasks), arguments.seconds, max(1, arguments.at_once))
    result = measure(load, with_peers=arguments.peers)
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
