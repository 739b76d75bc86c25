"""What a running orchestrator costs and carries: `python -m benchmarks.service [--json] [--rounds N] [--requests N]`.

Whole commands are measured turn by turn against an empty interpreter and one that imports typer. Requests over the
socket are measured against their two floors in the same run: a bare echo over a socket of the same kind, and a bare
append with a sync. It asserts nothing.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from onepen.orchestrator.process.link import Link

from .measure import Figure, Run, in_turns, run
from .startup import DELEGATE, REPOSITORY, fresh_copy, interpreter, machine, onepen, surroundings

CLIENTS = 20
TARGETS = {"onepen log": 200.0, "onepen delegate (cold)": 600.0}


@dataclass(frozen=True)
class Requests:
    """Many requests of one kind: seconds of each (median, 95th percentile), and how many a second in all."""

    name: str
    median: float
    p95: float
    a_second: float

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "ms": round(self.median * 1000, 2),
            "ms_p95": round(self.p95 * 1000, 2),
            "a_second": round(self.a_second, 1),
        }


def many(name: str, ask: Callable[[int], None], count: int, clients: int = 1) -> Requests:
    """`count` requests, by so many clients at once."""

    def one(number: int) -> float:
        began = time.perf_counter()
        ask(number)
        return time.perf_counter() - began

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        seconds = sorted(pool.map(one, range(count)))
    whole = time.perf_counter() - began
    return Requests(name, statistics.median(seconds), seconds[int(0.95 * (count - 1))], count / whole)


def ask_log(workspace: Path, env: Mapping[str, str], number: int) -> None:
    """One `log` as a command hands it over, without the command's own start."""
    link = Link.open(workspace, env)
    assert link is not None, "the orchestrator is gone"
    link.ask("log", os.urandom(8).hex(), {"text": f"line {number}", "client": None})


@contextmanager
def echo(folder: Path) -> Iterator[Callable[[int], None]]:
    """A server that answers each line with the line, a connection for each, as the orchestrator is asked."""
    path, ready = str(folder / "echo.sock"), threading.Event()
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(await reader.readline())
        await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_unix_server(answer, path)
        ready.set()
        async with server:
            await server.serve_forever()

    thread = threading.Thread(target=lambda: loop.run_until_complete(_quietly(serve())), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield partial(_echoed, path)
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join(5)


async def _quietly(work: "asyncio.Future[None] | object") -> None:
    try:
        await work  # type: ignore[misc]
    except asyncio.CancelledError:
        pass


def _echoed(path: str, number: int) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        with connection.makefile("rwb") as lines:
            for _ in range(2):
                lines.write(b'{"text": "line"}\n')
                lines.flush()
                lines.readline()


def append(path: Path, number: int) -> None:
    """One line added and synced: less than any durable commit can cost."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"x" * 300 + b"\n")
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def resident(pid: int) -> float:
    """Resident memory of a process in MiB."""
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    status = Path(f"/proc/{pid}/status")
    found = re.search(r"VmRSS:\s*(\d+)", status.read_text()) if status.exists() else None
    return int(found[1] if found else told) / 1024


def holder(workspace: Path) -> int:
    return int(json.loads((workspace / ".onepen/pen.json").read_bytes())["pid"])


class Bench:
    """A copy of the example workspace, and commands about it."""

    def __init__(self, scratch: Path) -> None:
        home = scratch / "home"
        home.mkdir()
        self.env = surroundings(home)
        self.workspace = fresh_copy(REPOSITORY / "examples" / "workspace", scratch / "workspace")

    def run(self, *arguments: str) -> Run:
        return run(onepen(*arguments), cwd=self.workspace, env=self.env)

    def without(self, *arguments: str) -> Run:
        """A command while no orchestrator runs; one that it starts is ended afterwards, uncounted."""
        self.run("down")
        done = self.run(*arguments)
        self.run("down")
        return done

    def with_it(self, *arguments: str) -> Run:
        """A command while an orchestrator runs."""
        self.run("up")
        return self.run(*arguments)

    def programs(self) -> dict[str, Callable[[], Run]]:
        bare = partial(run, cwd=self.workspace, env=self.env)
        return {
            "python -c pass": partial(bare, interpreter("-c", "pass")),
            "python -c 'import typer'": partial(bare, interpreter("-c", "import typer")),
            "onepen log": partial(self.with_it, "log", "called Ana"),
            "onepen log (none runs)": partial(self.without, "log", "called Ana"),
            "onepen up (cold start)": partial(self.without, "up"),
            "onepen delegate": partial(self.with_it, *DELEGATE),
            "onepen delegate (cold)": partial(self.without, *DELEGATE),
        }


def measure(rounds: int, requests: int) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    with tempfile.TemporaryDirectory(prefix="onepen-service-") as scratch:
        bench = Bench(Path(scratch))
        figures = in_turns(bench.programs(), rounds=rounds)
        bench.run("down")
        bench.run("up")
        pid = holder(bench.workspace)
        at_start = resident(pid)
        ask = partial(ask_log, bench.workspace, bench.env)
        with echo(Path(scratch)) as echoed:
            loads = [
                many("bare append + fdatasync", partial(append, Path(scratch, "bare")), requests),
                many("bare echo, one client", echoed, requests),
                many("log, one client", ask, requests),
                many(f"bare echo, {CLIENTS} clients", echoed, requests, CLIENTS),
                many(f"log, {CLIENTS} clients", ask, requests, CLIENTS),
            ]
        after = resident(pid)
        bench.run("down")
    return document(figures, loads, at_start, after)


def document(figures: tuple[Figure, ...], loads: list[Requests], at_start: float, after: float) -> dict[str, object]:
    """Figures with their references and targets."""
    bare = figures[0]
    return {
        "machine": machine(),
        "commands": [
            {**one.as_json(), "times_bare": round(one.seconds / bare.seconds, 2), "target_ms": TARGETS.get(one.name)}
            for one in figures
        ],
        "requests": [one.as_json() for one in loads],
        "resident_mb": {"at_start": round(at_start, 1), "after_requests": round(after, 1)},
    }


def table(result: Mapping[str, object]) -> str:
    """The same for people."""
    commands, requests, memory = result["commands"], result["requests"], result["resident_mb"]
    assert isinstance(commands, list) and isinstance(requests, list) and isinstance(memory, dict)
    whole = result["machine"]
    assert isinstance(whole, dict)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**whole),
        "",
        f"{'command':30}{'median':>10}{'least':>10}{'most':>10}{'peak':>10}{'× bare':>9}{'target':>10}",
    ]
    for row in commands:
        target = f"{row['target_ms']:.0f} ms" if row["target_ms"] else ""
        lines.append(
            "{name:30}{ms:>7} ms{ms_least:>7} ms{ms_most:>7} ms{peak_mb:>7} MB{times_bare:>9}".format(**row)
            + f"{target:>10}"
        )
    lines += ["", f"{'request':30}{'median':>10}{'p95':>10}{'a second':>12}"]
    lines += ["{name:30}{ms:>7} ms{ms_p95:>7} ms{a_second:>12}".format(**row) for row in requests]
    lines += [
        "",
        "resident memory: {at_start} MB at the start, {after_requests} MB after the requests".format(**memory),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description="A running orchestrator.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=7, help="runs of each command (default: 7)")
    parser.add_argument("--requests", type=int, default=500, help="requests of each kind (default: 500)")
    arguments = parser.parse_args()
    result = measure(max(1, arguments.rounds), max(20, arguments.requests))
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
