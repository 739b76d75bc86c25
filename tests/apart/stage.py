"""Two clients with equal names in one workspace, and a day in which each of them does everything there is to do.

The agents behind the double ask for what is not theirs in every way that their tools leave them, and put whatever they
are told into drafts and answers: what leaks once is found everywhere.
"""

import hashlib
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.program import Ran
from onepen.testing.warm import Warm
from tests.apart.paths import ASKED, COMMANDS, MAKES, TRICKS, main_agent, sub_agent

CLIENTS = ("bolt", "acme")
"""The other first, so that everything of it is there when the one we look at begins."""
NOTES = ("SOUL.md", "USER.md", "PERSONA.md", "OPS.md", "BRIEF.md", "MEMORY.md")
HOUSE_NOTES = ("SOUL.md", "USER.md", "RULES.md", "OPS.md", "BRIEF.md", "MEMORY.md")


OUTSIDE = "says the OUTSIDE"
"""Words that stand in a document from elsewhere."""


def mark(who: str) -> str:
    return f"{who.upper()}-77"


@dataclass(frozen=True)
class Line:
    """A line that was told for `client`, with what came of it; `reaches` for what is the other's."""

    client: str
    command: str
    text: str
    ran: Ran
    reaches: bool = False

    @property
    def told(self) -> str:
        return self.ran.out + self.ran.err


@dataclass
class Day:
    """What was told, what was asked of the model, and the workspace afterwards."""

    workspace: Path
    lines: list[Line] = field(default_factory=list)
    requests: dict[str, list[str]] = field(default_factory=dict)

    def of(self, client: str) -> list[Line]:
        return [line for line in self.lines if line.client == client]


def begin(onepen: Warm, workspace: Path) -> None:
    """A workspace under git with the house's files and both clients', a mark in each."""
    (onepen.home / ".config/onepen").mkdir(parents=True)
    (onepen.home / ".config/onepen/config.toml").write_text("[git]\nmirror = true\n")
    (onepen.home / "text.md").write_text("## Body\n\nIt is clay.\n")
    onepen.ok("init", str(workspace))
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "add", "-A")
    git(workspace, "commit", "-qm", "begin")
    onepen.ok("-C", str(workspace), "up")
    _fill(onepen, workspace, workspace, "house")
    for client in CLIENTS:
        (onepen.home / client).mkdir()
        (onepen.home / client / "doc.md").write_text(f"The kiln of {mark(client)} fires at 1220 degrees, {OUTSIDE}.\n")
        (onepen.home / client / "rows.csv").write_text(
            f"name\nthe kiln of {mark(client)}\nthe clay of {mark(client)}\n"
        )
        onepen.ok("-C", str(workspace), "add", "client", client.title(), "--id", client)
        _fill(onepen, workspace, workspace / "clients" / client, client, "--client", client)


def _fill(onepen: Warm, workspace: Path, folder: Path, who: str, *option: str) -> None:
    common = ("-C", str(workspace), *option)
    card = f"## Firing\n\nFired at {mark(who)} degrees.\n"
    onepen.ok("add", "project", "Kiln", "--id", "kiln", "--from", "-", *common, stdin=card)
    onepen.ok("add", "research", "Cones", "--id", "cones", "--from", "-", *common, stdin=card)
    onepen.ok("log", f"called {mark(who)} early", *common)
    for note in NOTES if option else HOUSE_NOTES:
        with (folder / note).open("a") as f:
            f.write(f"\n{mark(who)} in {note}\n")
    (folder / "memory/synthesis.md").write_text(f"{mark(who)} in synthesis.md\n")
    (folder / "projects/kiln").mkdir()
    (folder / "projects/kiln/notes.txt").write_text(f"{mark(who)} in notes.txt\n")
    (folder / "stray.md").write_text(f"{mark(who)} in stray.md\n")


def git(workspace: Path, *args: str) -> str:
    """What git says, by a person without a config."""
    ana = {
        "GIT_AUTHOR_NAME": "Ana", "GIT_AUTHOR_EMAIL": "ana@example.org", "GIT_COMMITTER_NAME": "Ana",
        "GIT_COMMITTER_EMAIL": "ana@example.org", "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(workspace.parent),
    }  # fmt: skip
    command = ["git", "-C", str(workspace), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **ana}).stdout


def tell(onepen: Warm, api: MessagesApi, workspace: Path) -> Day:
    """Every path for one client after the other."""
    day = Day(workspace)
    for client, other in (CLIENTS, CLIENTS[::-1]):
        before, ours = len(api.requests), client == CLIENTS[-1]
        for command, path in COMMANDS.items():
            for text in path.lines if ours or command in MAKES else ():
                day.lines.append(Line(client, command, text, _run(onepen, day, client, other, text)))
            for text in path.reaches if ours else ():
                day.lines.append(Line(client, command, text, _run(onepen, day, client, other, text), reaches=True))
        day.requests[client] = [seen.raw.decode() for seen in api.requests[before:] if seen.raw]
    onepen.ok("-C", str(workspace), "down", "--now")
    return day


