"""What a conversation begins with, and how long that takes: `python -m benchmarks.context [--json] [--rounds N]`.

For workspaces of 50, 1,000 and 10,000 cards, and for the last of them after a night in which sub-agents wrote a
thousand findings through the pen: estimated tokens of all that stands before a chat's first words and before a
sub-agent's task, tools included, and the milliseconds in which they are put together: from nothing, by an orchestrator
that did it before (warm), and by one whose index has just got another card (after a commit). Beside it two references:
the tokens of the same files whole, and the time in which they are only read and decoded. It asserts nothing. On a
machine that has other work to do, the processor's time tells more than the clock.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from onepen.memory import snapshot
from onepen.memory.change import Change
from onepen.memory.clock import SystemClock
from onepen.memory.commit.pen import Durability, Pen
from onepen.memory.history import Commit
from onepen.memory.ids import AgentId, CardId
from onepen.memory.index.index import IndexEntry
from onepen.memory.overview import overview_of
from onepen.memory.scaffold import init, shipped
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.tokens import estimate
from onepen.memory.view import View
from onepen.memory.workspace import SHELVES, Space, open_workspace
from onepen.orchestrator.chat.toolset import tools as chat_tools
from onepen.orchestrator.sent import begins
from onepen.subagents.definition import parse_definition
from onepen.subagents.prompt import system_blocks
from onepen.subagents.toolbox.toolset import tool_tokens
from onepen.subagents.toolbox.toolset import tools as worker_tools

from .startup import machine

CARDS = (50, 1_000, 10_000)
NIGHT = 1_000
TARGET_TOKENS, TARGET_OWN, TARGET_MS = 5_000, 2_500, 20.0
_WORDS = ("kiln", "glaze", "cups", "market", "open-studio", "cones", "plates", "newsletter", "bisque", "roof", "wheel")
_CARD = "---\ntitle: {title}\nstatus: {status}\nupdated: {day}\n---\n\n# {title}\n\n## Firing\n\n- fire at 1200\n"
_BLOCK = (
    "## [{title}]({card}.md)\nstatus: {status} · updated: {day}\n\n"
    "- [firing]({card}.md#firing) — Fire at 1200 since the third of May; soak for ten minutes. `cone 6, kiln`\n"
    "- [hosting]({card}.md#hosting) — DNS stays at Gandi. `dns`\n\n"
)
_TEXT = "## What I found\n\nNine of forty cups came out with pinholes.\n"
Timed = Callable[[], object]


def workspace(root: Path, cards: int) -> Path:
    """A workspace with so many cards of two years, half of them findings; one in ten is done, one in fifty archived."""
    clock = SystemClock("UTC")
    init(root, id="abcdefgh1234", name="", today=clock.now().date())
    for shelf in SHELVES:
        index = [f"# {shelf.capitalize()}\n\n"]
        for k in range(cards // len(SHELVES)):
            day = clock.now().date() - timedelta(days=(k * 37) % 730)
            status = "archived" if k % 50 == 49 else "done" if k % 10 == 9 else "active"
            card = f"{_WORDS[k % len(_WORDS)]}-{shelf[:1]}{k}"
            said = {"title": card.replace("-", " ").capitalize(), "status": status, "day": day, "card": card}
            (root / shelf / f"{card}.md").write_text(_CARD.format(**said))
            index.append(_BLOCK.format(**said))
        (root / shelf / "_index.md").write_text("".join(index))
    return root


def night(root: Path, tasks: int) -> None:
    """So many findings of one night, written as drafts are: card, index, log and history in one commit each."""
    pen = Pen.open(open_workspace(root), SystemClock("UTC"), durability=Durability.LAZY)
    try:
        for first in range(0, tasks, 50):
            outcomes = pen.commit_group([_found(k) for k in range(first, min(first + 50, tasks))])
            assert all(isinstance(outcome, Commit) for outcome in outcomes), outcomes
            pen.flush()
            pen.tidy()
    finally:
        pen.close()


def _found(number: int) -> Change:
    card = CardId(f"why-did-cups-of-kiln-{number}-come-out-with-pinholes")
    return Change(
        client=None,
        what=f"research/{card}.md: created",
        who="agent:researcher",
        edit=CardEdit(CardTarget("research", card), "create", text=_TEXT, title=f"Why did cups of kiln {number} …?"),
        index=(IndexEntry("what-i-found", "Nine of forty cups came out with pinholes.", ("pinholes", "cups")),),
        log=(("draft", f"research/{card}.md: created (draft t{number}-1 by researcher, accepted by checks)"),),
        key=f"t{number} research/{card}.md",
        draft=f"t{number}-1",
        agent="researcher",
        task=f"t{number}",
        reviewer="checks",
    )


class Place:
    """A workspace as an orchestrator sees it that has just come up."""

    def __init__(self, root: Path) -> None:
        self.view = View(open_workspace(root))
        self.space: Space = self.view.workspace.house
        self._today = SystemClock("UTC").now().date()
        text = shipped("agents/researcher.md")
        self._agent = parse_definition(AgentId("researcher"), text)
        self._added = 0

    def chat(self) -> int:
        """Puts together what a chat sends before its first words; its tokens."""
        found = begins(self.view, self.space, self._today)
        return tool_tokens(chat_tools()) + sum(estimate(layer.text) for layer in found.layers)

    def worker(self) -> int:
        """The same of a researcher that begins."""
        taken = snapshot.take(self.view, self.space, tools=tool_tokens(worker_tools()))
        return tool_tokens(worker_tools()) + sum(map(estimate, system_blocks(taken.files, self._agent)))

    def layers(self) -> Mapping[str, int]:
        return {layer.name: layer.tokens for layer in begins(self.view, self.space, self._today).layers}

    def forget(self) -> None:
        """As if the process had just come up."""
        overview_of.cache_clear()
        snapshot.forget()

    def changed(self) -> None:
        """As after a commit: an index has another card."""
        self._added += 1
        path = self.space.root / "projects" / "_index.md"
        said = {"title": "New", "status": "active", "day": self._today, "card": f"new-{self._added}"}
        path.write_text(path.read_text() + _BLOCK.format(**said))

    def read(self) -> int:
        """The floor: the files that the layers come from, read and decoded."""
        return sum(len(self.view.text(path) or "") for path in self._paths())

    def whole(self) -> int:
        """The tokens of those files whole, and of the tools: what a chat would begin with that has no budgets."""
        texts = (self.view.text(path) or "" for path in self._paths())
        return tool_tokens(chat_tools()) + sum(map(estimate, texts))

    def _paths(self) -> Sequence[str]:
        return [file.path for layer in begins(self.view, self.space, self._today).layers for file in layer.files]


def timed(call: Timed, before: Timed, rounds: int) -> tuple[float, float]:
    """Median milliseconds of a call, by the clock and of the processor; `before` each, something is done untimed."""
    clock, processor = [], []
    for _ in range(rounds):
        before()
        start, busy = time.perf_counter(), time.process_time()
        call()
        processor.append(time.process_time() - busy)
        clock.append(time.perf_counter() - start)
    return round(statistics.median(clock) * 1000, 2), round(statistics.median(processor) * 1000, 2)


def row(name: str, root: Path, rounds: int) -> Mapping[str, object]:
    """All figures of one workspace."""
    place = Place(root)
    states: Mapping[str, Timed] = {"cold": place.forget, "warm": lambda: None, "changed": place.changed}
    found: dict[str, object] = {"workspace": name, "whole_tokens": place.whole(), "layers": place.layers()}
    for who, call in (("chat", place.chat), ("worker", place.worker)):
        found[f"{who}_tokens"] = call()
        for state, before in states.items():
            clock, busy = timed(call, before, rounds)
            found[f"{who}_{state}_ms"], found[f"{who}_{state}_processor_ms"] = clock, busy
    found["read_ms"], found["read_processor_ms"] = timed(place.read, lambda: None, rounds)
    return found


def own() -> Mapping[str, int]:
    """The tokens of onepen's own rules and tools, which stand in every prompt."""
    return {
        "chat": tool_tokens(chat_tools()) + estimate(shipped("RULES.md")),
        "worker": tool_tokens(worker_tools()) + estimate(shipped("agents/RULES.md")),
    }


