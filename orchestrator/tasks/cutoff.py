"""Books the model calls that were out when their process was killed, each once and with the most it may have cost."""

from ...memory import files
from ...memory.clock import Clock
from ...memory.links import LinkLeadsOut
from ...memory.workspace import Workspace
from ...subagents.model import Usage
from ..book import book
from ..gateway.ledger import MAIN
from ..gateway.outstanding import Out, left_behind
from ..usage import Booking


def book_cut_off(workspace: Workspace, clock: Clock) -> tuple[str, ...]:
    """What a person should know of it; call it with the pen held. A file that can't be booked now stays for later."""
    spaces = {space.client: space for space in workspace.spaces()}
    told: list[str] = []
    for path, calls in left_behind(workspace.root):
        try:
            for call in calls:
                if (space := next((s for client, s in spaces.items() if client == call.client), None)) is not None:
                    book(space, _booking(call), clock.now())
            files.remove(path)
        except (OSError, LinkLeadsOut):
            continue
        told += [_told(calls)] if calls else []
    return tuple(told)


def _booking(call: Out) -> Booking:
    """What has no price counts by its tokens."""
    priced = not call.most.tokens
    talk = call.agent == MAIN
    return Booking(
        task="" if talk else call.purse,
        attempt=0,
        agent=call.agent,
        model=call.model,
        usage=Usage() if priced else Usage(input=call.most.tokens),
        cost_usd=call.most.usd if priced else None,
        role="cut",
        k=call.number,
        lost=1,
        chat=call.purse if talk else "",
    )


def _told(calls: tuple[Out, ...]) -> str:
    usd, tokens = sum(call.most.usd for call in calls), sum(call.most.tokens for call in calls)
    most = " and ".join(part for part in (f"${usd:.4f}" if usd else "", f"{tokens:,} tokens" if tokens else "") if part)
    what = "1 model call was" if len(calls) == 1 else f"{len(calls)} model calls were"
    return f"{what} out when onepen was ended; booked with the most that it may have cost, {most or 'nothing'}"
