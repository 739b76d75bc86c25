"""What a sub-agent costs: `python -m benchmarks.workers [--json] [--rounds N] [--alive N,N,…] [--peers]`.

- from handing a task over until its worker's first model call, with an orchestrator that runs
- what three turns take beyond the model's own time, at 0 and 300 ms a turn; the model in this process, and over HTTP
- memory of workers that nobody else has, with so many of them alive at once

Each beside its floors in the same run (benchmarks/floors.py), turn by turn. With `--peers`, other libraries do the same
behind them (benchmarks/peers.py). It asserts nothing; a busy machine shows in the load that it prints.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from . import floors, peers
from .double import Double, double
from .processes import available_bytes, descendants, private_bytes
from .startup import machine
from .studio import INPUT, MODEL, TURNS, Studio, studio

LATENCIES = (0.0, 0.3)
ALIVE = (1, 50, 500, 1_000)
QUEUED = 20
"""How many more tasks are handed over than workers may be alive: they wait, and none is refused."""
TARGETS = {"first": 12.0, "beyond 0": 20.0, "beyond 300": 30.0, "private": 6.0}
_EACH = 64 << 20  # a plain child process; what isn't there must not be asked for


@dataclass
class Series:
    """Seconds of one way to do a task, without the model's own time: to its first model call, and in all."""

    name: str
    latency: float
    first: list[float] = field(default_factory=list)
    beyond: list[float] = field(default_factory=list)

    def add(self, first: float, whole: float) -> None:
        self.first.append(first)
        self.beyond.append(whole - TURNS * self.latency)

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "latency_ms": round(self.latency * 1000),
            "first_call_ms": _ms(statistics.median(self.first)) if self.first else None,
            "first_call_ms_least": _ms(min(self.first)) if self.first else None,
            "beyond_ms": _ms(statistics.median(self.beyond)),
            "beyond_ms_least": _ms(min(self.beyond)),
            "runs": len(self.beyond),
        }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)


async def _played(at: Studio, latency: float, name: str) -> tuple[float, float]:
    """One task with the model in this process."""
    at.player.seconds = latency
    began = time.monotonic()
    await at.delegate(name)
    return at.player.first[name] - began, time.monotonic() - began


async def _over_http(at: Studio, server: Double, name: str) -> tuple[float, float]:
    """One task with the model behind a server."""
    before = len(server.came())
    began = time.monotonic()
    await at.delegate(name)
    whole = time.monotonic() - began
    return server.came()[before] - began, whole


async def tasks(folder: Path, rounds: int) -> list[Series]:
    """One task after the other, each way once a round; one round goes before, uncounted."""
    found: dict[tuple[str, float], Series] = {}

    def note(name: str, latency: float, first: float, whole: float) -> None:
        found.setdefault((name, latency), Series(name, latency)).add(first, whole)

    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(studio(folder / "played"))
        warm = stack.enter_context(floors.warm(folder))
        servers = {latency: stack.enter_context(double(folder, latency)) for latency in LATENCIES}
        asking = {
            latency: await stack.enter_async_context(studio(folder / f"asking-{latency}", url=server.url))
            for latency, server in servers.items()
        }
        for turn in range(rounds + 1):
            for latency in LATENCIES:
                name = f"What came out of the kiln, round {turn} at {latency}?"
                one = await _played(at, latency, name)
                two = await _over_http(asking[latency], servers[latency], name)
                bare = await floors.forked(warm, latency)
                began = time.monotonic()
                await floors.slept(latency)
                loop = time.monotonic() - began
                if turn:
                    note("onepen", latency, *one)
                    note("onepen, over HTTP", latency, *two)
                    note("floor: fork of a warm process", latency, *bare)
                    found.setdefault(("loop", latency), Series("floor: asyncio loop", latency)).add(0.0, loop)
    return sorted(found.values(), key=lambda series: series.latency)


@dataclass(frozen=True)
class Crowd:
    """So many workers alive at once: bytes of each that nobody else has, and how long it took to start them."""

    asked: int
    alive: int
    private: tuple[int, ...]
    seconds: float
    refused: int

    def as_json(self) -> dict[str, object]:
        return {
            "asked": self.asked,
            "alive": self.alive,
            "refused": self.refused,
            "private_mb": round(statistics.median(self.private) / 2**20, 2),
            "private_mb_most": round(max(self.private) / 2**20, 2),
            "start_ms_each": _ms(self.seconds / self.alive),
        }


async def crowd(folder: Path, alive: int, more: int = 0) -> Crowd:
    """Start so many workers, and `more` that have to wait; measure when all wait for the model, then let them end."""
    async with studio(folder, at_once=alive) as at:
        await at.delegate("Warm up?")  # by then all is there that is there once
        at.player.first.clear()
        at.player.gate = gate = anyio.Event()
        before = set(descendants(os.getpid()))
        texts = [f"Question {n}" for n in range(alive + more)]
        refused: list[Exception] = []

        async def all_of_them() -> None:
            try:
                await at.delegate(*texts)
            except RuntimeError as e:
                refused.append(e)

        async with anyio.create_task_group() as group:
            began = time.monotonic()
            group.start_soon(all_of_them)
            while len(at.player.first) < alive and not refused:
                await anyio.sleep(0.01)
            seconds = time.monotonic() - began
            workers = sorted(set(descendants(os.getpid())) - before)
            private = tuple(filter(None, map(private_bytes, workers)))
            gate.set()
        return Crowd(alive + more, len(private), private or (0,), seconds, len(refused))


