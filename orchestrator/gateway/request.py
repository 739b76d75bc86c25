"""A request as the Messages API takes it: plain dictionaries, with cache marks, and nothing in it that is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...subagents.messages import Block, Message, Opaque, Text, ToolUse, block_dict, mend
from ...subagents.model import ModelRequest
from .marks import MARK, Marks, marks

_NOTHING = Text("(nothing)")


def body(request: ModelRequest, model: str) -> dict[str, Any]:
    """The request's body for the model of that id at the server; text in it can be sent as UTF-8.

    Blocks without words are left out, and messages that have no others; an input that is no object was refused by the
    tool that got it, and goes back as an empty one.
    """
    system = tuple(text for text in request.system if text.strip())
    messages = _sendable(request.messages)
    placed = marks(len(system), messages, once=request.tool_choice is not None)
    made: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [_message(m, message, placed) for m, message in enumerate(messages)],
    }
    if system:
        made["system"] = [_marked({"type": "text", "text": text}, s in placed.system) for s, text in enumerate(system)]
    if request.tools:
        made["tools"] = [tool.as_dict() for tool in request.tools]
    if request.tool_choice is not None:
        made["tool_choice"] = {"type": "tool", "name": request.tool_choice}
    sendable: dict[str, Any] = mend(made)
    return sendable


def _sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    kept = []
    for message in messages:
        content = tuple(b for b in message.content if not isinstance(b, Text) or b.text.strip())
        if content:
            kept.append(Message(message.role, content))
    return tuple(kept) or (Message("user", (_NOTHING,)),)


def _message(number: int, message: Message, placed: Marks) -> dict[str, Any]:
    content = [_marked(_block(block), (number, b) in placed.messages) for b, block in enumerate(message.content)]
    return {"role": message.role, "content": content}


def _block(block: Block) -> Mapping[str, Any]:
    if isinstance(block, Opaque):
        return block.raw
    if isinstance(block, ToolUse) and not isinstance(block.input, Mapping):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
    return block_dict(block)


def _marked(block: Mapping[str, Any], mark: bool) -> Mapping[str, Any]:
    return {**block, "cache_control": MARK} if mark else block
