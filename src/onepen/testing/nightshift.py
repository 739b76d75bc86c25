"""A batch for tests: rows about cups, a model that does each in two turns, and who was asked for what how often.

    with MessagesApi([NightShift.rule(delay=0.05)]) as api, Story(home, api.env) as story:
        shift = NightShift(story, api, cups=60)
        story.tell(*shift.begin(), shift.run("--detach"))

The first turn writes a draft that quotes its source, the second reports, and a review says yes: three calls a cup.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .messages_api import Asked, MessagesApi
from .story import Story

CLIENT = "acme"
CALLS = 3
"""How often a server is asked for a cup, its review included."""
USED = {"input": 1_000, "output": 80}
"""What the server says that a call has used."""
PRICE = {"input": 3.0, "output": 15.0}
EACH = (USED["input"] * PRICE["input"] + USED["output"] * PRICE["output"]) / 1e6
"""What a call costs in US dollars at the price in the person's own config."""
MOST = 0.2
"""More than a call may cost at the most: the whole prompt written to the cache, and the longest reply."""

_DAY = "day_usd = 10000\nclient_day_usd = 10000\n"
"""What the day may cost: not what ends a night."""
_CONFIG = f"""
[budget]
{_DAY}
[profiles.default.prices."claude-sonnet-5-5"]
input = {PRICE["input"]}
output = {PRICE["output"]}
"""
_CUP = re.compile(r"cup (\d{5})")
_SOURCE = "# Cones\n\nCone 6 was reached at 1222 degrees.\n"
_BODY = '# Cup {cup}\n\n## What became of it\n\n> "Cone 6 was reached at 1222 degrees." (inputs/cones.md:3)\n'

Call = tuple[str, str]
"""A cup, and what was asked for it: "1", "2" or "review"."""


@dataclass(frozen=True)
class NightShift:
    """A batch of so many cups in the workspace of a story, whose model is behind a server; a call costs `each`."""

    story: Story
    api: MessagesApi
    cups: int
    each: float = EACH

    @staticmethod
    def rule(delay: float = 0.0, used: Mapping[str, int] | None = None) -> Callable[[Asked], Mapping[str, Any] | None]:
        """The model, as a rule of the double."""

        def plays(asked: Asked) -> Mapping[str, Any] | None:
            called = call_of(asked.words, asked.turn, forced=asked.forced is not None)
            if called is None:
                return None
            return {"reply": [reply(*called)], "usage": dict(used or USED), "delay": delay}

        return plays

    def begin(self) -> Sequence[str]:
        """Lines that make the workspace; the rows lie beside it."""
        home = self.story.home
        (home / "cones.md").write_text(_SOURCE)
        (home / "cups.csv").write_text("name,n\n" + "".join(f"Cup {n:05},{n:05}\n" for n in range(self.cups)))
        (home / "p.txt").write_text("What became of cup {n}?\n")
        config = home / ".config/onepen/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(_CONFIG)
        (home / "day.toml").write_text(f"\n[limits]\n{_DAY}")
        return ("onepen init ws", "cat day.toml >>ws/onepen.toml", f"onepen -C ws add client Acme --id {CLIENT}")

    def run(self, *more: str) -> str:
        """The line that begins the batch; a budget has to be among `more`."""
        line = (
            f"onepen -C ws batch run cups.csv --prompt-file p.txt --client {CLIENT} --target 'research/{{name}}.md' "
            "--agent writer --model sonnet --input cones.md --review auto --yes"
        )
        return " ".join((line, *more))

    # -- what came of it -----------------------------------------------------------------------------------------------

    @property
    def space(self) -> Path:
        return self.story.workspace / "clients" / CLIENT

    def calls(self) -> Counter[Call]:
        """How often the server was asked for what, call by call or in Message Batches."""
        bodies = [seen.body for seen in self.api.asked]
        bodies += [params for batch in self.api.batches for _, params in batch.requests]
        return Counter(filter(None, map(call_in, bodies)))

    def commits(self) -> Counter[str]:
        """How many commits each cup has, by the history's own files."""
        found: Counter[str] = Counter()
        for line in self._lines("logs/commits-*.jsonl"):
            found.update(f"{cup}" for path in line["paths"] for cup in re.findall(r"research/cup-(\d{5})\.md", path))
        return found

    def cards(self) -> Counter[str]:
        return Counter(path.stem.removeprefix("cup-") for path in (self.space / "research").glob("cup-*.md"))

    def entries(self) -> Counter[str]:
        """How often each cup stands in the index."""
        index = (self.space / "research/_index.md").read_text()
        return Counter(re.findall(r"^## \[Cup (\d{5})\]", index, re.MULTILINE))

    def day_lines(self) -> list[str]:
        """The lines of the day logs that tell of batches."""
        logs = sorted((self.space / "memory").glob("2*-*-*.md"))
        return [line for log in logs for line in log.read_text().splitlines() if "[batch]" in line]

    def booked(self) -> float:
        """US dollars in the books: what calls have cost, or may have cost that a kill cut."""
        return sum(float(line["cost_usd"] or 0.0) for line in self._lines("logs/usage-*.jsonl"))

    def billed(self) -> float:
        """US dollars that the server asks for; in Message Batches it is half the price."""
        return self.each * len(self.api.asked) + self.each / 2 * len(self.api.paid)

    def over(self) -> set[str]:
        """The cups whose tasks have come to their end, by the batch's own journal."""
        keys = {task["key"]: task["text"] for task in self._lines("../../batches/*/tasks.jsonl")}
        told = [line for line in self._lines("../../batches/*/run.jsonl") if line["event"] == "task_over"]
        ended = [line for line in told if line["status"] != "pending"]
        return {cup for line in ended for cup in _CUP.findall(keys[line["key"]])}

    def status(self) -> Mapping[str, Any]:
        told: Mapping[str, Any] = self.story.run("onepen -C ws batch status --json").json
        return told

    def _lines(self, pattern: str) -> Iterator[dict[str, Any]]:
        """The lines of files of JSON; half a last line is none yet, and an empty one says nothing.

        Who adds a line while another is half written begins a new one, so that an empty line stands between the two.
        """
        for path in sorted(self.space.glob(pattern)):
            yield from map(json.loads, filter(None, path.read_bytes().split(b"\n")[:-1]))


def call_of(words: str, turn: int, *, forced: bool) -> Call | None:
    """What is asked for; None where it isn't about a cup."""
    found = _CUP.search(words)
    return None if found is None else (found[1], "review" if forced else str(turn))


def call_in(body: Mapping[str, Any]) -> Call | None:
    """The same of the body of a request."""
    messages = body["messages"]
    turn = 1 + sum(message["role"] == "assistant" for message in messages)
    return call_of(json.dumps(messages, ensure_ascii=False), turn, forced="tool_choice" in body)


def reply(cup: str, what: str) -> dict[str, Any]:
    """The tool that the model calls."""
    if what == "review":
        return {"tool": "verdict", "input": {"verdict": "accept", "reason": "The quote stands where it says."}}
    if what != "1":
        return {"tool": "report", "input": {"summary": f"cup {cup} is done.", "complete": True}}
    entry = {"section_id": "what-became-of-it", "summary": f"cup {cup}: fired.", "keywords": ["cup"]}
    draft = {"title": f"Cup {cup}", "text": _BODY.format(cup=cup), "index": [entry], "sources": ["inputs/cones.md:3"]}
    return {"tool": "write_draft", "input": draft}
