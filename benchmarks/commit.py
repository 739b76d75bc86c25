"""How fast commits are durable: `python -m benchmarks.commit [--json] [--rounds N] [--folder DIR]`.

A commit is a card's new line, its index entry, a line in the day log and one in the history, as a draft makes it. It is
measured alone and in groups, lazily, and with an index of 50 and of 10,000 cards; turn by turn with two references: one
log that each commit is appended to and synced, and the usual way to write files safely (for each file a temporary one,
synced, renamed, and its folder synced), which is not all or nothing. It asserts nothing; run it on a quiet disk. On a
machine that has other work to do, compare what a call kept the processor busy: that hardly depends on the others.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from onepen.memory.change import Change
from onepen.memory.clock import SystemClock
from onepen.memory.commit.pen import Durability, Pen
from onepen.memory.history import Commit
from onepen.memory.ids import CardId
from onepen.memory.index.index import IndexEntry
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.workspace import open_workspace

from .startup import machine

INDEXES = (50, 10_000)
GROUPS = (1, 4, 16, 64)
_CARDS = 50  # that are changed in turn; the others stand in the index alone
_CARD = "---\ntitle: Card {k}\nstatus: active\nupdated: 2026-11-01\n---\n\n# Card {k}\n\n## Firing\n\n- fire at 1200\n"
_BLOCK = (
    "## [Card {k}](card-{k}.md)\nstatus: active · updated: 2026-11-01\n\n"
    "- [firing](card-{k}.md#firing) — Fire at 1200 since the third of May. `cone 6, kiln`\n"
    "- [hosting](card-{k}.md#hosting) — DNS stays at Gandi. `dns`\n\n"
)


@dataclass
class Series:
    """What one way of committing took: seconds for each call, those of the processor, and how many commits it makes."""

    name: str
    commits: int
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def as_json(self) -> Mapping[str, object]:
        median = statistics.median(self.seconds)
        return {
            "name": self.name,
            "calls": len(self.seconds),
            "median_ms": round(median * 1000, 3),
            "least_ms": round(min(self.seconds) * 1000, 3),
            "processor_ms": round(statistics.median(self.processor) * 1000, 3),
            "commits_per_second": round(self.commits / median),
        }


def workspace(root: Path, cards: int) -> Path:
    """A workspace whose index has so many cards."""
    (root / "projects").mkdir(parents=True)
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    for k in range(_CARDS):
        (root / "projects" / f"card-{k}.md").write_text(_CARD.format(k=k))
    index = "# Projects\n\n" + "".join(_BLOCK.format(k=k) for k in range(cards))
    (root / "projects" / "_index.md").write_text(index)
    return root


def change(number: int) -> Change:
    """What a draft of a sub-agent comes to."""
    card = CardId(f"card-{number % _CARDS}")
    return Change(
        client=None,
        what=f"projects/{card}.md: appended in firing",
        who="agent:researcher",
        edit=CardEdit(CardTarget("projects", card), "append", section="firing", text=f"- line {number}\n"),
        index=(IndexEntry("firing", f"Fire as line {number} says.", ("cone 6", "kiln")),),
        log=(("draft", f"projects/{card}.md: appended in firing (draft t{number}-1, accepted by checks)"),),
        key=f"t{number} projects/{card}.md",
        draft=f"t{number}-1",
        agent="researcher",
        task=f"t{number}",
        reviewer="checks",
        sources=("inputs/cones.md:14",),
    )


class Committing:
    """Commits to one workspace in groups of one size."""

    def __init__(self, root: Path, group: int, durability: Durability) -> None:
        self.pen = Pen.open(open_workspace(root), SystemClock("UTC"), durability=durability)
        self._group = group
        self._made = 0
        self._lazy = durability is Durability.LAZY

    def __call__(self) -> None:
        changes = [change(self._made + k) for k in range(self._group)]
        self._made += self._group
        outcomes = self.pen.commit_group(changes)
        assert all(isinstance(outcome, Commit) for outcome in outcomes), outcomes

    def second(self) -> None:
        """What a lazy pen does each second, and what keeps any redo log short."""
        self.pen.flush()
        self.pen.tidy()


def appending(folder: Path) -> Callable[[], None]:
    """The record of a commit, appended to one log and synced: what no durable commit can be faster than."""
    fd = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    record = b"x" * 1999 + b"\n"

    def commit() -> None:
        os.write(fd, record)
        os.fdatasync(fd)

    return commit


def replacing(folder: Path) -> Callable[[], None]:
    """Card, index, day log and history, each by a temporary file, its sync, a rename and the sync of its folder."""
    sizes = {"card.md": 400, "_index.md": 12_000, "day.md": 8_000, "commits.jsonl": 40_000}

    def commit() -> None:
        for name, size in sizes.items():
            tmp = folder / f".{name}.tmp"
            fd = os.open(tmp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.write(fd, b"x" * size)
            os.fsync(fd)
            os.close(fd)
            tmp.replace(folder / name)
            fd = os.open(folder, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)

    return commit


def measure(place: Path, rounds: int) -> dict[str, object]:
    """All figures of one run, turn by turn, so that a busy moment of the disk hits all alike."""
    (place / "reference").mkdir()
    ways: list[tuple[Series, Callable[[], None], Callable[[], None]]] = [
        (Series("one log, append + fdatasync", 1), appending(place / "reference"), _nothing),
        (Series("four files, tmp + fsync + replace + folder", 1), replacing(place / "reference"), _nothing),
    ]
    pens: list[Committing] = []
    for cards in INDEXES:
        for durability in Durability:
            for group in GROUPS if durability is Durability.FULL else (1, 16):
                root = workspace(place / f"{durability}-{cards}-{group}", cards)
                pens.append(Committing(root, group, durability))
                size = "alone" if group == 1 else f"groups of {group}"
                lazy = ", lazy" if durability is Durability.LAZY else ""
                ways.append((Series(f"index of {cards:,}: {size}{lazy}", group), pens[-1], pens[-1].second))
    for number in range(rounds + 1):
        for series, commit, second in ways:
            began, ran = time.perf_counter(), time.process_time()
            commit()
            took, busy = time.perf_counter() - began, time.process_time() - ran
            if number:  # the first call of each reads what the later ones know
                series.seconds.append(took)
                series.processor.append(busy)
            if number % 10 == 0:
                second()
    for pen in pens:
        pen.pen.close()
    return {"machine": machine(), "figures": [series.as_json() for series, _, _ in ways]}


def _nothing() -> None:
    """A reference has nothing to tidy."""


def table(found: Mapping[str, object]) -> str:
    """The figures as a person reads them."""
    rows = found["figures"]
    assert isinstance(rows, list)
    lines = [f"{'':44} {'median ms':>10} {'least ms':>10} {'busy ms':>10} {'commits/s':>10}"]
    for row in rows:
        times = " ".join(f"{row[key]:>10.2f}" for key in ("median_ms", "least_ms", "processor_ms"))
        lines.append(f"{row['name']:44} {times} {row['commits_per_second']:>10,}")
    return "\n".join([*lines, "", ", ".join(f"{key} {value}" for key, value in _items(found["machine"]))]) + "\n"


def _items(found: object) -> Sequence[tuple[str, object]]:
    assert isinstance(found, dict)
    return list(found.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=40, help="calls of each way [40]")
    parser.add_argument("--folder", type=Path, default=None, help="the disk to measure [the temporary folder]")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onepen-commit-", dir=given.folder) as scratch:
        found = measure(Path(scratch), given.rounds)
    sys.stdout.write(json.dumps(found, indent=2) + "\n" if given.json else table(found))


if __name__ == "__main__":
    main()
