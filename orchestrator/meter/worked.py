"""The responses of a worker's attempt, or of a review, measured as they come or from the transcript: both are equal."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache

from ...memory.tokens import estimate
from ...subagents.messages import BadMessage, Block, Message, Opaque, Text, ToolResult, ToolUse, parse_message
from ...subagents.model import LostCall, ModelReply
from ..chat.prompt import scaled
from ..tasks.transcript import Spent, lost_of, reply_of
from .measured import Measured
from .miss import TOOLS, Sent, missed
from .response import Response

READERS = frozenset({"read_card", "read_input", "search"})
"""A worker's tools whose results are counted as layer E."""

Line = Mapping[str, object]


def responses(lines: Sequence[Line]) -> tuple[Response, ...]:
    """What was asked and paid in a transcript, in order; replies that were used again are none of it."""
    talk = Talk(lines[0] if lines else {})
    for line in lines:
        match line:
            case {"kind": "request", "messages": list(messages)}:
                talk.goes_on(messages)
            case {"kind": "reply", "reused": reused} if (reply := reply_of(line)) is not None:
                talk.replied(reply, str(line.get("at", "")), reused=reused is not False)
            case {"kind": "lost"} if (lost := lost_of(line)) is not None:
                talk.lost(lost)
            case _:
                continue
    return tuple(talk.responses)


def spent_on(found: Iterable[Response]) -> Spent:
    """What was used and has to be paid for responses together."""
    spent = Spent()
    for one in found:
        spent = spent.with_lost(one) if one.lost else spent.with_reply(one)
    return spent


class Talk:
    """A conversation as it grows, with the tokens of its layers, and what was asked and paid in it.

    `first` is the first line of its transcript, of which many that are the same object are weighed once.
    """

    def __init__(self, first: Line) -> None:
        self.responses: list[Response] = []
        layers, parts = _begun(_Same(first))
        self._layers = dict(layers)
        self._parts: list[tuple[str, object]] = [*parts]
        self._readers: set[str] = set()
        self._before: Sent | None = None

    def goes_on(self, messages: Sequence[object]) -> None:
        """The worker adds messages."""
        for plain in messages:
            try:
                self.add(parse_message(plain if isinstance(plain, dict) else {}))
            except BadMessage:
                continue

    def add(self, message: Message) -> None:
        """A message belongs to the conversation from now on."""
        for block in message.content:
            self._parts.append(("C", (message.role, block)))
            layer, tokens = self._weighed(block)
            self._layers[layer] = self._layers.get(layer, 0) + tokens

    def replied(self, reply: ModelReply, at: str, *, reused: bool) -> None:
        """The model's words; those that are used again are no response, but belong to the conversation."""
        measured = self._measured(reply, at)
        if not reused:
            call = len(self.responses) + 1
            self.responses.append(Response(call, reply.usage, reply.cost_usd, reply.model, at, measured=measured))
        self.add(reply.message)

    def lost(self, lost: LostCall) -> None:
        """A call that gave no whole reply."""
        self.responses.append(Response(len(self.responses) + 1, lost.usage, lost.cost_usd, lost=True))

    def _measured(self, reply: ModelReply, at: str) -> Measured:
        """What there is to tell of a reply to all that was said before."""
        sent = Sent(
            model=reply.model,
            parts=tuple(self._parts),
            layers=scaled(self._layers, reply.usage.prompt_total),
            usage=reply.usage,
            cost_usd=reply.cost_usd,
            at=_seconds(at),
        )
        miss = missed(self._before, sent, least=reply.least or None, said=reply.miss)
        self._before = sent
        layers = {name: tokens for name, tokens in sent.layers.items() if tokens > 0}
        return Measured(layers, tuple(use.name[:64] for use in reply.message.tool_uses), miss)

    def _weighed(self, block: Block) -> tuple[str, int]:
        match block:
            case Text(text=text):
                return "C", estimate(text)
            case ToolUse(id=id_, name=name, input=given):
                if name in READERS:
                    self._readers.add(id_)
                return "C", estimate(f"{name} {given}")
            case ToolResult(tool_use_id=id_, content=text):
                return ("E" if id_ in self._readers else "C"), estimate(text)
            case Opaque(raw=raw):
                return "C", estimate(str(raw))


class _Same:
    """A line that is known again by being itself, since it is too long to be compared with others."""

    def __init__(self, line: Line) -> None:
        self.line = line

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.line is self.line

    def __hash__(self) -> int:
        return id(self.line)


@lru_cache(maxsize=16)
def _begun(first: _Same) -> tuple[Mapping[str, int], Sequence[tuple[str, object]]]:
    """Estimated tokens of the layers, and the parts, of what stands before a conversation; many begin with one line."""
    system, tools = first.line.get("system"), first.line.get("tools")
    texts = tuple(map(str, system)) if isinstance(system, list) else ()
    layers = {"B": estimate(json.dumps(tools, sort_keys=True))}
    for text in texts:
        layers[layer_of(text)] = layers.get(layer_of(text), 0) + estimate(text)
    return layers, ((TOOLS, tools), *((layer_of(text), text) for text in texts))


def layer_of(block: str) -> str:
    """The layer of a block of a sub-agent's prompt: what all share, the indexes, or its own definition."""
    if block.startswith("<agent id="):
        return "A"
    return "I" if block.startswith(('<file path="projects/_index.md"', '<file path="research/_index.md"')) else "B"


def _seconds(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None