async def crowds(folder: Path, sizes: Sequence[int]) -> tuple[list[Crowd], list[str]]:
    """Each size in turn, the largest with some that have to wait; and which were left out, and why."""
    found: list[Crowd] = []
    left: list[str] = []
    each = _EACH
    for size in sizes:
        free = available_bytes()
        if size * each > free:
            left.append(f"{size} alive: {size * each >> 20:,} MiB would be needed, {free >> 20:,} are free")
            continue
        more = QUEUED if size == max(sizes) else 0
        found.append(await crowd(folder / f"crowd-{size}", size, more))
        each = int(1.5 * max(found[-1].private))
    return found, left


def beside(folder: Path, rounds: int) -> tuple[list[Series], list[str]]:
    """What other libraries take for such a task; which can't be had, and why."""
    found: list[Series] = []
    left: list[str] = []
    try:
        python = peers.python_of("deepagents", folder)
        told = peers.deepagents(python, {"latencies": LATENCIES, "rounds": rounds})
        assert isinstance(told, dict)
        for latency in LATENCIES:
            one = Series("peer: deepagents, in process", latency)
            for first, whole in told[str(latency)]:
                one.add(first, whole)
            found.append(one)
    except peers.PeerMissing as e:
        left.append(str(e))
    try:
        python = peers.python_of("claude-agent-sdk", folder)
        for latency in LATENCIES:
            one = Series("peer: claude-agent-sdk", latency)
            for first, whole in zip(*peers.claude(python, folder, min(rounds, 5), MODEL, latency), strict=True):
                one.add(first, whole)
            found.append(one)
    except peers.PeerMissing as e:
        left.append(str(e))
    return found, left


def measure(rounds: int, sizes: Sequence[int], *, with_peers: bool = False) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    with tempfile.TemporaryDirectory(prefix="onepen-workers-") as scratch:
        folder = Path(scratch)
        series = anyio.run(tasks, folder, rounds)
        fresh = [floors.fresh_import(folder) for _ in range(3)]
        found, left = anyio.run(crowds, folder, sizes)
        others, missing = beside(folder, rounds) if with_peers else ([], [])
    return {
        "machine": machine(),
        "targets": TARGETS,
        "input": INPUT.name,
        "tasks": [one.as_json() for one in (*series, *others)],
        "fresh_import_of_anthropic_ms": _ms(statistics.median(fresh)),
        "alive": [one.as_json() for one in found],
        "left_out": [*left, *missing],
    }


def table(result: dict[str, object]) -> str:
    """The same for people."""
    whole, rows, alive, left = (result[name] for name in ("machine", "tasks", "alive", "left_out"))
    assert isinstance(whole, dict) and isinstance(rows, list) and isinstance(alive, list) and isinstance(left, list)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**whole),
        "",
        f"{'one task of three turns':34}{'model':>9}{'first call':>14}{'least':>10}{'beyond model':>15}{'least':>10}",
    ]
    for row in rows:
        cells = (row["first_call_ms"], row["first_call_ms_least"], row["beyond_ms"], row["beyond_ms_least"])
        first, least, beyond, least_beyond = ("" if cell is None else f"{cell} ms" for cell in cells)
        lines.append(f"{row['name']:34}{row['latency_ms']:>6} ms{first:>14}{least:>10}{beyond:>15}{least_beyond:>10}")
    lines += [
        f"{'floor: fresh import of anthropic':34}{'':>9}{result['fresh_import_of_anthropic_ms']:>11} ms",
        "targets: first call 12 ms; beyond the model 20 ms at 0 and 30 ms at 300 ms a turn",
        "",
        f"{'workers alive at once':34}{'refused':>9}{'private each':>14}{'most':>10}{'start of each':>15}",
    ]
    lines += [
        f"{row['alive']:>6} of {row['asked']:>5} handed over{'':11}{row['refused']:>9}{row['private_mb']:>11} MB"
        f"{row['private_mb_most']:>7} MB{row['start_ms_each']:>12} ms"
        for row in alive
    ]
    lines += ["target: 6 MB each, none refused", *(f"left out: {line}" for line in left)]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description="What a sub-agent costs.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=15, help="tasks of each kind (default: 15)")
    parser.add_argument("--alive", default=",".join(map(str, ALIVE)), help="how many workers at once (1,50,500,1000)")
    parser.add_argument("--peers", action="store_true", help="measure other libraries, too, from PyPI")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.alive.split(",") if size]
    result = measure(max(1, arguments.rounds), sizes, with_peers=arguments.peers)
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
