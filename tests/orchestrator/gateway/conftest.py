"""A gateway whose waits take no time, and what was told while it called."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import anthropic  # noqa: F401 - a second of work, which no call here is to be charged for
import anyio
import pytest

from onepen.orchestrator.gateway.account import Account, Caps
from onepen.orchestrator.gateway.claude import Claude
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.settings.setup import Profile, Secret
from onepen.subagents.messages import Message, Text, user
from onepen.subagents.model import LostCall, ModelReply, ModelRequest
from onepen.testing.clock import FixedClock
from onepen.testing.messages_api import MessagesApi

PRICE = Price(input=3.0, cache_write=3.75, cache_read=0.3, output=15.0)


@dataclass
class Told:
    """Hears a reply as a person would; `lines` has each piece."""

    lines: list[str] = field(default_factory=list)

    def text(self, words: str) -> None:
        self.lines.append(words)

    def broke_off(self, reason: str) -> None:
        self.lines.append(f"[broke off: {reason}]")


@dataclass
class Calls:
    """Calls one after the other to a double; keeps what was lost, waited for and noticed."""

    api: MessagesApi
    profile: Profile
    price: Price | None = PRICE
    lost: list[LostCall] = field(default_factory=list)
    waits: list[tuple[str, float]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    told: Told = field(default_factory=Told)
    nap: float = 0.0

    def __call__(self, *requests: ModelRequest, model: str = "claude-sonnet-5-5", **changes: Any) -> list[ModelReply]:
        """The replies to these requests, or to a small one; raises what the gateway raises."""
        wanted = requests or (request(),)
        served = replace(Served(Claude(self.profile, model), self.price), **changes)

        async def all_of_them() -> list[ModelReply]:
            gateway = Gateway(
                clock=FixedClock("2026-11-29T09:30:00+01:00"),
                random=lambda: 0.5,
                sleep=lambda seconds: anyio.sleep(self.nap),
                notice=self.notices.append,
            )
            chosen = replace(served, model=Claude(self.profile, model, gateway.clients))
            try:
                return [
                    await gateway.reply(
                        chosen, r, ACCOUNT, on_lost=self.lost.append, waiting=self.waiting, listener=self.told
                    )
                    for r in wanted
                ]
            finally:
                await gateway.close()

        return anyio.run(all_of_them)

    @contextmanager
    def waiting(self, reason: str, seconds: float) -> Iterator[None]:
        self.waits.append((reason, seconds))
        yield


ACCOUNT = Account(None, "qw3cm1gk", "researcher", Caps(task_usd=10.0, day_tokens=1_000_000))

MakeCalls = Callable[..., Calls]


def nobody_waits(reason: str, seconds: float) -> AbstractContextManager[None]:
    return nullcontext()


def request(*messages: Message, text: str = "Say hello.", **changes: Any) -> ModelRequest:
    made = ModelRequest(
        "sonnet", ("You are short.\n", "You know pots.\n"), (), messages or (user(Text(text)),), 200, "researcher"
    )
    return replace(made, **changes)


@pytest.fixture
def calls() -> Iterator[MakeCalls]:
    """Makes a double with rules, and what calls it."""
    running: list[MessagesApi] = []

    def make(rules: Sequence[Any], *, profile: dict[str, Any] | None = None, **options: Any) -> Calls:
        api = MessagesApi(rules, **options).__enter__()
        running.append(api)
        given: dict[str, Any] = {"base_url": api.url, "key": Secret("sk-test"), **(profile or {})}
        return Calls(api, Profile("own", **given))

    yield make
    for api in running:
        api.__exit__(None, None, None)
