"""How a long batch runs: `python -m benchmarks.batch [--json] [--tasks N] [--sizes N,N,…] [--restart N] [--peers]`.

So many tasks of three turns, each turn 300 ms of the model, 100 at once. Ideal is what the model alone would take; the
ratio is ideal ÷ measured. Processor time is that of everything together: orchestrator, fork server and workers. The
model is in the orchestrator's process, and each run is a process of its own, so that its peak of memory is its own.

- committed: `--review auto`, a model judges each draft and it is committed: card, index, history, books
- in review: a person is to review, so that all drafts wait
- delegated: the same tasks as one `delegate`, all made at once
- floors: a bare asyncio loop, and a bare fork of a warm process for each task
- with `--peers`: deepagents, in one process (benchmarks/peers.py)
- growth: the first two with other numbers of tasks
- restart: of a job nine tenths of which are done, from the process's start to the first call of a new task

It asserts nothing; a busy machine shows in the load that it prints.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import anyio

from onepen.orchestrator.batch.answer import BatchView
from onepen.orchestrator.batch.request import BatchRequest, GoOn

from .processes import processor_seconds
from .startup import REPOSITORY, interpreter, machine
from .studio import INPUT, MODEL, TURNS, studio
from .throughput import Load, beside, bottom

SIZES = (200, 1_000, 5_000)
RESTART = 10_000
TARGETS = {"ideal_by_measured": 0.85, "cpu_ms": 10.0, "peak_mb": 300.0, "restart_s": 2.0}
WAYS = {"committed": "auto", "in review": "person"}


def rows(count: int) -> str:
    """The rows of a batch."""
    return "".join(json.dumps({"name": f"Cup {n:05}", "n": f"{n:05}"}) + "\n" for n in range(count))


def request(count: int, review: str, at_once: int, sample: int | None = None) -> BatchRequest:
    assert review in ("auto", "person")
    return BatchRequest(
        "cups.jsonl", data=rows(count), prompt="What became of cup {n}?", target="research/{name}.md", agent="writer",
        inputs=(INPUT,), review="auto" if review == "auto" else "person", model=MODEL, concurrency=at_once,
        sample=sample,
    )  # fmt: skip


# -- one run, in a process of its own ----------------------------------------------------------------------------------


class _Meter:
    """What this process and all that it started have used since it was made."""

    def __init__(self) -> None:
        self._cpu, self._own, self._began = processor_seconds(os.getpid()), time.process_time(), time.monotonic()

    def told(self, count: int) -> dict[str, object]:
        seconds = time.monotonic() - self._began
        cpu, own = processor_seconds(os.getpid()) - self._cpu, time.process_time() - self._own
        return {
            "seconds": round(seconds, 3),
            "cpu_ms_per_task": round(cpu * 1000 / count, 2),
            "own_cpu_ms_per_task": round(own * 1000 / count, 2),
            "peak_mb": round(peak_bytes() / 2**20, 1),
        }


def peak_bytes() -> int:
    """The most memory that this process ever held at a time."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


async def ran(place: Path, way: str, load: Load) -> dict[str, object]:
    """A batch in a fresh workspace at `place`, or the same tasks delegated."""
    async with studio(place, at_once=load.at_once) as at:
        await at.delegate("Warm up?")
        at.player.seconds = load.seconds
        meter = _Meter()
        if way == "delegated":
            await at.delegate(*(f"What became of cup {n:05}?" for n in range(load.tasks)))
            return meter.told(load.tasks)
        view = await at.orchestrator.service.batch_run(request(load.tasks, WAYS[way], load.at_once))
        _check(view, way, load.tasks)
        return meter.told(load.tasks)


def _check(view: BatchView, way: str, count: int) -> None:
    came = view.counts.committed if way == "committed" else view.counts.in_review
    if came != count:
        raise RuntimeError(f"{came} of {count} tasks are {way}: {view.counts}, {view.failures}")


async def begun(place: Path, count: int, done: int, at_once: int) -> dict[str, object]:
    """A batch of `count` tasks of which `done` are committed: what it took, each."""
    async with studio(place, at_once=at_once) as at:
        meter = _Meter()
        view = await at.orchestrator.service.batch_run(request(count, "auto", at_once, sample=done))
        assert view.counts.committed == done, view.counts
        return meter.told(done)


async def restarted(place: Path, started: float, *, at_once: int) -> dict[str, object]:
    """Goes on with it in this new process until a new task has asked its model; `started` is when it was started."""
    imported = time.monotonic()
    async with studio(place, at_once=at_once, there=True) as at:
        up = time.monotonic()
        (view,) = at.orchestrator.service.batches().batches
        listed = time.monotonic()
        async with anyio.create_task_group() as group:
            group.start_soon(at.orchestrator.service.batch_go_on, GoOn(view.batch, sample=1))
            while not at.player.first:
                await anyio.sleep(0.001)
        first = min(at.player.first.values())
        return {
            "interpreter_s": round(imported - started, 3),
            "orchestrator_s": round(up - imported, 3),
            "status_s": round(listed - up, 3),
            "first_call_s": round(first - listed, 3),
            "in_all_s": round(first - started - (listed - up), 3),
            "peak_mb": round(peak_bytes() / 2**20, 1),
        }


