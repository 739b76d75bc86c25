"""A prompt as a cache sees it: its blocks in the order tools, system, messages, each with the hash of all until there.

What changes only a later part is hashed where that part begins, as the API documents it: `speed` and the format of an
answer before the system prompt; `tool_choice`, `thinking`, the effort, and whether there is any image, before the
messages.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .dialogue import canonical
from .reply import estimate
from .shape import MARK

RUNS = ("tool_use", "tool_result")
_UNMARKED = ("thinking", "redacted_thinking")
"""Blocks that can't carry a mark: one for the whole request passes them over."""

Block = Mapping[str, Any]


@dataclass(frozen=True)
class Position:
    """A block of a prompt: the hash and the tokens of all that comes up to its end.

    `ttl` is that of the mark at it, None without one. `step` counts what the look-back counts: calls of tools that
    follow each other are one step, and so are their results.
    """

    sha: str
    tokens: int
    ttl: str | None
    step: int


def positions(body: Mapping[str, Any]) -> list[Position]:
    """Every block of a prompt in its order; an empty prompt has one, of no tokens."""
    found: list[Position] = []
    so_far, tokens, step = hashlib.sha256(str(body.get("model")).encode()), 0, -1
    before: tuple[str, object] = ("", None)
    markable = -1
    for where, block in _blocks(body):
        ttl, plain = _parted(block)
        so_far.update(json.dumps((where, plain)).encode())  # a cache sees the order of keys, too
        tokens += estimate(plain)
        kind = (where, block.get("type"))
        step += not (kind == before and kind[1] in RUNS)
        before = kind
        if kind[1] not in _UNMARKED and block.get("text") != "":
            markable = len(found)
        found.append(Position(so_far.hexdigest(), tokens, ttl, step))
    if markable >= 0 and isinstance(whole := body.get(MARK), dict) and found[markable].ttl is None:
        found[markable] = replace(found[markable], ttl=whole.get("ttl", "5m"))
    return found or [Position("", 0, None, 0)]


def _parted(block: Block) -> tuple[str | None, Block]:
    """The life that a block's mark asks for, and the block without it; a mark within a result is the result's."""
    ttl = _ttl(block.get(MARK))
    plain = {name: value for name, value in block.items() if name != MARK}
    if block.get("type") == "tool_result" and isinstance(inner := block.get("content"), list):
        parted = [_parted(one) for one in inner]
        plain["content"] = [one for _, one in parted]
        ttl = next((life for life in (ttl, *(life for life, _ in reversed(parted))) if life), None)
    return ttl, plain


def _ttl(mark: object) -> str | None:
    return str(mark.get("ttl", "5m")) if isinstance(mark, dict) else None


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, Block]]:
    """Each block with its part, and with what that part depends on besides its blocks."""
    output = body.get("output_config") or {}
    messages = [(message["role"], _listed(message["content"])) for message in body.get("messages") or []]
    for tool in body.get("tools") or []:
        yield "tools", tool
    above = canonical((body.get("speed"), output.get("format")))
    for block in _listed(body.get("system") or []):
        yield f"system {above}", block
    pictured = any(_pictured(block) for _, blocks in messages for block in blocks)
    depends = canonical((body.get("tool_choice"), body.get("thinking"), output.get("effort"), pictured))
    for role, blocks in messages:
        for block in blocks:
            yield f"{role} {above} {depends}", block


def _listed(content: Any) -> list[Block]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _pictured(block: Block) -> bool:
    content = block.get("content")
    inner = content if isinstance(content, list) else []
    return block.get("type") == "image" or any(isinstance(one, dict) and _pictured(one) for one in inner)
