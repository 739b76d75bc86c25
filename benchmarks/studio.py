"""An orchestrator in this process, and a model that plays a sub-agent's three turns after so many seconds each.

The first turn reads an input, the second writes a draft, the third reports. Then the draft is judged by the model, in a
fourth call that is answered at once. A task takes from the moment when it is handed over until a person has to decide.
"""

import json
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from onepen.orchestrator.compose import Orchestrator, build_orchestrator
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.subagents.messages import Text, ToolUse
from onepen.subagents.model import Listener, ModelReply, ModelRequest, Usage
from onepen.subagents.prompt import task_words

from .startup import REPOSITORY, fresh_copy

TURNS = 3
INPUT = REPOSITORY / "examples" / "texts" / "studio" / "firing-log.md"
MODEL = "claude-sonnet-5-5"
USED = {"input": 1_200, "cache_write": 0, "cache_read": 0, "output": 80}
PRICE = Price(0.01, 0.01, 0.01, 0.01)
"""Not nothing, so that budgets are reserved and settled, and so little that no cap is reached."""

_BODY = (
    "# {title}\n\n## What I found\n\nCups of the first firing came out with pinholes.\n\n"
    '> "Cone 6 only at four o\'clock. L4 came out with pinholes on 9 of 40 cups." (inputs/firing-log.md:18)\n'
)
_VERDICT = ("verdict", {"verdict": "accept", "reason": "The quote stands where it says."})


def turn(number: int, title: str) -> tuple[str, Mapping[str, object]]:
    """The tool that a turn calls, and its input."""
    if number == 0:
        return "read_input", {"name": INPUT.name}
    if number == 1:
        entry = {"section_id": "what-i-found", "summary": f"{title}: pinholes.", "keywords": ["pinholes"]}
        return "write_draft", {"title": title, "text": _BODY.format(title=title), "index": [entry]}
    return "report", {"summary": "Nine of forty cups came out with pinholes.", "complete": True}


@dataclass
class Player:
    """The model. `first` is when each task's first call came, by its text; `gate` keeps first calls until it is set."""

    seconds: float = 0.0
    first: dict[str, float] = field(default_factory=dict)
    gate: anyio.Event | None = None
    name: str = "played"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        if request.tool_choice is not None:
            return _said(0, *_VERDICT)
        number = sum(message.role == "assistant" for message in request.messages)
        words = task_words(request.messages[0])
        assert words is not None, "a sub-agent's conversation begins with its task"
        if number == 0:
            self.first[words.text] = time.monotonic()
            if self.gate is not None:
                await self.gate.wait()
        if self.seconds:
            await anyio.sleep(self.seconds)
        return _said(number, *turn(number, words.text))


def _said(number: int, name: str, given: Mapping[str, object]) -> ModelReply:
    return ModelReply((Text("Next."), ToolUse(f"toolu_{number}", name, given)), "tool_use", Usage(**USED), "played")


def rules(seconds: float) -> str:
    """The same model as rules of the Messages API double (JSON); all its drafts go to one finding.

    What a call used is counted by the double: the gateway learns from it whether the server caches.
    """
    verdict, given = _VERDICT
    turns = [{"tool": name, "input": value} for name, value in (turn(n, "Pinholes") for n in range(TURNS))]
    told: list[Mapping[str, object]] = [{"forced": verdict, "reply": [{"tool": verdict, "input": given}]}]
    told += [{"turn": n, "reply": [{"text": "Next."}, said], "delay": seconds} for n, said in enumerate(turns, 1)]
    return json.dumps(told)


@dataclass(frozen=True)
class Studio:
    """A workspace with its orchestrator; `player` is the model, unless there is a server."""

    orchestrator: Orchestrator
    player: Player

    async def delegate(self, *texts: str) -> DelegateResult:
        """Hand over tasks, all in one request, and wait until a person has to decide on each."""
        request = DelegateRequest(texts, agents=("writer",), inputs=(INPUT,), model=MODEL)
        result = await self.orchestrator.service.delegate(request)
        wrong = [(task.task, task.status, task.reason) for task in result.tasks if task.status != "in_review"]
        if wrong:
            raise RuntimeError(f"{len(wrong)} of {len(texts)} tasks did not come to a draft; the first: {wrong[0]}")
        return result


@asynccontextmanager
async def studio(
    place: Path, *, at_once: int | None = None, url: str | None = None, there: bool = False
) -> AsyncIterator[Studio]:
    """A fresh copy of the example workspace in `place`, at work; `at_once` attempts side by side at most.

    The model is a player in this process or, with `url`, whatever answers there. `there`: the copy was made before.
    """
    player = Player()
    workspace = place if there else fresh_copy(REPOSITORY / "examples" / "workspace", place)
    served = Served(player, PRICE)
    profiles = {} if url is None else {"default": Profile("default", url, Secret("none"), prices={MODEL: PRICE})}
    models = None if url is not None else lambda setup: lambda name, definition, client: served
    async with build_orchestrator(workspace, models=models, setup=Setup(profiles=profiles)) as orchestrator:
        if at_once is not None:
            orchestrator.workshop.slots.total_tokens = at_once
        yield Studio(orchestrator, player)