def _run(onepen: Warm, day: Day, client: str, other: str, text: str) -> Ran:
    """A line: `WORDS |` is its input, `NAME=VALUE` its environment."""
    own = [task for line in day.of(client) for task in re.findall(r'"task": "([a-z0-9]+)"', line.ran.out)]
    known = {"ME": client, "X": other, "MARK": mark(client), **_others(day.workspace / "clients" / other)}
    known |= {"T": own[0], "LAST": own[-1]} if own else {}
    if own and (draft := day.workspace / f"clients/{client}/staging/{own[0]}/1/drafts/two.md").exists():
        known["SHA"] = hashlib.sha256(draft.read_bytes()).hexdigest()
    known |= {"B": _batch(day.workspace, client), "XB": _batch(day.workspace, other)}
    known["C"] = _commits(day.workspace / "clients" / client)[0]
    words = shlex.split(Template(text).substitute(known))
    stdin = words.pop(0) if "|" in words else ""
    env = dict(word.split("=", 1) for word in words[: words.index("onepen")] if "=" in word)
    return onepen(*words[words.index("onepen") + 1 :], "-C", str(day.workspace), env=env, stdin=stdin)


def _others(folder: Path) -> Mapping[str, str]:
    """What there is of the other: a task that has a draft, that draft, its latest commit, a chat."""
    drafted = sorted(folder.glob("staging/*/*/drafts/*.md"))
    task = drafted[0].relative_to(folder / "staging").parts[0] if drafted else "none"
    chat = next((path.stem for path in folder.glob("chats/*.jsonl")), "none")
    return {"XT": task, "XD": f"{task}-1", "XC": _commits(folder)[-1], "XS": chat}


def _batch(workspace: Path, client: str) -> str:
    """A batch that works for a client alone."""
    said = f'client = "{client}"'
    return next(
        (path.parent.name for path in workspace.glob("batches/*/batch.toml") if said in path.read_text()), "none"
    )


def _commits(folder: Path) -> list[str]:
    """The ids of a space's commits, in the order in which they were written."""
    logs = sorted(folder.glob("logs/commits-*.jsonl"))
    return [json.loads(row)["id"] for path in logs for row in path.read_text().splitlines()]


class Curious:
    """A model that tries all its tools on what is not its own, and hands on all that it was told."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace

    def __call__(self, asked: Asked) -> Mapping[str, object] | None:
        x = CLIENTS[0] if mark(CLIENTS[1]) in asked.words else CLIENTS[1]
        if asked.forced == "verdict":
            return {"reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "It is so."}}]}
        if "<agent id=" not in asked.system:
            return self._main(x, asked)
        return {"reply": self._sub(x, asked), "delay": 30 if "Slowly" in asked.words else 0}

    def _main(self, x: str, asked: Asked) -> Mapping[str, object]:
        if asked.last and "tool_result" in json.dumps(asked.body["messages"][-1]):
            return {"reply": f"I was told: {_results(asked)}"}
        draft = _others(self._workspace / "clients" / x)["XD"]
        return {"reply": [{"tool": tool, "input": given} for tool, given in main_agent(x, draft)]}

    def _sub(self, x: str, asked: Asked) -> list[Mapping[str, object]]:
        told = _results(asked)
        entry = {"section_id": "body", "summary": f"It was so, {OUTSIDE}.", "keywords": ["clay"]}
        clay = {"name": "two.md", "title": "Clay", "text": f"## Body\n\nIt is so, {OUTSIDE}.\n", "index": [entry]}
        match asked.turn:
            case 1:
                return [{"tool": tool, "input": given} for tool, given in sub_agent(x)]
            case 2:
                text = f"# All\n\n## Told\n\n{told}\n"
                return [
                    {"tool": "write_draft", "input": {"name": "one.md", "title": "All there is", "text": text}},
                    {"tool": "write_draft", "input": clay},
                    {"tool": "edit_draft", "input": {"name": "two.md", "old_text": "It is", "new_text": "It was"}},
                ]
            case _:
                return [{"tool": "report", "input": {"summary": "All of it.", "answer": told}}]


def _results(asked: Asked) -> str:
    """What the tools have told, as words that no Markdown is read from."""
    blocks = [b for m in asked.body["messages"] if not isinstance(m["content"], str) for b in m["content"]]
    told = " ".join(str(b.get("content")) for b in blocks if b["type"] == "tool_result")
    return re.sub(r"[^\w ./:-]", " ", told)[:6_000]


def without_tricks(text: str) -> str:
    """A text without the names under which the agents ask, and the lines reach, for what is the other's."""
    for x in CLIENTS:
        names = [trick.format(x=x) for trick in (*TRICKS, *ASKED)]
        for name in sorted(names, key=len, reverse=True):
            text = text.replace(name, "…")
    return text
