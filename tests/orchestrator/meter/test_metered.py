"""A chat over HTTP with a server that caches, and time that is told to pass: what the usage log says of each reply."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from onepen.orchestrator.gateway.claude import Claude
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.requests import ChatRequest
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.settings.setup import Profile, Secret
from onepen.orchestrator.usage import Booking, bookings
from onepen.subagents.model import Usage
from onepen.testing.clock import FixedClock
from onepen.testing.messages_api import MessagesApi

PRICE = Price(input=3.0, cache_write=3.75, cache_read=0.3, output=15.0)
SONNET = "claude-sonnet-5-5"
CASE_39 = {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50}
PLAIN = {"input": 900, "cache_write": 0, "cache_read": 0, "output": 5}


class Talking:
    """One chat of a service whose model is asked over HTTP; pauses pass for the chat and the server alike."""

    def __init__(self, make: Callable[..., Service], clock: FixedClock) -> None:
        self._make, self._clock = make, clock
        self.seconds = 0.0

    def says(self, api: MessagesApi, *turns: tuple[float, str, str]) -> None:
        """The turns of a chat, each after so many seconds, with the model that is asked."""
        anyio.run(self._turns, api, turns)

    async def _turns(self, api: MessagesApi, turns: Sequence[tuple[float, str, str]]) -> None:
        gateway = Gateway()
        chat: str | None = None
        try:
            for seconds, model, text in turns:
                self.seconds += seconds
                self._clock.move(timedelta(seconds=seconds))
                profile = Profile("default", base_url=api.url, key=Secret("k"), diagnostics=True)
                served = Served(Claude(profile, model, gateway.clients), PRICE)
                service = self._make(models=lambda name, definition, client, served=served: served)
                chat = (await service.turn(ChatRequest(text, chat, None, model))).session
        finally:
            await gateway.close()


@pytest.fixture
def talking(make_service: Callable[..., Service], clock: FixedClock) -> Talking:
    service = make_service()
    service.add_project("Kiln", text="## Firing\n- fire at 1200\n\n## Glaze\n- celadon\n")
    return Talking(make_service, clock)


def booked(root: Path, service: Service) -> list[Booking]:
    return [booking for booking, _ in bookings(service.workspace.space(None))]


def test_a_pause_is_longer_than_the_marks_live_and_another_model_has_a_cache_of_its_own(
    talking: Talking, root: Path, service: Service
) -> None:
    with MessagesApi([{"reply": "Yes."}], cache=True, clock=lambda: talking.seconds) as api:
        turns = [(seconds, SONNET, f"After {seconds} s") for seconds in (0, 60, 400, 60)]
        talking.says(api, *turns, (10, "claude-opus-5", "And now to you"))
    lines = booked(root, service)
    missed = [line.measured.missed for line in lines]
    assert [one and (one.layer, one.cause, one.after) for one in missed] == [
        None,
        None,
        ("B", "expired", 400),
        None,
        ("B", "model changed", 10),
    ]
    first, second, third, fourth, other = (line.usage for line in lines)
    assert first.cache_write > 1_024 and first.cache_read == 0
    assert second.cache_read == first.cache_write
    assert missed[2] is not None and missed[2].tokens == second.cache_write + second.cache_read
    assert fourth.cache_read == third.cache_write and other.cache_read == 0
    assert missed[4] is not None and missed[4].said == "model_changed"
    for line in lines:
        assert sum(line.measured.layers.values()) == line.usage.prompt_total
        assert line.cost_usd == pytest.approx(PRICE.of(line.usage))
    usage = service.usage(by="layer", since=date(2026, 11, 29))
    summed = [sum(getattr(row.usage, kind) for row in usage.rows) for kind in ("input", "cache_write", "cache_read")]
    assert summed == [
        sum(getattr(line.usage, kind) for line in lines) for kind in ("input", "cache_write", "cache_read")
    ]


def test_what_a_server_lists_first_is_booked_by_its_own_name(talking: Talking, root: Path, service: Service) -> None:
    with MessagesApi([{"reply": "Yes."}], models=["qwen", "other"]) as api:
        talking.says(api, (0, "default", "one"))
    assert [line.model for line in booked(root, service)] == ["qwen"]


def test_what_a_server_counts_is_booked_to_the_token_and_no_hit_is_claimed_where_none_was(
    talking: Talking, root: Path, service: Service
) -> None:
    """Field case 39: in one piece, streamed with counts on the way, and then a reply that nobody cached."""
    rules: list[dict[str, Any]] = [
        {"times": 1, "reply": "Yes.", "usage": CASE_39},
        {"times": 1, "reply": "Yes.", "usage": {**CASE_39, "steps": [20]}},
        {"reply": "Yes.", "usage": PLAIN},
    ]
    with MessagesApi(rules) as api:
        talking.says(api, *((0, SONNET, text) for text in ("one", "two", "three", "four")))
    lines = booked(root, service)
    assert [line.usage for line in lines] == [Usage(10, 7, 100, 50)] * 2 + [Usage(900, 0, 0, 5)] * 2
    uncached = [line.measured.missed for line in lines[2:]]
    assert [one and (one.cause, one.tokens) for one in uncached] == [("gone", 107), ("no counters", 0)]
    assert sum(line.cost_usd or 0.0 for line in lines) == pytest.approx(
        (2 * (10 * 3 + 7 * 3.75 + 100 * 0.3 + 50 * 15) + 2 * (900 * 3 + 5 * 15)) / 1e6, abs=1e-12
    )
    totals = service.usage().totals
    assert (totals.bookings, totals.responses) == (4, 4)
    assert totals.usage.as_json() == {"input": 1_820, "cache_write": 14, "cache_read": 200, "output": 110}
