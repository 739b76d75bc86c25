"""Other libraries at the same three turns, each in an environment of its own from PyPI; what can't be had is told.

- deepagents runs a sub-agent in the calling process: its own tools, a model of ours that plays
- claude-agent-sdk starts the `claude` program that comes with it, once for each task; it asks the Messages API double

Neither is closed in, stores a reply before it acts upon it, or has a draft checked: only their time is compared.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PACKAGES = {"deepagents": "deepagents", "claude-agent-sdk": "claude-agent-sdk"}
_INSTALL_SECONDS, _RUN_SECONDS = 600.0, 600.0

_DEEPAGENTS = """
import asyncio, json, sys, time
from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

asked = json.loads(sys.argv[1])
TURNS = (
    [{"name": "ls", "args": {"path": "/"}, "id": "a"}],
    [{"name": "write_file", "args": {"file_path": "/found.md", "content": "# Found"}, "id": "b"}],
    [],
)

class Player(BaseChatModel):
    seconds: float = 0.0
    first: dict = {}
    @property
    def _llm_type(self):
        return "played"
    def bind_tools(self, tools, **more):
        return self
    def _generate(self, *given, **more):
        raise NotImplementedError
    async def _agenerate(self, messages, stop=None, run_manager=None, **more):
        turn = sum(message.type == "ai" for message in messages)
        text = str(next(message for message in messages if message.type == "human").content)
        self.first.setdefault(text, time.monotonic())
        if self.seconds:
            await asyncio.sleep(self.seconds)
        said = AIMessage(content="Next.", tool_calls=TURNS[turn])
        return ChatResult(generations=[ChatGeneration(message=said)])

player = Player()
agent = create_deep_agent(model=player, tools=[], system_prompt="You write what its readers will enjoy.")

async def one(text):
    began = time.monotonic()
    await agent.ainvoke({"messages": [{"role": "user", "content": text}]})
    return player.first[text] - began, time.monotonic() - began

async def tasks():
    found = {}
    for turn in range(asked["rounds"] + 1):
        for latency in asked["latencies"]:
            player.seconds = latency
            came = await one(f"round {turn} at {latency}")
            if turn:
                found.setdefault(str(latency), []).append(came)
    return found

async def load():
    player.seconds = asked["seconds"]
    places = asyncio.Semaphore(asked["at_once"])
    async def in_place(number):
        async with places:
            await one(f"task {number}")
    await one("warm up")
    cpu, began = time.process_time(), time.monotonic()
    await asyncio.gather(*map(in_place, range(asked["tasks"])))
    return {"seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}

print(json.dumps(asyncio.run(tasks() if "rounds" in asked else load())))
"""

_CLAUDE = """
import asyncio, json, sys, time
from claude_agent_sdk import ClaudeAgentOptions, query

asked = json.loads(sys.argv[1])

async def one(text):
    options = ClaudeAgentOptions(allowed_tools=["Read"], cwd=asked["folder"], max_turns=5, model=asked["model"])
    began = time.monotonic()
    async for _ in query(prompt=text, options=options):
        pass
    return began, time.monotonic() - began

async def tasks():
    return [await one(f"Question {turn}") for turn in range(asked["rounds"] + 1)][1:]

print(json.dumps(asyncio.run(tasks())))
"""


class PeerMissing(Exception):
    """Raised when a library can't be had or doesn't run here; the message says why."""


def python_of(package: str, folder: Path) -> Path:
    """The interpreter of a new environment with this package; raises PeerMissing."""
    place = folder / f"env-{package}"
    python = place / "bin" / "python"
    steps = ((sys.executable, "-m", "venv", str(place)), (str(python), "-m", "pip", "install", "--quiet", package))
    for step in steps:
        _run(package, step, _INSTALL_SECONDS, {})
    return python


def deepagents(python: Path, asked: Mapping[str, object]) -> object:
    """What the script comes to; raises PeerMissing."""
    command = (str(python), "-c", _DEEPAGENTS, json.dumps(asked))
    return json.loads(_run("deepagents", command, _RUN_SECONDS, {}).splitlines()[-1])


def claude(python: Path, folder: Path, rounds: int, model: str, seconds: float) -> tuple[list[float], list[float]]:
    """Seconds of each task to its first model call, and in all; raises PeerMissing."""
    home = folder / "claude-home"
    home.mkdir(exist_ok=True)
    (home / "note.md").write_text("Cone 6 only at four o'clock.\n")
    with _asked(folder, home / "note.md", seconds) as (url, record):
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "HOME": str(home)}
        asked = {"folder": str(home), "model": model, "rounds": rounds}
        command = (str(python), "-c", _CLAUDE, json.dumps(asked))
        came = json.loads(_run("claude-agent-sdk", command, _RUN_SECONDS, env).splitlines()[-1])
        lines = [json.loads(line) for line in record.read_text().splitlines()]
    at = [line["at"] for line in lines if line["path"].startswith("/v1/messages") and len(_tools(line))]
    first = [min(moment for moment in at if moment > began) - began for began, _ in came]
    return first, [whole for _, whole in came]


def _tools(line: Mapping[str, str]) -> Sequence[object]:
    """The tools of a request: one that asks for a title has none."""
    body = json.loads(line["body"])
    return body.get("tools") or ()


@contextmanager
def _asked(folder: Path, note: Path, seconds: float) -> Iterator[tuple[str, Path]]:
    """The double for it: two files read, then a last word. Gives its address and its record."""
    rules, record = folder / f"claude-{seconds}.json", folder / f"claude-{seconds}.jsonl"
    reads = [{"text": "Next."}, {"tool": "Read", "input": {"file_path": str(note)}}]
    turns = [{"turn": turn, "contains": "Question", "reply": reads, "delay": seconds} for turn in (1, 2)]
    rules.write_text(json.dumps({"strict": False, "rules": [*turns, {"reply": "Done.", "delay": seconds}]}))
    command = [sys.executable, "-m", "onepen.testing.messages_api", "--rules", str(rules), "--record", str(record)]
    with subprocess.Popen([*command, "--until-eof"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["url"], record
        finally:
            process.stdin.close()
            process.wait(10)


def _run(package: str, command: Sequence[str], seconds: float, more: Mapping[str, str]) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC_")}
    try:
        done = subprocess.run(
            command, env={**kept, **more}, capture_output=True, text=True, timeout=seconds, check=True
        )
    except subprocess.TimeoutExpired as e:
        raise PeerMissing(f"{package}: nothing came within {seconds:.0f} s") from e
    except (subprocess.CalledProcessError, OSError) as e:
        last = (getattr(e, "stderr", "") or str(e)).strip().splitlines()[-1:]
        raise PeerMissing(f"{package}: {''.join(last)}") from e
    return done.stdout