def one(asked: Mapping[str, object]) -> dict[str, object]:
    """What `apart` asks of a process of its own."""
    place, what = Path(str(asked["place"])), str(asked["what"])
    if what == "begun":
        return anyio.run(partial(begun, place, **asked["given"]))  # type: ignore[arg-type]
    if what == "restarted":
        return anyio.run(partial(restarted, place, **asked["given"]), float(str(asked["started"])))  # type: ignore[arg-type]
    return anyio.run(ran, place, what, Load(**asked["given"]))  # type: ignore[arg-type]


def apart(**asked: object) -> dict[str, object]:
    """The same in a new process."""
    command = interpreter("-m", "benchmarks.batch", "--one", json.dumps({**asked, "started": time.monotonic()}))
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{asked}: exit {done.returncode}\n{done.stderr}")
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


# -- all of them -------------------------------------------------------------------------------------------------------


def row(name: str, load: Load, told: Mapping[str, object]) -> dict[str, object]:
    seconds = told["seconds"]
    assert isinstance(seconds, float)
    ideal = round(load.ideal / seconds, 3)
    return {"name": name, "tasks": load.tasks, "ideal_by_measured": ideal, **told}


def measure(load: Load, sizes: Sequence[int], restart: int, *, with_peers: bool = False) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    with tempfile.TemporaryDirectory(prefix="onepen-batch-") as scratch:
        folder = Path(scratch)

        def night(way: str, size: Load) -> dict[str, object]:
            place = folder / f"{way.replace(' ', '-')}-{size.tasks}"
            told = apart(what=way, place=str(place), given=asdict(size))
            return row(f"onepen, {way}", size, told)

        main = [night(way, load) for way in (*WAYS, "delegated")]
        floors = [came.as_json(load) for came in anyio.run(bottom, folder, load)]
        others, missing = beside(folder, load) if with_peers else ([], [])
        growth = [
            found if size == load.tasks else night(way, Load(size, load.seconds, load.at_once))
            for way, found in zip(WAYS, main, strict=False)
            for size in sizes
        ]
        again = _restarted(folder, restart, load.at_once) if restart else None
    return {
        "machine": machine(),
        "targets": TARGETS,
        "load": {**asdict(load), "turns": TURNS, "ideal_seconds": load.ideal},
        "ways": [*main, *floors, *(came.as_json(load) for came in others)],
        "growth": growth,
        "restart": again,
        "left_out": missing,
    }


def _restarted(folder: Path, count: int, at_once: int) -> dict[str, object]:
    place, done = folder / "restart", count * 9 // 10
    given = {"count": count, "done": done, "at_once": at_once}
    before = apart(what="begun", place=str(place), given=given)
    return {
        "tasks": count,
        "done": done,
        "before": before,
        **apart(what="restarted", place=str(place), given={"at_once": at_once}),
    }


def table(result: Mapping[str, object]) -> str:
    """The same for people."""
    whole, load, ways, growth, again = (result[name] for name in ("machine", "load", "ways", "growth", "restart"))
    left = result["left_out"]
    assert isinstance(whole, dict) and isinstance(load, dict) and isinstance(ways, list) and isinstance(growth, list)
    assert isinstance(left, list)
    head = f"{'seconds':>9}{'ideal ÷ measured':>19}{'processor, each':>18}{'of it here':>13}{'peak':>11}"
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**whole),
        "{tasks} tasks of {turns} turns of {seconds} s, {at_once} at once: ideal {ideal_seconds:.1f} s".format(**load),
        "",
        f"{'':34}{head}",
        *(f"{one['name']:34}{_figures(one)}" for one in ways),
        "",
        "with other numbers of tasks:",
        *(f"{one['name'] + ', ' + format(one['tasks'], ',') + ' tasks':34}{_figures(one)}" for one in growth),
    ]
    if isinstance(again, dict):
        lines += [
            "",
            "restart of a job of {tasks:,} tasks, {done:,} of them done: {in_all_s} s to the first call of a new one "
            "(interpreter {interpreter_s}, orchestrator {orchestrator_s}, batch {first_call_s}; its status alone takes "
            "{status_s}); peak {peak_mb} MB".format(**again),
        ]
    lines += [
        "",
        "targets: 0.85 of the ideal, 10 ms of processor each, 300 MB, 2 s to the first new task",
        *(f"left out: {line}" for line in left),
    ]
    return "\n".join(lines)


def _figures(one: Mapping[str, object]) -> str:
    peak = f"{one['peak_mb']:>8} MB" if "peak_mb" in one else ""
    return (
        f"{one['seconds']:>9}{one['ideal_by_measured']:>19}{one['cpu_ms_per_task']:>15} ms"
        f"{one['own_cpu_ms_per_task']:>10} ms{peak}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batch", description="Long batches.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--tasks", type=int, default=1_000, help="how many tasks (default: 1000)")
    parser.add_argument("--at-once", type=int, default=100, help="how many side by side (default: 100)")
    parser.add_argument("--seconds", type=float, default=0.3, help="the model's time for a turn (default: 0.3)")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="how many to see how it grows")
    parser.add_argument("--restart", type=int, default=RESTART, help="tasks of the job that is restarted; 0: none")
    parser.add_argument("--peers", action="store_true", help="measure other libraries, too, from PyPI")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(json.loads(arguments.one))))
        return
    load = Load(max(1, arguments.tasks), arguments.seconds, max(1, arguments.at_once))
    sizes = [int(size) for size in arguments.sizes.split(",") if size]
    result = measure(load, sizes, max(0, arguments.restart), with_peers=arguments.peers)
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
