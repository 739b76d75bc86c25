"""Puts the chats of a space together from what a service has: its desk, its models, its other hands."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from ...memory.follow import Followed
from ...memory.workspace import Space
from ...subagents.model import Listener, ModelReply, ModelRequest, OnLost
from ..gateway.account import Account, Amount, Caps
from ..gateway.ledger import prompt_tokens
from ..requests import DelegateRequest, Notice, OnEvent
from ..results import DelegateResult, DraftsResult, DraftView
from ..settings.announce import announced, never_paid
from ..settings.caps import caps_in_force
from ..settings.choice import model_of
from ..settings.models import Models, Served
from ..settings.trust import InForce
from ..tasks.desk import Desk
from ..tasks.naming import Ids, free_task
from ..tasks.workshop import Workshop
from .booking import book_turn
from .house import House, OnMade
from .prompt import MAIN
from .said import Heard
from .session import Session
from .talk import Line, Talk, main_definition
from .turn import Ask


class Service(Protocol):
    """What of a service the tools of a chat use; `only` and `first` say where ids are looked up."""

    def drafts(self, client: str | None = None) -> DraftsResult: ...
    def look(self, prefix: str, *, note: bool = True) -> DraftView: ...


@dataclass(frozen=True)
class Hands:
    """Work for sub-agents, on the service's workshop and with the request's own settings."""

    delegate: Callable[[DelegateRequest, OnMade], Awaitable[DelegateResult]]
    resume: Callable[[str], Awaitable[DelegateResult]]


def talk_of(
    space: Space,
    desk: Desk,
    service: Service,
    hands: Hands,
    ids: Ids,
    workshop: Workshop,
    models: Models,
    force: InForce,
    on_event: OnEvent,
    budget_usd: float | None = None,
) -> Talk:
    """The chats of `space`, as one request has them: its models, its caps, its listener."""

    def connect(session: Session | None, asked: str | None) -> Line:
        name = model_of(force.setup, asked, None, space.client) if asked or session is None else session.model
        served = models(name, main_definition(), space.client)
        limits = desk.view.workspace.settings.limits
        caps = caps_in_force(limits, force.setup.caps, raised=force.raised, budget_usd=budget_usd)

        def ask(chat: Session) -> Ask:
            account = _account(space, chat, caps)
            first = account.spent == Amount() and not served.free and never_paid(desk.view.workspace.spaces())
            return _ask(workshop, served, account, on_event, announce=first)

        return Line(name, ask)

    house = House(
        view=desk.view,
        space=space,
        desk=desk,
        clock=desk.clock,
        history=workshop.histories.setdefault(space.prefix, Followed(space)),
        new_task=lambda: free_task(desk.view.workspace.spaces(), ids),
        drafts=lambda: service.drafts(space.client),
        look=lambda prefix: service.look(prefix, note=False),
        delegate=hands.delegate,
        resume=hands.resume,
        talked=workshop.talked,
        heard=workshop.heard.setdefault(space.prefix, Heard()),
        renewing=workshop.renewing,
    )
    return Talk(house, workshop.talking, connect, lambda one: book_turn(space, one, desk.clock), ids.task)


def _account(space: Space, chat: Session, caps: Caps) -> Account:
    return Account(space.client, f"chat {chat.id}", MAIN, caps, chat.spent)


def _ask(workshop: Workshop, served: Served, account: Account, on_event: OnEvent, *, announce: bool) -> Ask:
    """How a chat asks its model; with `announce`, what that may cost is said before the first call."""
    announcing = announce

    @contextmanager
    def waiting(reason: str, seconds: float) -> Iterator[None]:
        on_event(Notice(f"waits {seconds:.0f} s: {reason}" if seconds else f"waits: {reason}"))
        yield

    async def ask(request: ModelRequest, on_lost: OnLost, listener: Listener) -> ModelReply:
        nonlocal announcing
        if announcing:
            announcing = False
            price = (await served.priced()).price
            on_event(Notice(announced(served.model.name, price, prompt_tokens(request), account.caps, "chat")))
        reply = await workshop.gateway.reply(
            served, request, account, on_lost=on_lost, waiting=waiting, listener=listener
        )
        for line in workshop.gateway.news():
            on_event(Notice(line))
        return reply

    return ask
