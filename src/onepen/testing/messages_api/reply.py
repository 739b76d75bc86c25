"""From a rule to the reply of the Messages API: the message as a whole, and the events in which it is streamed."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .asked import Asked
from .cutting import whole_part
from .rules import Counted, Rule, Said

Event = dict[str, Any]
STREAMED = 20
"""A text comes in about as many parts, or in parts of as many characters if it is short."""


@dataclass(frozen=True)
class Block:
    """A block of a reply; `written` is a tool's input as the model wrote it, which needn't be JSON."""

    whole: Mapping[str, Any]
    written: str = ""


@dataclass(frozen=True)
class Reply:
    """What is answered with status 200."""

    id: str
    model: str
    blocks: tuple[Block, ...]
    stop_reason: str
    stop_details: Mapping[str, Any] | None
    usage: Counted
    diagnostics: Mapping[str, object] | None = None

    @property
    def message(self) -> dict[str, Any]:
        """The reply of a request that isn't streamed."""
        return {
            **_shell(self), "content": [block.whole for block in self.blocks],
            "stop_reason": self.stop_reason, "stop_sequence": None, "stop_details": self.stop_details,
            "usage": _usage(self.usage, self.usage.output),
        }  # fmt: skip


def build(
    rule: Rule,
    asked: Asked,
    raw: bytes,
    usage: Counted | None = None,
    diagnostics: Mapping[str, object] | None = None,
) -> Reply:
    """The rule's reply; ids come from the request's bytes, so that equal requests get equal ones."""
    print_ = hashlib.sha256(raw).hexdigest()
    blocks = tuple(_block(said, f"{print_[:16]}{k:02}") for k, said in enumerate(rule.reply))
    stop = rule.stop_reason or _stop(rule.reply)
    counted = rule.usage or (usage or Counted(input=estimate(asked.body))).model_copy(
        update={"output": _written(blocks)}
    )
    told = rule.diagnostics if rule.diagnostics is not None else diagnostics
    return Reply(f"msg_{print_[:24]}", asked.model, blocks, stop, rule.stop_details, counted, told)


def events(reply: Reply, steps: Sequence[int] = ()) -> Iterator[Event]:
    """The reply as it is streamed, every event in its order."""
    started = {**_shell(reply), "content": [], "stop_reason": None, "stop_sequence": None, "stop_details": None}
    yield {"type": "message_start", "message": {**started, "usage": _usage(reply.usage, min(1, reply.usage.output))}}
    yield {"type": "ping"}
    for index, block in enumerate(reply.blocks):
        start, deltas = _parts(block)
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    none_yet = {"stop_reason": None, "stop_sequence": None}
    for so_far in reply.usage.steps:
        yield {"type": "message_delta", "delta": none_yet, "usage": _usage(reply.usage, so_far, running=True)}
    stop = {"stop_reason": reply.stop_reason, "stop_sequence": None, "stop_details": reply.stop_details}
    yield {"type": "message_delta", "delta": stop, "usage": _usage(reply.usage, reply.usage.output, running=True)}
    yield {"type": "message_stop"}


def estimate(value: object) -> int:
    """Tokens of a value, roughly: a token is four bytes of its JSON."""
    return max(1, len(json.dumps(value, ensure_ascii=False).encode(errors="replace")) // 4)


def signature(thought: str) -> str:
    """What the double signs a thought with."""
    return hashlib.sha256(b"thought " + thought.encode(errors="replace")).hexdigest()


def _shell(reply: Reply) -> dict[str, Any]:
    shell = {"id": reply.id, "type": "message", "role": "assistant", "model": reply.model}
    return {**shell, "diagnostics": reply.diagnostics}


def _block(said: Said, mark: str) -> Block:
    if said.block is not None:
        return Block(said.block)
    if said.thinking is not None:
        return Block({"type": "thinking", "thinking": said.thinking, "signature": signature(said.thinking)})
    if said.tool is None:
        return Block({"type": "text", "text": said.text or ""})
    written = json.dumps(said.input, ensure_ascii=False) if said.input_json is None else said.input_json
    written = written[: said.cut]
    return Block(
        {"type": "tool_use", "id": said.id or f"toolu_{mark}", "name": said.tool, "input": whole_part(written)}, written
    )


def _stop(said: Sequence[Said]) -> str:
    if any(one.cut is not None for one in said):
        return "max_tokens"
    return "tool_use" if any(one.tool is not None for one in said) else "end_turn"


def _written(blocks: Sequence[Block]) -> int:
    return sum(estimate(block.whole) for block in blocks) if blocks else 0


def _usage(counted: Counted, output: int, *, running: bool = False) -> dict[str, Any]:
    usage: dict[str, Any] = {"input_tokens": counted.input, "output_tokens": output}
    if counted.cache_write is not None:
        usage["cache_creation_input_tokens"] = counted.cache_write
    if counted.cache_read is not None:
        usage["cache_read_input_tokens"] = counted.cache_read
    if counted.thinking is not None:
        usage["output_tokens_details"] = {"thinking_tokens": min(counted.thinking, output)}
    if not running:  # as the API does: how long the cache keeps it, and the tier, stand in the beginning only
        usage["service_tier"] = "standard"
        if counted.cache_write is not None:
            usage["cache_creation"] = {
                "ephemeral_5m_input_tokens": counted.cache_write - counted.cache_write_1h,
                "ephemeral_1h_input_tokens": counted.cache_write_1h,
            }
    return usage


def _parts(block: Block) -> tuple[Mapping[str, Any], list[dict[str, Any]]]:
    """How a block begins, and what is added to it then."""
    whole = block.whole
    match whole["type"]:
        case "text":
            start = {**whole, "text": ""}
            return start, [{"type": "text_delta", "text": part} for part in _pieces(str(whole["text"]))]
        case "thinking":
            thoughts = [{"type": "thinking_delta", "thinking": part} for part in _pieces(str(whole["thinking"]))]
            signed = {"type": "signature_delta", "signature": whole["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
        case "tool_use":
            written = ["", *_pieces(block.written or json.dumps(whole["input"]))]
            return {**whole, "input": {}}, [{"type": "input_json_delta", "partial_json": part} for part in written]
        case _:
            return whole, []


def _pieces(text: str) -> list[str]:
    size = max(STREAMED, -(-len(text) // STREAMED))
    return [text[k : k + size] for k in range(0, len(text), size)]
