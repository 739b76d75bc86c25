"""What a model is to onepen: one request in, one reply out; who answers is decided in one place of the orchestrator."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, Protocol

from .messages import Block, Message, ToolResult, message_dict

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it; `input_schema` is JSON Schema."""

    name: str
    description: str
    input_schema: Mapping[str, object] = field(hash=False)

    def as_dict(self) -> dict[str, object]:
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}


Life = Literal["5m", "1h"]
"""How long a server keeps what a cache mark ends, from its last use on."""

LIFE_SECONDS: Mapping[Life, int] = {"5m": 300, "1h": 3_600}


@dataclass(frozen=True)
class Caching:
    """How a request wishes to be cached: which system blocks, by number, end with a mark, and how long each mark lives.

    `prefix` is the life of the marks in the system prompt, `tail` that of those in the conversation; the API takes no
    longer life after a shorter one.
    """

    ends: tuple[int, ...]
    prefix: Life = "5m"
    tail: Life = "5m"


@dataclass(frozen=True)
class ModelRequest:
    """All that a reply may depend on, and what only its cost depends on.

    `system` are the blocks of the prompt before the conversation, each ending with a newline; `max_tokens` is the
    longest reply; `agent` is the id of the agent that asks; `tool_choice` names the one tool that has to be called.
    `caching` (None: as the gateway thinks best) and `after`, the server's id of the reply before ("": none), change no
    reply, and stand in no hash.
    """

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    max_tokens: int
    agent: str
    tool_choice: str | None = None
    caching: Caching | None = None
    after: str = ""

    def sha(self) -> str:
        """Hex sha256 of the request: equal requests have one reply, whichever attempt asks and whenever."""
        return canonical_sha(self.as_dict())

    def as_dict(self) -> dict[str, object]:
        """All that a reply depends on, as JSON's types."""
        return {
            "model": self.model,
            "system": self.system,
            "tools": [tool.as_dict() for tool in self.tools],
            "messages": [message_dict(message) for message in self.messages],
            "max_tokens": self.max_tokens,
            "agent": self.agent,
            **({} if self.tool_choice is None else {"tool_choice": self.tool_choice}),
        }


class Shas:
    """The shas of the requests of one conversation, as it grows: what stands in all of them is rendered once.

    `first` is a request of it, whose messages don't count.
    """

    def __init__(self, first: ModelRequest) -> None:
        head, self._tail = _around(replace(first, messages=()))
        self._hash = hashlib.sha256(head)
        self._messages = 0

    def add(self, *messages: Message) -> None:
        """The conversation goes on with these."""
        for message in messages:
            comma = "," if self._messages else ""
            self._hash.update(f"{comma}{canonical(message_dict(message))}".encode("ascii"))
            self._messages += 1

    def sha(self) -> str:
        """What `ModelRequest.sha` is with all that was added."""
        whole = self._hash.copy()
        whole.update(self._tail)
        return whole.hexdigest()


@lru_cache(maxsize=16)
def _around(request: ModelRequest) -> tuple[bytes, bytes]:
    """What stands before and behind the messages in a request's canonical form."""
    mark = "messages"
    plain = request.as_dict()
    before = canonical({key: value for key, value in plain.items() if key < mark})
    after = canonical({key: value for key, value in plain.items() if key > mark})
    return f'{before[:-1]},"{mark}":['.encode("ascii"), f"],{after[1:]}".encode("ascii")


@dataclass(frozen=True)
class Usage:
    """Tokens of one reply, as the API counts them: `input` is what was neither written to nor read from the cache.

    `cache_write_1h` are those of `cache_write` that are kept for an hour, and cost more.
    """

    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    cache_write_1h: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.cache_write + other.cache_write,
            self.cache_read + other.cache_read,
            self.output + other.output,
            self.cache_write_1h + other.cache_write_1h,
        )

    @property
    def prompt_total(self) -> int:
        """The whole prompt, cached or not."""
        return self.input + self.cache_write + self.cache_read


@dataclass(frozen=True)
class Miss:
    """Why a server found less in its cache than the request before had put there, in the server's own word.

    `tokens` of the prompt are said to be read anew for it; None: not said.
    """

    reason: str
    tokens: int | None = None


@dataclass(frozen=True)
class ModelReply:
    """What a model said; `stop_reason` is the API's word, also one that isn't known yet.

    `cost_usd` is in US dollars, None where the model's price is unknown. `details` is what the server said of a stop,
    such as why the model refused; "" for nothing. `done` are results that an earlier attempt of the task had for calls
    of this reply, which must not be made again. `id` is the server's name of the reply ("": it has none); `miss` is
    what the server says of its cache, None for nothing. `least` are about the tokens from which on the server caches a
    prompt of this model, 0: nobody knows.
    """

    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    model: str
    cost_usd: float | None = 0.0
    details: str = ""
    done: tuple[ToolResult, ...] = ()
    id: str = ""
    miss: Miss | None = None
    least: int = 0

    @property
    def message(self) -> Message:
        return Message("assistant", self.content)


@dataclass(frozen=True)
class LostCall:
    """A call that gave no whole reply (a cut stream, an error): what it used, as far as the server said, is paid."""

    reason: str
    usage: Usage = Usage()
    cost_usd: float | None = 0.0


OnLost = Callable[[LostCall], None]


class Listener(Protocol):
    """Hears a reply while it comes in, for a person who waits; nothing is acted upon before it is whole."""

    def text(self, words: str) -> None:
        """More words of the reply."""
        ...

    def broke_off(self, reason: str) -> None:
        """The reply was cut and begins anew: what was heard of it so far doesn't count."""
        ...


class Model(Protocol):
    """Answers requests; `name` is what a person calls it, such as "offline".

    `reply` makes one call and raises what kept it from being whole; who calls tries again or doesn't.
    """

    @property
    def name(self) -> str: ...

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply: ...


def canonical_sha(value: object) -> str:
    """Hex sha256 of JSON's one canonical form."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def canonical(value: object) -> str:
    """JSON's one canonical form: keys sorted, no blanks, ASCII."""
    return _CANONICAL.encode(value)
