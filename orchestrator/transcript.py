"""transcript.jsonl of an attempt: the conversation line by line, each synced before it was acted upon.

{"kind": "prefix", …}    model, system blocks, tools and limits as sent; the first line
{"kind": "request", …}   what the worker added to the conversation, and the hash of the whole request
{"kind": "reply", …}     what the model said, with its usage; `reused` when an earlier attempt had asked the same
{"kind": "tool", …}      a tool that the orchestrator answered, and the files that it showed
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..subagents.messages import BadMessage, Message, block_dict, parse_blocks, parse_message
from ..subagents.model import ModelReply, Usage
from .premises import append_line

VERSION = 1
INPUTS = "inputs/"


def write_line(path: Path, line: Mapping[str, object]) -> None:
    """Adds a line, synced when this returns."""
    append_line(path, json.dumps({"v": VERSION, **line}, ensure_ascii=False))


def stored_replies(transcripts: Iterable[Path]) -> dict[str, ModelReply]:
    """Replies in earlier transcripts by the hash of their request, the latest of equals; torn lines are passed over."""
    found: dict[str, ModelReply] = {}
    for path in transcripts:
        for line in read_transcript(path):
            if line.get("kind") == "reply" and (reply := _reply_of(line)) is not None:
                found[str(line.get("request"))] = reply
    return found


def shows_inputs(transcript: Path) -> bool:
    """Whether the attempt saw anything of the task's inputs, by its own reading or in a search."""
    for line in read_transcript(transcript):
        match line:
            case {"kind": "tool", "shown": list(paths)} if any(str(path).startswith(INPUTS) for path in paths):
                return True
            case {"kind": "reply", "content": list(blocks)} if any(
                isinstance(b, dict) and b.get("type") == "tool_use" and b.get("name") == "read_input" for b in blocks
            ):
                return True
    return False


def read_transcript(path: Path) -> tuple[Mapping[str, object], ...]:
    """The lines of a transcript that can be read; () when there is none."""
    try:
        text = path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return ()
    lines: list[Mapping[str, object]] = []
    for line in text.split("\n"):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("v") == VERSION:
            lines.append(value)
    return tuple(lines)


def stored_messages(path: Path) -> tuple[Message, ...]:
    """The conversation in a transcript, for people and tests."""
    found: list[Message] = []
    for line in read_transcript(path):
        try:
            if line.get("kind") == "request" and isinstance(messages := line.get("messages"), list):
                found += [parse_message(m) for m in messages]
            elif line.get("kind") == "reply" and (reply := _reply_of(line)) is not None:
                found.append(reply.message)
        except BadMessage:
            continue
    return tuple(found)


def reply_dict(reply: ModelReply) -> dict[str, object]:
    return {
        "content": [block_dict(block) for block in reply.content],
        "stop_reason": reply.stop_reason,
        "usage": {
            "input": reply.usage.input,
            "cache_write": reply.usage.cache_write,
            "cache_read": reply.usage.cache_read,
            "output": reply.usage.output,
        },
        "model": reply.model,
    }


def _reply_of(line: Mapping[str, object]) -> ModelReply | None:
    match line:
        case {
            "content": list(content),
            "stop_reason": str(stop_reason),
            "usage": {"input": int(i), "cache_write": int(w), "cache_read": int(r), "output": int(o)},
            "model": str(model),
        }:
            try:
                return ModelReply(parse_blocks(content), stop_reason, Usage(i, w, r, o), model)
            except BadMessage:
                return None
    return None
