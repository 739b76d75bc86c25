"""transcript.jsonl of an attempt: the conversation line by line, each reply synced before it was acted upon.

{"kind": "prefix", …}    model, system blocks, tools and limits as sent; the first line
{"kind": "request", …}   what the worker added to the conversation, and the hash of the whole request
{"kind": "reply", …}     what the model said, its usage and cost; `reused` when an earlier attempt had asked the same
{"kind": "lost", …}      a call that gave no whole reply: why, and what of it has to be paid as far as that is known
{"kind": "tool", …}      a tool that the orchestrator answered, and the files that it showed
{"kind": "afresh", …}    nothing of what was said before counts any more: why
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ...memory.exam.records import is_record
from ...memory.fence import inside
from ...subagents.messages import BadMessage, Message, block_dict, parse_blocks, parse_message
from ...subagents.model import LostCall, Miss, ModelReply, Usage

if TYPE_CHECKING:
    from ..meter.response import Response

VERSION = 1
_JSON = json.JSONEncoder(ensure_ascii=False)
INPUTS = "inputs/"
_FIRST = f'{{"v": {VERSION}, "kind": "prefix"'
_PAGE = re.compile(r"([^\n]*), lines \d+-\d+ of \d+\n")
REFUSAL = "refusal"
"""The API's word for a reply by which a model refuses to go on."""


@dataclass(frozen=True)
class Spent:
    """What calls used and cost: `cost_usd` is None as soon as one of them has no known price.

    `responses` are the calls one by one, where who made them measured them.
    """

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    lost: int = 0
    responses: "tuple[Response, ...]" = field(default=(), compare=False)

    def with_reply(self, reply: "Paid") -> "Spent":
        return Spent(self.usage + reply.usage, _sum(self.cost_usd, reply.cost_usd), self.lost)

    def with_lost(self, lost: "Paid") -> "Spent":
        return Spent(self.usage + lost.usage, _sum(self.cost_usd, lost.cost_usd), self.lost + 1)


class Paid(Protocol):
    """Whatever has to be paid."""

    @property
    def usage(self) -> Usage: ...

    @property
    def cost_usd(self) -> float | None: ...


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def rendered(line: Mapping[str, object]) -> str:
    """A line as it is written, without the line end."""
    return _JSON.encode({"v": VERSION, **line})


@dataclass(frozen=True)
class Traces:
    """What a transcript tells of what an attempt may have read: `shown` are paths of cards and inputs as it cites them.

    `ran` is whether it called for a command; what one printed doesn't say what it had read.
    """

    shown: tuple[str, ...] = ()
    ran: bool = False


def traces_in(transcript: Path) -> Traces:
    """What was shown by searches and by the attempt's own reading, and whether it called for commands."""
    lines = read_transcript(transcript, _perhaps_traces)
    return Traces(tuple(dict.fromkeys(_shown(lines))), _calls(lines, "run_command"))


