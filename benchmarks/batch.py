"""What a long batch takes of the machine: `python -m benchmarks.batch [--json] [--tasks N]… [--restart N]`.

So many tasks of three turns, each turn 300 ms of the model, 100 at once, in one batch: as a person runs it, with every
draft checked, judged by the model and committed. Ideal is what the model alone would take; the ratio is ideal ÷
measured. Processor time is that of everything together: orchestrator, fork server and workers. Memory is that of the
orchestrator at its highest. The sizes are run one after the other, each in a process of its own, so that growth shows.

- restart: a job of which nine tenths are done goes on in a new process: from its start until the first new call
- floors: a bare asyncio loop, and a bare fork of a warm process for each task

It asserts nothing; a busy machine shows in the load that it prints.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

import anyio

from onepen.orchestrator.batch.answer import BatchView
from onepen.orchestrator.batch.request import BatchRequest, GoOn

from .processes import processor_seconds
from .startup import REPOSITORY, machine
from .studio import INPUT, MODEL, TURNS, Studio, studio
from .throughput import Came, Load, bottom

TARGETS = {"memory_mib": 300.0, "restart_seconds": 2.0}
SIZES = (200, 1_000, 5_000)
RESTART = 10_000
AT_ONCE = 100
SECONDS = 0.3


def rows(tasks: int) -> str:
    """The rows of a batch, as JSON lines."""
    return "".join(f'{{"text": "Question {n}", "target": "research/finding-{n}.md"}}\n' for n in range(tasks))


def asked(place: Path, tasks: int, at_once: int) -> BatchRequest:
    """The batch of so many tasks; its rows lie in `place`."""
    file = place / "rows.jsonl"
    if not file.exists():
        file.write_text(rows(tasks))
    return BatchRequest(
        file.name, file, agent="writer", inputs=(INPUT,), review="auto", model=MODEL, concurrency=at_once
    )


def highest() -> int:
    """The most memory that this process had, in bytes, as Linux tells it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


# -- in a process of its own -------------------------------------------------------------------------------------------


async def whole(place: Path, load: Load) -> dict[str, object]:
    """One batch to its end."""
    async with studio(place / "batch", at_once=load.at_once) as at:
        await at.delegate("Warm up?")
        at.player.seconds = load.seconds
        own, all_of_it, began = time.process_time(), processor_seconds(os.getpid()), time.monotonic()
        view = await at.orchestrator.service.batch_run(asked(place, load.tasks, load.at_once))
        came = Came("batch", time.monotonic() - began, processor_seconds(os.getpid()) - all_of_it)
        _check(view, load.tasks)
        told = Came(came.name, came.seconds, came.cpu, time.process_time() - own).as_json(load)
        return {**told, "tasks": load.tasks, "peak_mib": round(highest() / (1 << 20), 1)}


