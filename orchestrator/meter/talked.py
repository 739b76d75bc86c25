"""The responses of a chat's turn, measured from the lines of its file: told again, they are the same."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from ...memory.tokens import estimate
from ...subagents.messages import ToolUse
from ...subagents.model import Caching
from ..chat.lines import Asked, Lost, Renewed, Replied, Resulted
from ..chat.prompt import conversation_tokens, scaled
from ..chat.session import Session, messages
from .measured import Measured, Missed
from .miss import TOOLS, Sent, missed, too_short
from .response import Response

LARGE = 1_000
"""Tokens of a card from which on one section of it is worth asking for."""

_CARD = re.compile(r"(?:projects|research)/[^/:]+\.md")
_SECTION = re.compile(r"^ *\d+\+?\t## ", re.MULTILINE)


def responses(session: Session, turn: int) -> tuple[Response, ...]:
    """The responses of one turn, calls that gave no whole one included."""
    found: list[Response] = []
    before: Sent | None = None
    asked, renewed = "", False
    results = {line.call: line for line in session.lines if isinstance(line, Resulted)}
    latest = _latest_before(session, turn)
    for k, line in enumerate(session.lines):
        if isinstance(line, Asked):
            asked = line.at
        elif isinstance(line, Renewed):
            renewed = True
        elif isinstance(line, Lost) and line.turn == turn:
            found.append(Response(len(found) + 1, line.usage, line.cost_usd, lost=True))
        elif isinstance(line, Replied):
            if k == latest or line.turn == turn:
                sent = _sent(session, k, line, asked)
                if line.turn == turn:
                    miss = missed(before, sent, least=line.least or None, said=line.miss, renewed=renewed)
                    found.append(_response(len(found) + 1, line, sent, miss, results))
                before = sent
            asked, renewed = "", False
    return tuple(found)


def _latest_before(session: Session, turn: int) -> int | None:
    """Where the last reply before this turn stands."""
    earlier = [k for k, line in enumerate(session.lines) if isinstance(line, Replied) and line.turn < turn]
    return earlier[-1] if earlier else None


def _sent(session: Session, k: int, reply: Replied, asked: str) -> Sent:
    """The request to which the line `k` is the reply; `asked` is when the person said what began it, "" for no one."""
    so_far = replace(session, lines=session.lines[:k])
    conversation, prompt = messages(so_far), so_far.prompt
    blocks = [("C", (message.role, block)) for message in conversation for block in message.content]
    system = zip(prompt.parts or ("B",) * len(prompt.system), prompt.system, strict=True)
    return Sent(
        model=reply.model,
        parts=((TOOLS, prompt.tools), *system, *blocks),
        layers=scaled({**prompt.layers, **conversation_tokens(conversation)}, reply.usage.prompt_total),
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        at=_seconds(asked or reply.at),
        caching=reply.caching or Caching(()),
    )


def _response(call: int, line: Replied, sent: Sent, miss: Missed | None, results: Mapping[str, Resulted]) -> Response:
    uses = [block for block in line.content if isinstance(block, ToolUse)]
    names = [name for name, _ in sent.parts if name != TOOLS]
    marked = [names[end] for end in sent.caching.ends if end < len(names) and names[end] != "C"]
    measured = Measured(
        layers={name: tokens for name, tokens in sent.layers.items() if tokens > 0},
        tools=tuple(use.name[:64] for use in uses),
        missed=miss,
        whole=dict(_whole(uses, results)),
        short=too_short(sent.layers, marked, line.least),
    )
    return Response(call, line.usage, line.cost_usd, line.model, line.at, measured=measured)


def _whole(uses: list[ToolUse], results: Mapping[str, Resulted]) -> Iterator[tuple[str, int]]:
    """The cards that calls had shown as a whole though they are large and have sections, with their tokens."""
    for use in uses:
        result = results.get(use.id)
        if use.name != "read_card" or result is None:
            continue
        card = next((m[0] for place in result.shown if (m := _CARD.match(place)) is not None), None)
        if card is None or result.is_error or len(_SECTION.findall(result.content)) < 2:
            continue
        tokens = estimate(result.content)
        if tokens >= LARGE:
            yield card, tokens


def _seconds(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return None