def _calls(lines: Iterable[Mapping[str, object]], tool: str) -> bool:
    return any(
        line.get("kind") == "reply"
        and any(
            isinstance(block, dict) and block.get("type") == "tool_use" and block.get("name") == tool
            for block in _list(line.get("content"))
        )
        for line in lines
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _shown(lines: Iterable[Mapping[str, object]]) -> Iterator[str]:
    for line in lines:
        match line:
            case {"kind": "tool", "shown": list(paths)}:
                yield from map(str, paths)
            case {"kind": "request", "messages": list(messages)}:
                for message in messages:
                    for block in message.get("content", ()) if isinstance(message, dict) else ():
                        content = block.get("content") if isinstance(block, dict) else None
                        if isinstance(content, str) and (page := _PAGE.match(inside(content))) is not None:
                            yield page[1]


def is_whole(transcript: Path) -> bool:
    """Whether everything that was written to a transcript can be read, but for a last line that a crash cut short."""
    try:
        data = transcript.read_bytes()
    except FileNotFoundError:
        return False
    ended = data.decode(errors="replace").split("\n")[:-1]
    return bool(ended) and all(map(is_record, filter(None, ended)))


def has_begun(transcript: Path) -> bool:
    """Whether its first line was written to its end."""
    return b"\n" in transcript.read_bytes()


def _perhaps_traces(line: str) -> bool:
    """Whether a line is worth a look; the first line, by far the longest, has the words and tells nothing."""
    if line.startswith(_FIRST):
        return False
    return '"shown"' in line or ", lines " in line or '"run_command"' in line


def read_transcript(path: Path, wanted: Callable[[str], bool] = bool) -> tuple[Mapping[str, object], ...]:
    """The lines of a transcript that can be read, of those that are `wanted`; () when there is none."""
    try:
        text = path.read_bytes().decode(errors="replace")
    except FileNotFoundError:
        return ()
    lines: list[Mapping[str, object]] = []
    for line in filter(wanted, text.split("\n")):
        try:
            value = _prefix(line) if line.startswith(_FIRST) else json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("v") == VERSION:
            lines.append(value)
    return tuple(lines)


@lru_cache(maxsize=16)
def _prefix(line: str) -> object:
    """The first line of a transcript, read once: by far the longest, and the same in many."""
    return json.loads(line)


def stored_messages(path: Path) -> tuple[Message, ...]:
    """The conversation in a transcript, for people and tests."""
    found: list[Message] = []
    for line in read_transcript(path):
        try:
            if line.get("kind") == "request" and isinstance(messages := line.get("messages"), list):
                found += [parse_message(m) for m in messages]
            elif line.get("kind") == "reply" and (reply := reply_of(line)) is not None:
                found.append(reply.message)
        except BadMessage:
            continue
    return tuple(found)


def reply_dict(reply: ModelReply) -> dict[str, object]:
    return {
        "content": [block_dict(block) for block in reply.content],
        "stop_reason": reply.stop_reason,
        "usage": vars(reply.usage),
        "cost_usd": reply.cost_usd,
        "model": reply.model,
        **({"details": reply.details} if reply.details else {}),
        **({"id": reply.id} if reply.id else {}),
        **({"miss": vars(reply.miss)} if reply.miss is not None else {}),
        **({"least": reply.least} if reply.least else {}),
    }


def lost_dict(lost: LostCall) -> dict[str, object]:
    return {"reason": lost.reason, "usage": vars(lost.usage), "cost_usd": lost.cost_usd}


def reply_of(line: Mapping[str, object]) -> ModelReply | None:
    match line:
        case {
            "content": list(content),
            "stop_reason": str(stop_reason),
            "usage": dict(usage),
            "model": str(model),
        }:
            try:
                return ModelReply(
                    parse_blocks(content),
                    stop_reason,
                    _usage_of(usage),
                    model,
                    _cost_of(line),
                    str(line.get("details", "")),
                    id=str(line.get("id", "")),
                    miss=_miss_of(line.get("miss")),
                    least=least if isinstance(least := line.get("least"), int) else 0,
                )
            except (BadMessage, TypeError):
                return None
    return None


def _miss_of(stored: object) -> Miss | None:
    match stored:
        case {"reason": str(reason), **more}:
            tokens = more.get("tokens")
            return Miss(reason, tokens if isinstance(tokens, int) else None)
    return None


def lost_of(line: Mapping[str, object]) -> LostCall | None:
    match line:
        case {"reason": str(reason), "usage": dict(usage)}:
            try:
                return LostCall(reason, _usage_of(usage), _cost_of(line))
            except TypeError:
                return None
    return None


def _usage_of(stored: Mapping[str, object]) -> Usage:
    """Raises TypeError for what is no usage."""
    if not all(isinstance(count, int) for count in stored.values()):
        raise TypeError("a usage is made of whole numbers")
    return Usage(**stored)  # type: ignore[arg-type]


def _cost_of(line: Mapping[str, object]) -> float | None:
    cost = line.get("cost_usd", 0.0)
    return float(cost) if isinstance(cost, int | float) else None
