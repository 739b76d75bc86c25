"""How long a large workspace is examined, begun and written to: `python -m benchmarks.doctor [--json] [--cards N]`.

A workspace of N cards of 2 KiB with their entries and of 700 day logs, and one of twice as many cards. Measured are
`onepen doctor`, one `onepen log` by itself, and `onepen up` with a first request; beside them, turn by turn in the same
run, an interpreter that only reads every file. It asserts nothing.
"""

import argparse
import json
import shlex
import tempfile
from collections.abc import Mapping
from datetime import date, timedelta
from functools import partial
from pathlib import Path

from onepen.memory.change import Change
from onepen.memory.clock import SystemClock
from onepen.memory.commit.pen import Pen
from onepen.memory.files import make_folder, replace
from onepen.memory.scaffold import init
from onepen.memory.text.refusal import NothingToChange
from onepen.memory.workspace import open_workspace

from .measure import Figure, Run, in_turns, run
from .startup import interpreter, machine, onepen, surroundings

CARDS = 5_000
DAYS = 700
_SENTENCE = "A sentence about something that was found out in the workshop. "
_READ_ALL = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith((".md", ".jsonl")):
            open(os.path.join(folder, name), "rb").read().decode()
"""


def make(root: Path, cards: int, days: int = DAYS) -> Path:
    """A workspace of this size in which nothing is wrong."""
    today = SystemClock().now().date()
    init(root, id="abcdefgh", name="", today=today)
    body = "".join(f"\n## Part {k}\n\n{_SENTENCE * 6}\n" for k in range(5))
    index = ["# Research\n"]
    for number in range(cards):
        name = f"finding-{number}"
        head = f"---\ntitle: Finding {number}\nstatus: active\nupdated: 2026-01-01\n---\n\n# Finding {number}\n"
        replace(root / f"research/{name}.md", (head + body).encode())
        index.append(f"\n## [Finding {number}]({name}.md)\nstatus: active · updated: 2026-01-01\n\n")
        index += [f"- [part-{k}]({name}.md#part-{k}) — Part {k} of it. `workshop, part {k}`\n" for k in range(5)]
    replace(root / "research/_index.md", "".join(index).encode())
    _days(root, today, days)
    return root


def _days(root: Path, today: date, days: int) -> None:
    """Day logs before today, sealed."""
    lines = "".join(f"- {hour:02}:15+00:00 [note] {_SENTENCE}\n" for hour in range(8, 18))
    for back in range(1, days + 1):
        replace(root / f"memory/{today - timedelta(days=back)}.md", lines.encode())
    with Pen.open(open_workspace(root), SystemClock()) as pen:
        while True:
            try:
                pen.commit(Change(None, "past days sealed", "user:bench", seal=True))
            except NothingToChange:
                return


def begun(root: Path, env: Mapping[str, str]) -> Run:
    """A cold start of the orchestrator, to the end of its first request."""
    program = shlex.quote(onepen()[0])
    ran = run(("sh", "-c", f"{program} up && {program} log 'the first'"), cwd=root, env=env)
    run(onepen("down", "--now"), cwd=root, env=env)
    return ran


def measure(cards: int, rounds: int) -> dict[str, object]:
    """All figures of one run, as the JSON document that `--json` prints."""
    figures: dict[int, tuple[Figure, ...]] = {}
    with tempfile.TemporaryDirectory(prefix="onepen-doctor-") as scratch:
        env = surroundings(Path(scratch, "home"))
        make_folder(Path(scratch, "home"), within=None)
        for size in (cards, 2 * cards):
            root = make(Path(scratch, str(size)), size)
            programs = {
                "every file read": partial(run, interpreter("-I", "-S", "-c", _READ_ALL, "."), cwd=root, env=env),
                "onepen doctor": partial(run, onepen("doctor"), cwd=root, env=env),
                "onepen log": partial(run, onepen("log", "a line"), cwd=root, env=env),
                "onepen up, and a first log": partial(begun, root, env),
            }
            figures[size] = in_turns(programs, rounds=rounds)
    twice = {
        one.name: round(other.cpu / one.cpu, 2) for one, other in zip(figures[cards], figures[2 * cards], strict=True)
    }
    rows = [{"cards": size, **one.as_json()} for size, found in figures.items() for one in found]
    return {"machine": machine(), "figures": rows, "twice_the_cards": twice}


def table(result: Mapping[str, object]) -> str:
    """The same for people."""
    where, rows, twice = result["machine"], result["figures"], result["twice_the_cards"]
    assert isinstance(where, dict) and isinstance(rows, list) and isinstance(twice, dict)
    lines = ["onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**where), ""]
    lines.append(f"{'':30}{'cards':>8}{'median':>12}{'least':>12}{'most':>12}{'processor':>12}{'peak':>10}")
    lines += [
        "{name:30}{cards:>8}{ms:>9} ms{ms_least:>9} ms{ms_most:>9} ms{cpu_ms:>9} ms{peak_mb:>7} MB".format(**row)
        for row in rows
    ]
    lines += [
        "",
        *(f"{name}: twice the cards take {factor} times the processor's time" for name, factor in twice.items()),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doctor", description="A large workspace.")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--cards", type=int, default=CARDS, help=f"cards of the smaller one (default: {CARDS:,})")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (default: 3)")
    arguments = parser.parse_args()
    result = measure(max(1, arguments.cards), max(1, arguments.rounds))
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
