"""Many tasks on one budget and one limit, with real workers' loops and real HTTP."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import pytest

from onepen.memory.workspace import open_workspace
from onepen.orchestrator.gateway.account import Amount, Caps
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.ledger import Ledger
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.requests import BrokeOff, ChatRequest, DelegateRequest, Notice, TurnEvent, Words
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Resolver
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.orchestrator.tasks.workshop import Workshop
from onepen.orchestrator.usage import bookings
from onepen.testing.clock import FixedClock
from onepen.testing.ids import CountedIds
from onepen.testing.messages_api import MessagesApi
from onepen.testing.pool import InProcessPool

T = TypeVar("T")
MODEL = "claude-sonnet-5-5"
EACH = {"input": 0, "output": 6_000}
"""What a call is said to use: $0.09 at the price below."""


def with_service(root: Path, api: MessagesApi, work: Callable[[Service], Awaitable[T]], *, day_usd: float = 5.0) -> T:
    """What comes of `work` with a service in a process of its own."""
    workspace = open_workspace(root)
    clock = FixedClock("2026-11-29T09:30:00+01:00")
    profile = Profile("default", api.url, Secret("sk-test"), prices={MODEL: Price(0.0, 0.0, 0.0, 15.0)})
    setup = Setup(model=MODEL, profiles={"default": profile}, caps=Caps(day_usd=day_usd))
    before = Amount(booked(root))

    async def run() -> T:
        gateway = Gateway(
            Ledger(lambda day: {None: before}), clock=clock, random=lambda: 0.5, sleep=lambda seconds: anyio.sleep(0)
        )
        workshop = Workshop(InProcessPool(), gateway)
        service = Service(
            workspace,
            clock=clock,
            ids=CountedIds(),
            workshop=lambda: workshop,
            models=lambda setup: Resolver(setup, gateway.clients),
            user="ana",
            setup=lambda: setup,
        )
        try:
            return await work(service)
        finally:
            await gateway.close()

    return anyio.run(run)


def delegated(root: Path, api: MessagesApi, texts: Sequence[str], day_usd: float = 5.0) -> DelegateResult:
    """What comes of questions that are asked in a process of their own."""
    return with_service(
        root, api, lambda service: service.delegate(DelegateRequest(texts=tuple(texts), answer=True)), day_usd=day_usd
    )


def booked(root: Path) -> float:
    """US dollars in the logs."""
    return sum(booking.cost_usd or 0.0 for booking, _ in bookings(open_workspace(root).space(None)))


def test_forty_tasks_and_one_budget(root: Path) -> None:
    """Field case 64: some need several calls, some calls break after they were paid, and all of it counts."""
    search = [{"tool": "search", "input": {"query": "kiln"}}]
    report = [{"tool": "report", "input": {"summary": "done", "answer": "hot"}}]
    rules: list[dict[str, object]] = [
        {"nth": 3, "reply": report, "usage": EACH, "fault": {"kind": "cut", "at": "delta"}},
        {"contains": "twice", "turn": 1, "reply": search, "usage": EACH},
        {"reply": report, "usage": EACH},
    ]
    with MessagesApi(rules) as api:
        result = delegated(root, api, [f"Question {k}{' twice' if k % 3 == 0 else ''}?" for k in range(40)], 1.0)
        requests = len(api.asked)
        [one] = delegated(root, api, ["One more?"], 1.0).tasks
        assert one.status == "over_budget" and len(api.asked) == requests  # the day's spending is in the logs
    statuses = Counter(task.status for task in result.tasks)
    assert set(statuses) == {"answered", "over_budget"} and statuses["over_budget"] > 20
    assert booked(root) == pytest.approx(requests * 0.09)
    assert requests * 0.09 <= 1.0
    assert any(task.reason.startswith("not started: the day's budget") for task in result.tasks)


def test_workers_that_are_refused_together_come_back_one_by_one(root: Path) -> None:
    """Field case 54 in small: 429 with retry-after for a second, then all is taken."""
    report = [{"tool": "report", "input": {"summary": "done", "answer": "hot"}}]
    rules: list[dict[str, object]] = [{"within": 0.9, "fault": {"status": 429, "retry_after": 1.5}}, {"reply": report}]
    with MessagesApi(rules) as api:
        result = delegated(root, api, [f"Question {k}?" for k in range(3)])
        seen = [request.at - api.asked[0].at for request in api.asked]
    assert [task.status for task in result.tasks] == ["answered"] * 3
    later = [at for at in seen if at > 0.9]
    assert len(seen) <= 7 and len(later) == 3
    assert later[0] >= 1.5 and later[-1] - later[0] > 0.7


def test_a_chat_in_which_the_server_is_overloaded(root: Path) -> None:
    """Field case 52 for a person who waits: "half" is taken back, paid and no part of the answer."""
    rules: list[dict[str, object]] = [
        {"nth": 1, "reply": "half", "usage": EACH, "fault": {"kind": "error_event", "at": "delta"}},
        {"reply": "whole", "usage": {"input": 900, "output": 6_000}},
    ]
    events: list[TurnEvent] = []
    with MessagesApi(rules) as api:
        result = with_service(
            root, api, lambda service: service.turn(ChatRequest("Which glaze?"), on_event=events.append)
        )
    assert result.answer == "whole"
    said = [event for event in events if isinstance(event, Words | BrokeOff)]
    assert [type(event) for event in said] == [Words, BrokeOff, Words] and said[-1] == Words("whole")
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any(line.startswith("waits 1 s: ") and "Overloaded" in line for line in notices)
    assert sum("not cached" in line for line in notices) == 1
    assert result.cost_usd == pytest.approx(0.18) and booked(root) == pytest.approx(0.18)
