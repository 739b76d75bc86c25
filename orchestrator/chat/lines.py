"""The lines of chats/<session>.jsonl, each a frozen value; a line is synced before it is acted upon.

{"kind": "begun", …}     the prompt as it is sent: system blocks, tools, the layers' sizes; the first line
{"kind": "renewed", …}   the same begun anew, and the first exchange that is still sent
{"kind": "asked", …}     a message of the person
{"kind": "replied", …}   one reply of the model, with its usage and cost
{"kind": "made", …}      tasks that a tool has made, while their work goes on
{"kind": "result", …}    what came of a tool call, and which files it showed
{"kind": "lost", …}      a model call that gave no whole reply, and what it cost
{"kind": "partial", …}   what was heard of a reply that never became whole; never sent to a model
{"kind": "ended", …}     the end of a turn: why it ended, its tokens by layer, what it cost
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ...subagents.messages import Block, mend
from ...subagents.model import Caching, Miss, ModelReply, ToolSpec, Usage

VERSION = 1


@dataclass(frozen=True)
class Tool:
    """A tool as it was offered to the model."""

    name: str
    description: str
    input_schema: Mapping[str, Any]

    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, self.description, self.input_schema)


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What stands before a conversation, as it is sent; `layers` are estimated tokens of B (rules and tools), A, I, S.

    `parts` names the layer of each block of `system`; () in chats of before, whose first block was B and A together.
    `known` is the latest commit of the space that the agent was told of by then. `synthesis` is the commit that last
    touched the synthesis ("": none). `files` are hashes of the files of the layers, by their paths in the workspace.
    """

    model: str
    system: tuple[str, ...]
    tools: tuple[Tool, ...]
    layers: Mapping[str, int]
    max_tokens: int
    known: str = ""
    parts: tuple[str, ...] = ()
    synthesis: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Begun(Prompt):
    """The beginning of a chat."""

    session: str
    client: str | None
    at: str
    kind: Literal["begun"] = "begun"


@dataclass(frozen=True, kw_only=True)
class Renewed(Prompt):
    """I, S and C begun anew (B and A as they are by then): from turn `first` on, exchanges are sent as before.

    `why` says it in a few words for a person.
    """

    at: str
    first: int
    why: str
    kind: Literal["renewed"] = "renewed"


@dataclass(frozen=True)
class Asked:
    """What the person said; `known` is the latest commit of the space that the agent was told of.

    `model` is the name of the model that is asked. `seen` are hashes of files that the agent was told to be other than
    it had seen them ("": gone).
    """

    turn: int
    at: str
    content: tuple[Block, ...]
    known: str = ""
    model: str = ""
    seen: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["asked"] = "asked"


@dataclass(frozen=True)
class Replied:
    """A whole reply. Ids of its tool calls are unlike all before them in this chat.

    `id` is the server's name of the reply, `miss` what it said of its cache. `caching` are the marks that its request
    wished for (None: unknown), and `least` the tokens from which on its model caches (0: unknown).
    """

    turn: int
    at: str
    content: tuple[Block, ...]
    stop_reason: str
    usage: Usage
    model: str
    cost_usd: float | None = 0.0
    id: str = ""
    miss: Miss | None = None
    caching: Caching | None = None
    least: int = 0
    kind: Literal["replied"] = "replied"

    @classmethod
    def of(cls, turn: int, at: str, reply: ModelReply, caching: Caching | None = None) -> "Replied":
        return cls(
            turn,
            at,
            reply.content,
            reply.stop_reason,
            reply.usage,
            reply.model,
            reply.cost_usd,
            reply.id,
            reply.miss,
            caching,
            reply.least,
        )


@dataclass(frozen=True)
class Made:
    """Tasks that a call made; written as soon as they lie in staging/."""

    turn: int
    call: str
    tasks: tuple[str, ...]
    kind: Literal["made"] = "made"


@dataclass(frozen=True)
class Resulted:
    """The result of a call. `external` when it showed text from outside; `shown` are places that it showed.

    `seen` are hashes of the files whose text the agent knows by it, by their paths in the workspace.
    """

    turn: int
    call: str
    tool: str
    content: str
    is_error: bool = False
    shown: tuple[str, ...] = ()
    external: bool = False
    commit: str | None = None
    drafts: tuple[str, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)
    kind: Literal["result"] = "result"


@dataclass(frozen=True)
class Lost:
    """A call that was paid for and gave no whole reply."""

    turn: int
    reason: str
    usage: Usage
    cost_usd: float | None = 0.0
    kind: Literal["lost"] = "lost"


@dataclass(frozen=True)
class Partial:
    """Words that were heard before a reply was cut or stopped."""

    turn: int
    text: str
    reason: str
    kind: Literal["partial"] = "partial"


@dataclass(frozen=True)
class Ended:
    """The end of a turn. `dropped`: its message was not answered and is not sent again."""

    turn: int
    at: str
    stop_reason: str
    calls: int = 0
    tools: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    layers: Mapping[str, int] = field(default_factory=dict)
    dropped: bool = False
    reason: str = ""
    kind: Literal["ended"] = "ended"


Line = Annotated[
    Begun | Renewed | Asked | Replied | Made | Resulted | Lost | Partial | Ended, Field(discriminator="kind")
]


def render_line(line: Line) -> str:
    """The line without its line end; halves of characters become U+FFFD."""
    return json.dumps({"v": VERSION, "kind": line.kind, **mend(asdict(line))}, ensure_ascii=False)


def parse_line(text: str) -> Line | None:
    """The line in a text; None for one that is torn, or of another version."""
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(plain, dict) or plain.pop("v", None) != VERSION:
        return None
    try:
        return _adapter().validate_python(mend(plain))
    except ValidationError:
        return None


@cache
def _adapter() -> TypeAdapter[Line]:
    return TypeAdapter(Line)
