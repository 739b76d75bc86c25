"""What the meter costs: `python -m benchmarks.meter [--json] [--lines N] [--rounds N]`.

A usage log of so many lines is made (100,000 without a word), and then: what one task has cost is asked the first time
and again, a response is booked by who knows that it is new and by who can't know, and all is summed up by layer. The
references are the bare reading of the file and a bare append. Processor time, since machines have other work to do.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from onepen.memory.workspace import Space
from onepen.orchestrator.book import book_all, record
from onepen.orchestrator.cashbook import Cashbook
from onepen.orchestrator.meter.measured import Measured, Missed
from onepen.orchestrator.tally import tally
from onepen.orchestrator.usage import Booking, booking_line
from onepen.subagents.model import Usage

from .startup import machine

NOW = datetime.fromisoformat("2026-11-30T10:00:00+01:00")
LAYERS = {"B": 2_100, "A": 200, "I": 1_400, "S": 600, "C": 3_000, "E": 900}
_TASK = Booking("t0", 1, "writer", "big", Usage(10, 400, 7_790, 200), 0.012, 2.5, call=1)
_CHAT = Booking(
    "", 0, "main", "big", Usage(10, 400, 7_790, 200), 0.012, role="main", chat="2026-11-30-ab", turn=1, call=1
)


@dataclass(frozen=True)
class Took:
    """Milliseconds of processor time of one call, the median of several."""

    name: str
    ms: float


def filled(space: Space, lines: int) -> Path:
    """The month's file, three lines a task and one of five a chat's."""
    path = space.root / f"logs/usage-{NOW:%Y-%m}.jsonl"
    path.parent.mkdir(parents=True)
    missed = Measured(LAYERS, ("read_card",), Missed("C", "expired", 3_000, 0.01, 412))
    with path.open("w") as file:
        for k in range(lines):
            when = NOW - timedelta(seconds=lines - k)
            measured = missed if k % 50 == 0 else Measured(LAYERS, ("read_card",))
            kept = {"measured": measured, "at": when.isoformat(timespec="seconds")}
            one = Booking(f"t{k // 3}", 1, "writer", "big", _TASK.usage, 0.012, 0.0, call=k % 3 + 1, **kept)  # type: ignore[arg-type]
            if k % 5 == 0:
                one = Booking("", 0, "main", "big", _CHAT.usage, 0.012, 0.0, "main", 0, 0, "c", k, 1, **kept)  # type: ignore[arg-type]
            file.write(booking_line(space, one, when) + "\n")
    return path


def took(name: str, call: Callable[[], object], rounds: int) -> Took:
    spans = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        spans.append(time.process_time() - began)
    return Took(name, round(statistics.median(spans) * 1_000, 3))


def measure(lines: int, rounds: int) -> Sequence[Took]:
    with tempfile.TemporaryDirectory() as folder:
        space = Space(Path(folder), None)
        path = filled(space, lines)
        book, turn = Cashbook(space), iter(range(10**6, 2 * 10**6))
        book.of_task("t1")

        def new() -> Booking:
            return Booking("", 0, "main", "big", _CHAT.usage, 0.012, 0.0, "main", 0, 0, "new", next(turn), 1)

        def append() -> None:
            with path.open("ab") as file:
                file.write(b'{"v": 1}\n')
                os.fsync(file.fileno())

        return (
            took("reference: the file is read", path.read_bytes, rounds),
            took("what a task has cost, asked the first time", lambda: Cashbook(space).of_task("t1"), rounds),
            took("what a task has cost, asked again", lambda: book.of_task("t1"), rounds * 9),
            took("reference: a line is appended and synced", append, rounds * 9),
            took("a response is booked that is known to be new", lambda: record(space, [new()], NOW), rounds * 9),
            took("a response is booked after a crash", lambda: book_all(space, [new()], NOW, NOW.isoformat()), rounds),
            took("all summed up by layer, with advice", lambda: tally([space], "layer"), min(rounds, 3)),
        )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args(argv)
    found = measure(args.lines, args.rounds)
    told: Mapping[str, object] = {"machine": machine(), "lines": args.lines, "took": [vars(one) for one in found]}
    if args.json:
        print(json.dumps(told))
        return 0
    print(f"{args.lines:,} lines; milliseconds of processor time; {told['machine']}")
    for one in found:
        print(f"{one.ms:>12,.3f}  {one.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
