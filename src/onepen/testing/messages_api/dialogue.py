"""The conversation as a whole: who speaks first and last, and that every call of a tool has its one result."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .reply import signature

_WITHOUT_PREFILL = re.compile(r"claude-[a-z]+-4-[6-9]|claude-[a-z]+-[5-9]")


@dataclass(frozen=True)
class Turn:
    """What one side says without the other between; each block with the places of its message and of itself in it."""

    role: str
    blocks: tuple[tuple[int, int, Mapping[str, Any]], ...]


def canonical(value: object) -> str:
    """One text for equal values of JSON's types."""
    return json.dumps(value, sort_keys=True)


def dialogue_fault(body: Mapping[str, Any], *, paused: Collection[str], said: Collection[str]) -> str | None:
    """The first thing that is wrong with the conversation of a request whose shape is right."""
    return next(_faults(body, paused, said), None)


def _faults(body: Mapping[str, Any], paused: Collection[str], said: Collection[str]) -> Iterator[str]:
    messages = body["messages"]
    if messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    yield from _empty(messages)
    turns = _turns(messages)
    yield from _signed(turns, said)
    yield from _paired(turns)
    last = messages[-1]
    if last["role"] == "assistant" and canonical(last["content"]) not in paused:
        if _WITHOUT_PREFILL.match(body["model"]):
            yield (
                "This model does not support assistant message prefill. The conversation must end with a user message."
            )
        if _end(last["content"]) != _end(last["content"]).rstrip():
            yield "messages: final assistant content cannot end with trailing whitespace"
    used = any(block["type"] in ("tool_use", "tool_result") for turn in turns for _, _, block in turn.blocks)
    if used and not body.get("tools"):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"


def _empty(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for index, message in enumerate(messages):
        if message["content"]:
            continue
        if message["role"] == "user":
            yield f"messages.{index}: user messages must have non-empty content"
        elif index < len(messages) - 1:
            yield f"messages.{index}: all messages must have non-empty content except for the optional final " + (
                "assistant message"
            )


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """Messages of one side that follow each other are one turn; those of the system stand beside the conversation."""
    turns: list[Turn] = []
    for index, message in enumerate(messages):
        if message["role"] == "system":
            continue
        content = message["content"]
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        blocks = tuple((index, inner, block) for inner, block in enumerate(content))
        if turns and turns[-1].role == message["role"]:
            blocks = (*turns.pop().blocks, *blocks)
        turns.append(Turn(message["role"], blocks))
    return turns


def _signed(turns: Sequence[Turn], said: Collection[str]) -> Iterator[str]:
    for turn in turns:
        for index, inner, block in turn.blocks:
            if block["type"] != "thinking" or block["signature"] == signature(block["thinking"]):
                continue
            if canonical(block) not in said:
                yield f"messages.{index}.content.{inner}: Invalid `signature` in `thinking` block"


def _paired(turns: Sequence[Turn]) -> Iterator[str]:
    seen: set[str] = set()
    before: list[str] = []
    for place, turn in enumerate(turns):
        yield from _results(turn, before)
        called = [(index, inner, block["id"]) for index, inner, block in turn.blocks if block["type"] == "tool_use"]
        for index, inner, call in called:
            if call in seen:
                yield f"messages.{index}.content.{inner}: `tool_use` ids must be unique"
            seen.add(call)
        before = [call for _, _, call in called]
        answered = _first_results(turns[place + 1]) if place + 1 < len(turns) else set()
        open_ = [call for call in before if call not in answered]
        if open_:
            yield (
                f"messages.{called[-1][0]}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(open_)}. Each `tool_use` block must have a corresponding `tool_result` block in the next "
                "message."
            )


def _first_results(turn: Turn) -> set[str]:
    """Results count only before anything else is said."""
    found: set[str] = set()
    for _, _, block in turn.blocks:
        if block["type"] != "tool_result":
            break
        found.add(block["tool_use_id"])
    return found


def _results(turn: Turn, called: Collection[str]) -> Iterator[str]:
    seen: set[str] = set()
    for index, inner, block in turn.blocks:
        if block["type"] != "tool_result":
            continue
        call = block["tool_use_id"]
        if call not in called:
            yield (
                f"messages.{index}.content.{inner}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call in seen:
            yield (
                f"messages.{index}.content.{inner}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {call}"
            )
        seen.add(call)


def _end(content: object) -> str:
    if isinstance(content, list):
        last = content[-1] if content else {}
        return str(last.get("text", ""))
    return str(content)
