"""What earlier attempts of a task have said and done, to be used again by one that goes on: nothing is paid twice.

Pure but for reading the transcripts. A reply is known by the hash of its request, so it is used again only where all
that came before is the same.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...subagents.messages import BadMessage, ToolResult, ToolUse, parse_message
from ...subagents.model import ModelReply
from .transcript import REFUSAL, read_transcript, reply_of

Asked = tuple[str, str]
"""A question to the orchestrator's own tool: the hash of the request whose reply it followed on, and what was asked."""


@dataclass(frozen=True)
class Stored:
    """What earlier attempts of a task have: replies by the hash of their request, and which request followed which.

    A reply's `done` are the results of its commands, and of its drafts of files that commands made: none is made twice.
    `found` are answers of the orchestrator's own tool, with the places that they show: memory may have changed since,
    and whoever was told something else now would ask for all that follows again, and pay for it.
    """

    replies: Mapping[str, ModelReply] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    found: Mapping[Asked, tuple[str, tuple[str, ...]]] = field(default_factory=dict)

    def chain(self, first: str) -> Iterator[ModelReply]:
        """The replies that an attempt which begins with request `first` will be given, if it does as those before."""
        sha: str | None = first
        seen: set[str] = set()
        while sha is not None and sha not in seen and (reply := self.replies.get(sha)) is not None:
            yield reply
            seen.add(sha)
            sha = self.after.get(sha)


def stored_replies(transcripts: Iterable[Path]) -> dict[str, ModelReply]:
    """Replies in earlier transcripts by the hash of their request, the latest of equals; torn lines are passed over.

    A refusal is not among them: who resumes the task wants the model to be asked again.
    """
    return dict(stored(transcripts).replies)


def stored(transcripts: Iterable[Path]) -> Stored:
    """The same with what followed on each; what stands before a line "afresh" is of no use any more."""
    replies: dict[str, ModelReply] = {}
    after: dict[str, str] = {}
    found: dict[Asked, tuple[str, tuple[str, ...]]] = {}
    for path in transcripts:
        last = ""
        for line in read_transcript(path):
            match line:
                case {"kind": "afresh"}:
                    replies, after, found, last = {}, {}, {}, ""
                case {"kind": "request", "sha": str(sha), "messages": list(messages)} if last:
                    after[last] = sha
                    replies[last] = replace(replies[last], done=_made_by(replies[last], messages))
                    last = ""
                case {"kind": "tool", "input": dict(given), "content": str(content), "shown": list(shown)} if last:
                    if not line.get("is_error"):
                        found[last, asked_for(given)] = content, tuple(map(str, shown))
                case {"kind": "reply", "request": str(sha)}:
                    reply = None if line.get("stop_reason") == REFUSAL else reply_of(line)
                    last = "" if reply is None else sha
                    if reply is not None:
                        known = replies.get(sha)
                        same = known is not None and known.content == reply.content
                        replies[sha] = replace(reply, done=known.done) if known is not None and same else reply
    return Stored(replies, after, found)


def asked_for(given: Mapping[str, object]) -> str:
    """What a tool is asked, such that equal questions are equal texts."""
    return json.dumps(given, sort_keys=True)


def _made_by(reply: ModelReply, messages: Sequence[object]) -> tuple[ToolResult, ...]:
    """The results, among messages that follow on a reply, of calls of it that must not be made again."""
    kept = {use.id for use in reply.message.tool_uses if is_of_commands(use)}
    try:
        read = [parse_message(message) for message in messages if isinstance(message, dict)]
    except BadMessage:
        return ()
    blocks = (block for message in read for block in message.content)
    return tuple(block for block in blocks if isinstance(block, ToolResult) and block.tool_use_id in kept)


def is_of_commands(use: ToolUse) -> bool:
    """Whether a call runs a command, or drafts a file that one made."""
    given = use.input if isinstance(use.input, dict) else {}
    return use.name == "run_command" or (use.name == "write_draft" and given.get("file") is not None)
