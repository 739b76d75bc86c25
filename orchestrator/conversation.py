"""The seam where a worker's model calls pass: only what extends the stored transcript is taken, and stored before use.

`transcript.jsonl` of an attempt, one line of JSON each, synced before it is acted upon:

    {"kind": "prefix", …}    model, system blocks, tools and limits as sent; the first line
    {"kind": "request", …}   what the worker added to the conversation, and the hash of the whole request
    {"kind": "reply", …}     what the model said, with its usage; `reused` when an earlier attempt had asked the same
    {"kind": "tool", …}      a tool that the orchestrator answered, and the files that it showed

Model, tools, system blocks and limits are the orchestrator's own: a worker adds user messages only, and has to answer
each tool call of the last reply exactly once.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..memory.files import append_record
from ..subagents.messages import (
    BadMessage,
    Message,
    ToolResult,
    block_dict,
    message_dict,
    parse_blocks,
    parse_message,
)
from ..subagents.model import Model, ModelReply, ModelRequest, ToolSpec, Usage
from ..subagents.pool import RequestRefused

VERSION = 1
MAX_TOKENS = 8_192
INPUTS = "inputs/"


@dataclass(frozen=True)
class Prefix:
    """What stands before a conversation: computed from the snapshot here and in the worker, compared by its hash."""

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    sha: str


class Conversation:
    """One attempt's conversation with a model.

    `stored` maps the hash of a request to the reply that an earlier attempt of the task got for it: that reply is used
    again and not paid again. `usage` counts what was asked in this attempt only.
    """

    def __init__(
        self,
        path: Path,
        model: Model,
        prefix: Prefix,
        *,
        agent: str,
        turns: int,
        stored: Mapping[str, ModelReply] | None = None,
    ) -> None:
        self._path = path
        self._model = model
        self._prefix = prefix
        self._agent = agent
        self._turns = turns
        self._stored = stored or {}
        self._messages: list[Message] = []
        self.replies = 0
        self.reused = 0
        self.usage = Usage()
        self._write(
            {
                "kind": "prefix",
                "model": prefix.model,
                "agent": agent,
                "system": list(prefix.system),
                "tools": [tool.as_dict() for tool in prefix.tools],
                "sha": prefix.sha,
                "max_tokens": MAX_TOKENS,
                "turns": turns,
            }
        )

    async def reply(self, delta: Sequence[Message], prefix_sha: str) -> ModelReply:
        """The model's next words; raises RequestRefused for anything but the continuation of this conversation."""
        if prefix_sha != self._prefix.sha:
            raise RequestRefused("the prefix is not the one that this attempt started with")
        if self.replies >= self._turns:
            raise RequestRefused(f"the limit of {self._turns} model calls is reached")
        reason = not_an_extension(self._messages, delta)
        if reason is not None:
            raise RequestRefused(reason)
        messages = (*self._messages, *delta)
        request = ModelRequest(
            model=self._prefix.model,
            system=self._prefix.system,
            tools=self._prefix.tools,
            messages=messages,
            max_tokens=MAX_TOKENS,
            agent=self._agent,
        )
        sha = request.sha()
        self._write({"kind": "request", "sha": sha, "messages": [message_dict(m) for m in delta]})
        self._messages = list(messages)
        known = self._stored.get(sha)
        answer = known if known is not None else await self._model.reply(request)
        self._write({"kind": "reply", "request": sha, "reused": known is not None, **_reply_dict(answer)})
        if known is None:
            self.usage = self.usage + answer.usage
        else:
            self.reused += 1
        self.replies += 1
        self._messages.append(answer.message)
        return answer

    def note_tool(self, name: str, given: Mapping[str, object], content: str, shown: Iterable[str]) -> None:
        """Stores what the orchestrator itself answered, and which files the answer showed."""
        self._write({"kind": "tool", "name": name, "input": dict(given), "content": content, "shown": sorted(shown)})

    def _write(self, line: Mapping[str, object]) -> None:
        append_record(self._path, json.dumps({"v": VERSION, **line}, ensure_ascii=False))


def not_an_extension(messages: Sequence[Message], delta: Sequence[Message]) -> str | None:
    """Why `delta` doesn't continue the conversation; None when it does."""
    if not delta or not any(m.content for m in delta):
        return "a request brings at least one new message"
    if any(m.role != "user" for m in delta):
        return "a worker adds messages of the user's side only"
    results = [b for m in delta for b in m.content if isinstance(b, ToolResult)]
    if any(not isinstance(b, ToolResult) and b.type == "tool_use" for m in delta for b in m.content):
        return "a worker can't call tools in the model's name"
    wanted = [use.id for use in messages[-1].tool_uses] if messages else []
    given = [result.tool_use_id for result in results]
    if sorted(given) != sorted(wanted):
        return f"the last reply called {len(wanted)} tools; each has to be answered exactly once"
    return None


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


def _reply_dict(reply: ModelReply) -> dict[str, object]:
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
