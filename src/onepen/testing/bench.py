"""A bench for sub-agents: a small space with two cards, one task with an input, and a host that answers by rule."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio

from onepen.memory import files
from onepen.memory.fence import inside
from onepen.memory.ids import AgentId, TaskId
from onepen.memory.snapshot import SNAPSHOT_FILES
from onepen.subagents.definition import AgentDefinition, parse_definition
from onepen.subagents.host import Paused
from onepen.subagents.messages import Message, ToolResult, ToolUse
from onepen.subagents.model import ModelReply, Usage
from onepen.subagents.pool import Assignment, Ending, Host, Limits, ProcessPool
from onepen.subagents.process.forkserver import ForkServer
from onepen.subagents.sandbox.level import Level
from onepen.subagents.toolbox.drafting import Drafting
from onepen.subagents.toolbox.reading import Reading
from onepen.subagents.toolbox.running import Running
from onepen.subagents.toolbox.tools import Toolbox
from onepen.subagents.toolbox.workfolder import WorkFolder

TASK = TaskId("t1abc")
KILN = """\
    ---
    title: Kiln
    status: active
    updated: 2026-11-01
    ---

    # Kiln

    ## Firing
    - fire at 1200
    - soak for ten minutes

    ## Glaze
    - celadon
    - fire at 1200
    """
CONES = """\
    Cones
    cone 6 was reached at 1222 degrees
    the kiln was cold again at noon
    """


@dataclass(frozen=True)
class Bench:
    """A space on disk with one task that has one input; workers are forked by `server`, or plain children.

    With a `level` they are confined.
    """

    root: Path
    task: TaskId = TASK
    server: ForkServer | None = None
    level: Level | None = None

    @property
    def space(self) -> Path:
        return self.root / "clients" / "acme"

    @property
    def folder(self) -> Path:
        return self.space / "staging" / self.task

    @property
    def drafts(self) -> Path:
        return self.folder / "1" / "drafts"

    @property
    def log(self) -> str:
        return (self.folder / "1" / "worker.log").read_bytes().decode(errors="backslashreplace")

    @classmethod
    def make(cls, root: Path, server: ForkServer | None = None) -> "Bench":
        """A bench in an empty folder."""
        made = cls(root, server=server)
        made.write("clients/acme/projects/kiln.md", KILN)
        made.write("clients/acme/projects/kiln/sales/launch.md", "# Launch\n\nSoon.\n")
        made.write("clients/acme/research/cones.md", "---\ntitle: Cones\n---\n\n# Cones\n\n## Heat\nNot known.\n")
        made.write("clients/other/projects/secret.md", "# Secret\n\nOf another client.\n")
        made.write("clients/acme/MEMORY.md", "# Memory\n\n- Ana prefers mornings\n")
        made.write(f"clients/acme/staging/{made.task}/inputs/cones.md", CONES)
        for name in SNAPSHOT_FILES:
            made.write(f"snapshot/{name}", f"# {name}\n")
        return made

    def run(self, command: Sequence[str] | None, host: Host | None = None, **fields: Any) -> Ending:
        """One attempt to its end, by the worker that `command` starts (None: our own)."""

        async def whole() -> Ending:
            with anyio.fail_after(40):
                return await self.pool(command).run(self.assignment(**fields), host or ScriptedHost())

        return anyio.run(whole)

    def pool(self, command: Sequence[str] | None = None) -> ProcessPool:
        return ProcessPool(command, server=self.server, level=self.level)

    def write(self, name: str, text: str) -> Path:
        """Put a text, dedented, at a path below the root."""
        path = self.root / name
        files.make_folder(path.parent, within=None)
        files.replace(path, dedent(text).encode())
        return path

    def drafted(self) -> dict[str, str]:
        return {path.name: path.read_bytes().decode() for path in sorted(self.drafts.iterdir())}

    def assignment(self, **fields: Any) -> Assignment:
        given: dict[str, Any] = {
            "task": self.task,
            "attempt": 1,
            "agent": agent(),
            "text": "When does cone 6 mature?",
            "snapshot": self.root / "snapshot",
            "space": self.space,
            "folder": self.folder,
            "inputs": ("cones.md",),
            "limits": Limits(seconds=20.0, silence=20.0),
        }
        return Assignment(**{**given, **fields})

    @property
    def work(self) -> Path:
        return self.folder / "1" / "work"

    def toolbox(
        self,
        target: str | None = None,
        allowed: frozenset[str] | None = None,
        *,
        commands: bool = False,
        asks: frozenset[str] = frozenset(),
    ) -> "Tried":
        files.make_folder(self.drafts, within=self.root)
        reading = Reading(self.space, self.folder / "inputs", ("cones.md",), whole=self.root / "snapshot/whole")
        asked: list[tuple[str, Mapping[str, object]]] = []

        def ask(name: str, given: Mapping[str, object]) -> tuple[str, bool]:
            asked.append((name, given))
            return "inputs/cones.md:2: cone 6 was reached at 1222 degrees", False

        tools = agent().tools if allowed is None else allowed
        work = WorkFolder(self.work) if commands else None
        running = None
        if work is not None:
            tools |= {"run_command"}
            running = Running(work, os.environ, self.folder / "inputs", self.space, lambda _: None)
        drafting = Drafting(self.drafts, reading, target, work)
        return Tried(Toolbox(tools, reading, drafting, ask, running, asks), asked)


@dataclass
class Tried:
    """A toolbox whose calls are written short."""

    toolbox: Toolbox
    asked: list[tuple[str, Mapping[str, object]]]
    _calls: int = 0

    def __call__(self, tool: str, given: Any = ..., **fields: Any) -> ToolResult:
        self._calls += 1
        return self.toolbox.run(ToolUse(f"u{self._calls}", tool, fields if given is ... else given))

    def ok(self, tool: str, **fields: Any) -> str:
        """What a call that is not refused says, without its fence."""
        result = self(tool, **fields)
        assert not result.is_error, result
        return inside(result.content)

    def refused(self, tool: str, given: Any = ..., **fields: Any) -> str:
        result = self(tool, given, **fields)
        assert result.is_error, result
        assert "\n" not in result.content
        return result.content


@dataclass
class ScriptedHost:
    """A host that answers with one reply after the other, and remembers what it was asked."""

    replies: Sequence[Any] = ()
    heard: list[tuple[Message, ...]] = field(default_factory=list)
    asked: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    prefixes: set[str] = field(default_factory=set)

    async def model(self, delta: tuple[Message, ...], prefix_sha: str, paused: Paused) -> ModelReply:
        self.heard.append(delta)
        self.prefixes.add(prefix_sha)
        reply = self.replies[len(self.heard) - 1]
        if callable(reply):
            reply = await reply()
        if isinstance(reply, Exception):
            raise reply
        assert isinstance(reply, ModelReply)
        return reply

    async def tool(self, name: str, input: Mapping[str, object]) -> tuple[str, bool]:  # noqa: A002
        self.asked.append((name, input))
        return "nothing found", False

    def progress(self, text: str) -> None:
        self.told.append(text)

    @property
    def results(self) -> list[ToolResult]:
        return [b for delta in self.heard for m in delta for b in m.content if isinstance(b, ToolResult)]


def agent(text: str = "---\nname: researcher\n---\nYou find out what the sources say.\n") -> AgentDefinition:
    """A definition of an agent, `researcher` with all safe tools unless its file says otherwise."""
    return parse_definition(AgentId("researcher"), text)


def call(*uses: tuple[str, Any], stop: str = "tool_use") -> ModelReply:
    """A model's reply that calls these tools."""
    blocks = tuple(ToolUse(f"c{k}", name, given) for k, (name, given) in enumerate(uses))
    return ModelReply(blocks, stop, Usage(1, 0, 0, 1), "scripted")