async def mostly(place: Path, load: Load) -> dict[str, object]:
    """Nine tenths of a batch, and no more."""
    async with studio(place / "batch", at_once=load.at_once) as at:
        request = asked(place, load.tasks, load.at_once)
        view = await at.orchestrator.service.batch_run(replace(request, sample=load.tasks * 9 // 10))
        return {"batch": view.batch, "done": view.counts.done}


async def again(place: Path, load: Load, began: float) -> dict[str, object]:
    """The rest of it, as far as its first new call; `began` is when this process was started."""
    async with studio(place / "batch", at_once=load.at_once, there=True) as at:
        ready = time.monotonic()
        called = time.monotonic()
        (batch,) = at.orchestrator.service.batches().batches
        async with anyio.create_task_group() as group:
            at.player.gate = anyio.Event()
            called = time.monotonic()
            group.start_soon(_go_on, at, batch.batch, load.at_once)
            while not at.player.first:
                await anyio.sleep(0.002)
            first = min(at.player.first.values())
            group.cancel_scope.cancel()
        return {
            "tasks": load.tasks,
            "done": batch.counts.done,
            "ready_seconds": round(ready - began, 3),
            "to_first_call_seconds": round(first - called, 3),
            "restart_seconds": round(first - began - (called - ready), 3),
        }


async def _go_on(at: Studio, batch: str, at_once: int) -> None:
    await at.orchestrator.service.batch_go_on(GoOn(batch, concurrency=at_once))


def _check(view: BatchView, tasks: int) -> None:
    if view.counts.committed != tasks:
        raise RuntimeError(f"{view.counts.committed} of {tasks} tasks were committed: {view.as_json()}")


PARTS: dict[str, Callable[..., Awaitable[dict[str, object]]]] = {"whole": whole, "mostly": mostly, "again": again}

# -- all of it ---------------------------------------------------------------------------------------------------------


def part(name: str, place: Path, load: Load) -> dict[str, object]:
    """One part in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.batch", "--part", name, "--place", str(place)]
    command += ["--load", json.dumps(vars(load)), "--began", repr(time.monotonic())]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"part {name}: exit {done.returncode}\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def measure(
    sizes: Iterable[int], restart: int, *, at_once: int = AT_ONCE, seconds: float = SECONDS
) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints; `restart` 0: without it."""
    found = []
    for tasks in sizes:
        with tempfile.TemporaryDirectory(prefix="onepen-batch-") as scratch:
            found.append(part("whole", Path(scratch), Load(tasks, seconds, at_once)))
    first: dict[str, object] = {}
    if restart:
        with tempfile.TemporaryDirectory(prefix="onepen-batch-") as scratch:
            load = Load(restart, 0.0, at_once)
            part("mostly", Path(scratch), load)
            first = part("again", Path(scratch), load)
    with tempfile.TemporaryDirectory(prefix="onepen-batch-") as scratch:
        floor = Load(min(sizes), seconds, at_once)
        floors = [one.as_json(floor) for one in anyio.run(bottom, Path(scratch), floor)]
    return {
        "machine": machine(),
        "targets": TARGETS,
        "load": {"turns": TURNS, "seconds": seconds, "at_once": at_once},
        "sizes": found,
        "restart": first,
        "floors": floors,
    }


def table(result: dict[str, object]) -> str:
    """The same for people."""
    whole, load, sizes, restart, floors = (result[name] for name in ("machine", "load", "sizes", "restart", "floors"))
    assert isinstance(whole, dict) and isinstance(load, dict) and isinstance(restart, dict)
    assert isinstance(sizes, list) and isinstance(floors, list)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**whole),
        "batches of tasks of {turns} turns of {seconds} s, {at_once} at once".format(**load),
        "",
        f"{'':34}{'seconds':>9}{'ideal ÷ measured':>19}{'processor, each':>18}{'of it here':>13}{'at most':>12}",
    ]
    row = "{name:34}{seconds:>9}{ideal_by_measured:>19}{cpu_ms_per_task:>15} ms{own_cpu_ms_per_task:>10} ms"
    for one in sizes:
        lines.append(row.format(**{**one, "name": f"onepen, {one['tasks']:,} tasks"}) + f"{one['peak_mib']:>8} MiB")
    lines += [row.format(**one) for one in floors]
    if restart:
        words = "restart of {tasks:,} tasks with {done:,} done: ready after {ready_seconds} s, "
        words += "first new call {to_first_call_seconds} s later"
        lines += ["", words.format(**restart)]
    return "\n".join((*lines, "targets: at most 300 MiB; the first new call 2 s after a restart"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tasks", type=int, action="append", help="a size; may be repeated")
    parser.add_argument("--restart", type=int, default=RESTART, help="tasks of the job that goes on; 0: none")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--load", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        more = (given.began,) if given.part == "again" else ()
        print(json.dumps(anyio.run(PARTS[given.part], given.place, Load(**given.load), *more)))
        return
    result = measure(given.tasks or SIZES, given.restart, at_once=given.at_once, seconds=given.seconds)
    print(json.dumps(result) if given.json else table(result))


if __name__ == "__main__":
    main()
