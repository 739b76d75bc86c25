"""What is said before the first paid work: once, with an estimate, its basis and the caps."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.ids import ClientId
from onepen.memory.workspace import Space
from onepen.orchestrator.book import book
from onepen.orchestrator.gateway.account import Caps
from onepen.orchestrator.gateway.price import FREE, Price
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.announce import announced, estimated, never_paid
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.usage import Booking
from onepen.subagents.definition import AgentDefinition
from onepen.subagents.model import Usage
from onepen.testing.scripted import ScriptedModel

NOW = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
PRICE = Price(2.0, 2.5, 0.1, 10.0)
CAPS = Caps(1.0, 5.0, 5.0, 1_000_000, 5_000_000)


def test_the_line_names_model_estimate_basis_and_caps() -> None:
    assert announced("claude-sonnet-5-5", PRICE, 2_000, CAPS) == (
        "the first paid work here: claude-sonnet-5-5, about $0.014 to $0.39 a task (3 to 12 calls, a prompt of ≈2,000 "
        "tokens at the start, list prices); at most $1.00 a task, $5.00 a day (onepen config show)"
    )
    assert announced("qwen", None, 2_000, CAPS) == (
        "the first paid work here: qwen, whose price nobody told; at most 1,000,000 tokens a task, 5,000,000 tokens a "
        "day (onepen config show)"
    )


def test_an_estimate_is_a_range() -> None:
    for prompt in (0, 1_000, 100_000):
        about = estimated(PRICE, prompt)
        assert 0 < about.low < about.high
    assert estimated(FREE, 1_000).high == 0


def test_first_is_before_anything_that_costs_was_booked(tmp_path: Path) -> None:
    house, acme = Space(tmp_path, None), Space(tmp_path, ClientId("acme"))
    (tmp_path / "clients/acme").mkdir(parents=True)
    book(house, Booking("t1", 1, "researcher", "offline", Usage(), 0.0), NOW)
    assert never_paid([house, acme])
    book(acme, Booking("t2", 1, "researcher", "own", Usage(input=5), None), NOW)
    assert not never_paid([house, acme])


@pytest.mark.parametrize(("price", "lines"), [(PRICE, 1), (FREE, 0)])
def test_it_is_said_once_and_before_the_first_attempt(
    price: Price, lines: int, make_service: Callable[..., Service]
) -> None:
    rule = {"usage": {"input": 9}, "reply": [{"tool": "report", "input": {"summary": "s", "answer": "a"}}]}
    model = ScriptedModel([rule])

    def models(name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        return Served(model, price)

    told: list[str] = []
    for question in ("one", "two"):
        request = DelegateRequest((question,), answer=True, model="claude-sonnet-5-5")
        service = make_service(models=models)
        anyio.run(partial(service.delegate, request, on_progress=lambda line: told.append(line.text)))
    said = [text for text in told if text.startswith("the first paid work here")]
    assert len(said) == lines
    assert told[: len(said)] == said
