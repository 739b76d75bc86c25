"""A model that says what a script tells it to, for tests and for trying things out: `--model scripted:FILE`.

A script is JSON: a list of rules, or an object with them under "rules". Each call takes the first rule that fits and
was not used up:

    {"agent": "writer", "contains": "Newsletter", "turn": 1, "times": 1,
     "reply": [{"tool": "write_draft", "input": {"text": "…"}}, {"text": "…"}],
     "stop_reason": "tool_use", "usage": {"input": 10, "output": 5}}

`agent`, `contains` (text that stands somewhere in the conversation), `turn` (which model call of the conversation,
from 1) and `times` may be left out; without `turn` and `times` a rule fits again and again. `delay` waits that many
seconds before the reply.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from onepen.memory.errors import OnepenError
from onepen.subagents.messages import Block, Text, ToolResult, ToolUse
from onepen.subagents.model import Listener, ModelReply, ModelRequest, Usage


class ScriptUnreadable(OnepenError):
    """Raised when a script is missing or is none; the message names the file and the first thing that is wrong."""

    exit_code = 2

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class ScriptExhausted(OnepenError):
    """Raised when no rule of a script fits a request."""

    def __init__(self, agent: str, turn: int) -> None:
        super().__init__(f"scripted model: no rule fits call {turn} of agent {agent}")


class _Said(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str | None = None
    """Words of the model."""
    tool: str | None = None
    """Name of a tool that it calls."""
    input: object = Field(default_factory=dict)
    """The tool's input, as it is."""


class _Counted(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    input: int = 0
    """Tokens that were neither read from nor written to a cache."""
    cache_write: int = 0
    """Tokens written to the cache."""
    cache_read: int = 0
    """Tokens read from the cache."""
    output: int = 0
    """Tokens of the reply."""


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: str | None = None
    """Only for this agent."""
    contains: str | None = None
    """Only when this text stands somewhere in the conversation."""
    turn: int | None = Field(default=None, ge=1)
    """Only for this model call of the conversation."""
    times: int | None = Field(default=None, ge=1)
    """How often the rule may be used."""
    reply: tuple[_Said, ...]
    """What the model says, in order."""
    stop_reason: str | None = None
    """Why it stops; by default `tool_use` when it calls a tool, else `end_turn`."""
    usage: _Counted = _Counted()
    """What the call is said to have cost."""
    delay: float = Field(default=0.0, ge=0)
    """Seconds until the reply comes."""


_RULES = TypeAdapter(tuple[_Rule, ...])


class ScriptedModel:
    """Answers by rules; `requests` holds what it was asked."""

    def __init__(self, rules: Sequence[Mapping[str, object]] | Mapping[str, object], name: str = "scripted") -> None:
        self._rules = _parse(rules, name)
        self._used: Counter[int] = Counter()
        self.requests: list[ModelRequest] = []
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    @classmethod
    def from_file(cls, path: Path) -> "ScriptedModel":
        """Raises ScriptUnreadable."""
        try:
            rules = json.loads(path.read_bytes().decode())
        except OSError as e:
            raise ScriptUnreadable(str(path), f"can't be read: {e.strerror}") from e
        except (ValueError, RecursionError) as e:
            raise ScriptUnreadable(str(path), f"not JSON: {e}") from e
        return cls(rules, name=f"scripted:{path}")

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        self.requests.append(request)
        turn = sum(1 for m in request.messages if m.role == "assistant") + 1
        said = "\n".join(_words(request))
        for k, rule in enumerate(self._rules):
            if rule.agent not in (None, request.agent) or rule.turn not in (None, turn):
                continue
            if rule.contains is not None and rule.contains not in said:
                continue
            if rule.times is not None and self._used[k] >= rule.times:
                continue
            self._used[k] += 1
            await anyio.sleep(rule.delay)
            reply = _replied(rule, turn, request.model)
            if listener is not None and reply.message.text:
                listener.text(reply.message.text)
            return reply
        raise ScriptExhausted(request.agent, turn)


def _parse(rules: object, name: str) -> tuple[_Rule, ...]:
    listed = rules.get("rules") if isinstance(rules, Mapping) else rules
    try:
        return _RULES.validate_python(listed)
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the script"
        raise ScriptUnreadable(name, f"{place}: {first['msg']}") from e


def _replied(rule: _Rule, turn: int, model: str) -> ModelReply:
    content: list[Block] = []
    for k, said in enumerate(rule.reply, start=1):
        if said.text is not None:
            content.append(Text(said.text))
        if said.tool is not None:
            content.append(ToolUse(f"call_{turn}_{k}", said.tool, said.input))
    calls = any(isinstance(block, ToolUse) for block in content)
    stop = rule.stop_reason or ("tool_use" if calls else "end_turn")
    return ModelReply(tuple(content), stop, Usage(**rule.usage.model_dump()), model)


def _words(request: ModelRequest) -> list[str]:
    words: list[str] = []
    for message in request.messages:
        for block in message.content:
            if isinstance(block, Text):
                words.append(block.text)
            elif isinstance(block, ToolResult):
                words.append(block.content)
    return words
