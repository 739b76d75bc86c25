"""What a turn cost, as a line in the usage log of its space; also for a turn whose process died before its end."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from ...memory.clock import Clock
from ...memory.links import LinkLeadsOut
from ...memory.workspace import Space
from ...subagents.model import Usage
from ..book import book_all, record
from ..errors import OrchestratorFault
from ..meter.response import Response, model_of
from ..meter.talked import responses
from ..usage import Booking
from .lines import Ended, Lost
from .prompt import MAIN
from .repair import unended
from .session import Session
from .store import Chats
from .tally import ended
from .turn import Over

CUT = Over("interrupted", "onepen ended")


@dataclass(frozen=True)
class Booked:
    """One turn and what it cost; `lost` calls gave no whole reply.

    `again`: it may have been booked before, in part or as a whole, by a process that died. `begun` is when the chat
    was begun.
    """

    session: str
    turn: int
    model: str
    usage: Usage
    cost_usd: float | None
    lost: int
    seconds: float
    responses: tuple[Response, ...] = ()
    again: bool = False
    begun: str = ""


def booked(session: Session, end: Ended, model: str, seconds: float, *, again: bool = False) -> Booked:
    """What there is to book of a turn that ended so."""
    lost = sum(1 for one in session.lines if isinstance(one, Lost) and one.turn == end.turn)
    found = responses(session, end.turn)
    return Booked(
        session.id,
        end.turn,
        model_of(model, found),
        end.usage,
        end.cost_usd,
        lost,
        seconds,
        found,
        again,
        session.begun.at,
    )


def book_turn(space: Space, one: Booked, clock: Clock) -> None:
    """Adds a line for each response of the turn to the usage log, of those that are not there."""
    if one.again:
        book_all(space, _lines(one), clock.now(), one.begun)
    else:
        record(space, _lines(one), clock.now())


def _lines(one: Booked) -> Iterator[Booking]:
    """A line for each response, and one for a turn that got none; what the turn took of time stands in the last."""
    line = Booking(
        task="",
        attempt=0,
        agent=MAIN,
        model=one.model,
        usage=one.usage,
        cost_usd=one.cost_usd,
        seconds=one.seconds,
        role="main",
        lost=one.lost,
        chat=one.session,
        turn=one.turn,
    )
    if not one.responses:
        yield line
    for response in one.responses:
        yield replace(
            line,
            call=response.call,
            usage=response.usage,
            cost_usd=response.cost_usd,
            seconds=one.seconds if response is one.responses[-1] else 0.0,
            lost=int(response.lost),
            measured=response.measured,
            at=response.at,
        )


def end_cut_turns(space: Space, clock: Clock, recent: timedelta) -> tuple[str, ...]:
    """Ends and books the turns that their process left without an end, in chats used lately; the chats' ids."""
    since = (clock.now() - recent).timestamp()
    found: list[str] = []
    chats = Chats(space)
    try:
        ids = [id_ for id_ in chats.ids() if os.lstat(space.root / chats.shown(id_)).st_mtime >= since]
    except (LinkLeadsOut, OSError):
        return ()
    for id_ in ids:
        try:
            session, _ = chats.load(id_)
            if (number := unended(session)) is not None:
                end = ended(session, number, CUT, clock.now().isoformat(timespec="seconds"))
                book_turn(space, booked(session, end, session.model, 0.0, again=True), clock)
                chats.add(session, end)
                found.append(id_)
        except (OrchestratorFault, LinkLeadsOut, OSError):
            continue  # one chat that can't be read keeps no orchestrator from beginning
    return tuple(found)
