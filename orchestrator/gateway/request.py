"""A request as the Messages API takes it: plain dictionaries, with cache marks, and nothing in it that is refused."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...subagents.messages import Block, Message, Opaque, Text, ToolUse, block_dict, mend
from ...subagents.model import Life, ModelRequest
from .extras import EXTRAS, Extras
from .marks import Marks, marks

_NOTHING = Text("(nothing)")


def body(request: ModelRequest, model: str, extras: Extras = EXTRAS) -> dict[str, Any]:
    """The request's body for the model of that id at the server; text in it can be sent as UTF-8.

    Blocks without words are left out, and messages that have no others; an input that is no object was refused by the
    tool that got it, and goes back as an empty one.
    """
    system, messages, placed = sent(request)
    made: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": [_message(m, message, placed, extras) for m, message in enumerate(messages)],
    }
    if system:
        mark = _mark(placed.prefix, extras)
        made["system"] = [
            _marked({"type": "text", "text": text}, mark if s in placed.system else None)
            for s, text in enumerate(system)
        ]
    if request.tools:
        made["tools"] = [tool.as_dict() for tool in request.tools]
    if request.tool_choice is not None:
        made["tool_choice"] = {"type": "tool", "name": request.tool_choice}
    if used(request, extras).diagnostics:
        # Without a reply before, too: what the next request is compared with is kept only of one that has asked.
        made["diagnostics"] = {"previous_message_id": request.after or None}
    sendable: dict[str, Any] = mend(made)
    return sendable


def used(request: ModelRequest, extras: Extras) -> Extras:
    """Those of the extras that the request has a use for."""
    caching = request.caching
    hour = caching is not None and "1h" in (caching.prefix, caching.tail)
    return Extras(ttl=extras.ttl and hour, diagnostics=extras.diagnostics and bool(request.after or caching))


def sent(request: ModelRequest) -> tuple[tuple[str, ...], tuple[Message, ...], Marks]:
    """What is sent of a request's system blocks and messages, and where its marks stand in them."""
    kept = [k for k, text in enumerate(request.system) if text.strip()]
    messages = _sendable(request.messages)
    caching = request.caching
    if caching is not None:
        ends = (bisect_right(kept, end) - 1 for end in caching.ends if end < len(request.system))
        caching = replace(caching, ends=tuple(ends))
    placed = marks(len(kept), messages, once=request.tool_choice is not None, caching=caching)
    return tuple(request.system[k] for k in kept), messages, placed


def _sendable(messages: Sequence[Message]) -> tuple[Message, ...]:
    kept = []
    for message in messages:
        content = tuple(b for b in message.content if not isinstance(b, Text) or b.text.strip())
        if content:
            kept.append(Message(message.role, content))
    return tuple(kept) or (Message("user", (_NOTHING,)),)


def _message(number: int, message: Message, placed: Marks, extras: Extras) -> dict[str, Any]:
    mark = _mark(placed.tail, extras)
    content = [
        _marked(_block(block), mark if (number, b) in placed.messages else None)
        for b, block in enumerate(message.content)
    ]
    return {"role": message.role, "content": content}


def _block(block: Block) -> Mapping[str, Any]:
    if isinstance(block, Opaque):
        return block.raw
    if isinstance(block, ToolUse) and not isinstance(block.input, Mapping):
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}
    return block_dict(block)


def _mark(life: Life, extras: Extras) -> Mapping[str, str]:
    """A mark; five minutes is what one lives that says nothing, and what every server knows."""
    return {"type": "ephemeral"} | ({"ttl": life} if life != "5m" and extras.ttl else {})


def _marked(block: Mapping[str, Any], mark: Mapping[str, str] | None) -> Mapping[str, Any]:
    return block if mark is None else {**block, "cache_control": mark}
