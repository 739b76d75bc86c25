"""A conversation as the Messages API shapes it: frozen values inside, plain dictionaries at the edge.

A `ToolUse.input` is whatever the model gave: an object by the API's rules, but models send lists and strings, too,
so that only `tools` may believe it, after validation.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, count
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from ..memory.tokens import estimate
from .errors import SubagentFault

_UNSENDABLE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_ID = 200


@dataclass(frozen=True)
class Text:
    """Words of the model, or of whom it works for."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True)
class ToolUse:
    """A tool that the model wants to have run; `id` is what its result must name."""

    id: str
    name: str
    input: Any
    type: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True)
class ToolResult:
    """What came of a tool; an error is a result, too: the model reads it and tries otherwise."""

    tool_use_id: str
    content: str
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True)
class Opaque:
    """A block of a kind that onepen doesn't look into (thinking, a server's own tool): sent back as it came."""

    raw: Mapping[str, Any]
    type: Literal["opaque"] = "opaque"


Block = Annotated[Text | ToolUse | ToolResult | Opaque, Field(discriminator="type")]


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: tuple[Block, ...]

    @property
    def text(self) -> str:
        """All words of the message, joined by line ends."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it has, weighed once: a conversation sends it again with each call."""
        return estimate(str(message_dict(self)))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolUse))


class BadMessage(SubagentFault):
    """Raised when a dictionary is no message, naming the field that is wrong."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not a message of a conversation: {reason}")


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


def assistant(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def block_dict(block: Block) -> dict[str, object]:
    """The block as the Messages API wants it; an opaque one in a wrapper, which only the model's adapter takes off."""
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    if isinstance(block, ToolUse):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
    if isinstance(block, Opaque):
        return {"type": "opaque", "raw": dict(block.raw)}
    result: dict[str, object] = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": block.content}
    return {**result, "is_error": True} if block.is_error else result


def message_dict(message: Message) -> dict[str, object]:
    """The message as the Messages API wants it."""
    return {"role": message.role, "content": [block_dict(block) for block in message.content]}


def parse_message(plain: Mapping[str, object]) -> Message:
    """The message in a plain dictionary; halves of characters become U+FFFD; raises BadMessage.

    `content` may be a string, as the API allows.
    """
    content = plain.get("content")
    shaped = {**plain, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else plain
    try:
        return _message().validate_python(mend(shaped))
    except ValidationError as e:
        raise BadMessage(first_error(e)) from e


def parse_blocks(plain: Sequence[object]) -> tuple[Block, ...]:
    """The blocks in a list of plain dictionaries; halves of characters become U+FFFD; raises BadMessage."""
    try:
        return _blocks().validate_python(mend(list(plain)))
    except ValidationError as e:
        raise BadMessage(first_error(e)) from e


@cache
def _message() -> TypeAdapter[Message]:
    return TypeAdapter(Message)


@cache
def _blocks() -> TypeAdapter[tuple[Block, ...]]:
    return TypeAdapter(tuple[Block, ...])


def told_apart(content: Sequence[Block], taken: Iterable[str]) -> tuple[Block, ...]:
    """The blocks with ids of tool calls that a conversation with the ids `taken` can be sent with.

    Some servers count anew in each reply, give no ids, or ones that they themselves refuse when they come back.
    """
    used = set(taken)
    blocks: list[Block] = []
    for block in content:
        if isinstance(block, ToolUse):
            own = _UNSENDABLE.sub("_", block.id)[:_LONGEST_ID] or "call"
            block = replace(block, id=next(name for name in chain((own,), _numbered(own)) if name not in used))
            used.add(block.id)
        blocks.append(block)
    return tuple(blocks)


def _numbered(name: str) -> Iterator[str]:
    return (f"{name}_{n}" for n in count(2))


def first_error(error: ValidationError) -> str:
    """The first thing that is wrong, as `field.inner: what`."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: two halves of a character are joined, a half alone becomes U+FFFD.

    JSON may hold the escape of half a character, and Python reads it without complaint; the first write fails then.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mend(value: Any) -> Any:
    """`value` (of JSON's types) with all its texts well formed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {well_formed(key) if isinstance(key, str) else key: mend(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [mend(inner) for inner in value]
    return value