def measure(cards: Sequence[int], tasks: int, rounds: int) -> Mapping[str, object]:
    """The figures of each workspace, and of the last one after a night of so many tasks."""
    with tempfile.TemporaryDirectory(prefix="onepen-context-") as scratch:
        roots = [workspace(Path(scratch, str(count)), count) for count in cards]
        rows = [row(f"{count:,} cards", root, rounds) for count, root in zip(cards, roots, strict=True)]
        night(roots[-1], tasks)
        rows.append(row(f"{cards[-1]:,} cards, after {tasks:,} tasks", roots[-1], rounds))
    targets = {"tokens": TARGET_TOKENS, "own_tokens": TARGET_OWN, "ms": TARGET_MS}
    return {"machine": machine(), "own_tokens": own(), "targets": targets, "rows": rows}


def table(result: Mapping[str, object]) -> str:
    """The same for people."""
    where, rows, mine = result["machine"], result["rows"], result["own_tokens"]
    assert isinstance(where, dict) and isinstance(rows, list) and isinstance(mine, dict)
    lines = [
        "onepen {onepen} on Python {python}, {system}, {cores} cores, load {load}".format(**where),
        f"own rules and tools: chat ≈{mine['chat']:,}, sub-agent ≈{mine['worker']:,} tokens (at most {TARGET_OWN:,})",
        f"tokens are estimates, at most {TARGET_TOKENS:,}; ms are medians by the clock, then of the processor alone, "
        f"at most {TARGET_MS:.0f} once warm",
        "",
        f"{'':32}{'tokens':>8}{'cold':>16}{'warm':>16}{'after a commit':>18}{'only read':>16}{'whole':>12}",
    ]
    for one in rows:
        for who, label in (("chat", "chat"), ("worker", "sub-agent")):
            times = [
                f"{one[f'{who}_{state}_ms']:.1f} / {one[f'{who}_{state}_processor_ms']:.1f}"
                for state in ("cold", "warm", "changed")
            ]
            read = f"{one['read_ms']:.1f} / {one['read_processor_ms']:.1f}" if who == "chat" else ""
            whole = f"{one['whole_tokens']:,}" if who == "chat" else ""
            name = one["workspace"] if who == "chat" else ""
            lines.append(
                f"{f'{name}  {label}' if name else label:>32}{one[f'{who}_tokens']:>8,}{times[0]:>16}{times[1]:>16}"
                f"{times[2]:>18}{read:>16}{whole:>12}"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.context", description="What a conversation begins with."
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--rounds", type=int, default=21, help="measurements of each (default: 21)")
    parser.add_argument("--cards", default=",".join(map(str, CARDS)), help="sizes of workspaces, with commas between")
    parser.add_argument("--tasks", type=int, default=NIGHT, help=f"tasks of the night (default: {NIGHT})")
    arguments = parser.parse_args()
    cards = [max(2, int(count)) for count in arguments.cards.split(",")]
    result = measure(cards, max(1, arguments.tasks), max(1, arguments.rounds))
    print(json.dumps(result, indent=2) if arguments.json else table(result))


if __name__ == "__main__":
    main()
