"""What a turn cost, as a line in the usage log of its space; also for a turn whose process died before its end."""

import os
from dataclasses import dataclass
from datetime import timedelta

from ...memory.clock import Clock
from ...memory.links import LinkLeadsOut
from ...memory.workspace import Space
from ...subagents.model import Usage
from ..errors import OrchestratorFault
from ..usage import Booking, book
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
    """One turn and what it cost; `lost` calls gave no whole reply."""

    session: str
    turn: int
    model: str
    usage: Usage
    cost_usd: float | None
    lost: int
    seconds: float


def booked(session: Session, end: Ended, model: str, seconds: float) -> Booked:
    """What there is to book of a turn that ended so."""
    lost = sum(1 for one in session.lines if isinstance(one, Lost) and one.turn == end.turn)
    return Booked(session.id, end.turn, model, end.usage, end.cost_usd, lost, seconds)


def book_turn(space: Space, one: Booked, clock: Clock) -> None:
    """Adds the turn's line to the usage log, unless it is there."""
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
    book(space, line, clock.now())


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
                book_turn(space, booked(session, end, session.model, 0.0), clock)
                chats.add(session, end)
                found.append(id_)
        except (OrchestratorFault, LinkLeadsOut, OSError):
            continue  # one chat that can't be read keeps no orchestrator from beginning
    return tuple(found)
