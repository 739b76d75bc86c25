"""The end of a turn: what it cost, by what its prompt was made of, and what is told to whoever asked."""

import re
from collections.abc import Iterator, Sequence

from ...memory.workspace import Space
from ...subagents.messages import Text
from ...subagents.model import Usage
from ..meter.response import model_of
from ..meter.talked import responses
from ..results import UsageTotals
from .answer import TurnResult
from .lines import Ended, Lost, Replied, Resulted
from .prompt import conversation_tokens, scaled
from .session import Session, messages
from .turn import Over

_PLACE = re.compile(r"\((?P<path>[^()\s:]+):(?P<line>[1-9]\d{0,8})(?:-\d+)?\)")


def ended(session: Session, number: int, over: Over, at: str) -> Ended:
    """The last line of turn `number`. A turn that got no reply, or a refusal alone, is not sent again."""
    replies = [one for one in session.lines if isinstance(one, Replied) and one.turn == number]
    lost = [one for one in session.lines if isinstance(one, Lost) and one.turn == number]
    usage, cost = Usage(), 0.0
    paid: tuple[Replied | Lost, ...] = (*replies, *lost)
    for one in paid:
        usage, cost = usage + one.usage, cost + (one.cost_usd or 0.0)
    answered = any(one.stop_reason != "refusal" for one in replies)
    estimated = {**session.prompt.layers, **conversation_tokens(messages(session))}
    return Ended(
        turn=number,
        at=at,
        stop_reason=over.stop_reason,
        calls=len(replies),
        tools=tuple(one.tool for one in session.lines if isinstance(one, Resulted) and one.turn == number),
        usage=usage,
        cost_usd=None if any(one.cost_usd is None for one in paid) else cost,
        layers=scaled(estimated, replies[-1].usage.prompt_total if replies else 0),
        dropped=not answered and over.stop_reason in {"failed", "refusal"},
        reason=over.notice,
    )


def result_of(session: Session, space: Space, model: str, seconds: float, notices: tuple[str, ...]) -> TurnResult:
    """What came of the turn with which the chat ends."""
    end = session.lines[-1]
    assert isinstance(end, Ended)
    replies = [one for one in session.lines if isinstance(one, Replied) and one.turn == end.turn]
    results = [one for one in session.lines if isinstance(one, Resulted) and one.turn == end.turn]
    said = ["".join(b.text for b in one.content if isinstance(b, Text)).strip() for one in replies]
    answer = said[-1] if said and said[-1] else "\n\n".join(text for text in said if text)
    usage, booked = end.usage, responses(session, end.turn)
    return TurnResult(
        session=session.id,
        turn=end.turn,
        answer=answer,
        stop_reason=end.stop_reason,
        sources=tuple(space.path(p) for p in _sources(answer, [place for one in results for place in one.shown])),
        tools=end.tools,
        usage=UsageTotals(usage.input, usage.cache_write, usage.cache_read, usage.output),
        cost_usd=end.cost_usd,
        layers=end.layers,
        calls=end.calls,
        commits=tuple(one.commit for one in results if one.commit),
        drafts=tuple(id_ for one in results for id_ in one.drafts),
        notices=notices,
        seconds=seconds,
        model=model_of(model, booked),
        missed=tuple(one.measured.missed for one in booked if one.measured.missed is not None),
    )


def _sources(answer: str, shown: Sequence[str]) -> Iterator[str]:
    """The places that the answer cites and that the agent was shown; without any, the cards that it read."""
    cited = dict.fromkeys((m["path"], int(m["line"])) for m in _PLACE.finditer(answer))
    found = [f"{path}:{line}" for path, line in cited if any(_holds(place, path, line) for place in shown)]
    yield from found or dict.fromkeys(p.rpartition(":")[0] for p in shown if "-" in p.rpartition(":")[2])


def _holds(place: str, path: str, line: int) -> bool:
    """Whether a place that was shown, a line or a range of them, holds this line."""
    shown, _, lines = place.rpartition(":")
    first, _, last = lines.partition("-")
    return shown == path and first.isdecimal() and int(first) <= line <= int(last or first)
