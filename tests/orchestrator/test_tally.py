"""Sums of what was booked: whole numbers of tokens, money that is known, and what isn't told apart."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from onepen.memory.ids import ClientId
from onepen.memory.workspace import Space
from onepen.orchestrator.book import book
from onepen.orchestrator.meter.measured import Measured
from onepen.orchestrator.service import Service
from onepen.orchestrator.tally import By, tally
from onepen.orchestrator.usage import Booking
from onepen.subagents.model import Usage

DAYS = ("2026-11-29T23:59:00+01:00", "2026-11-30T00:01:00+01:00", "2026-12-01T09:00:00+01:00")


@pytest.fixture
def spaces(tmp_path: Path) -> tuple[Space, ...]:
    """Three days' bookings of the house and of a client."""
    house, acme = Space(tmp_path, None), Space(tmp_path, ClientId("acme"))
    (tmp_path / "clients/acme").mkdir(parents=True)
    one = Usage(10, 7, 100, 50)
    for k, time in enumerate(DAYS):
        now = datetime.fromisoformat(time)
        book(house, Booking(f"t{k}", 1, "writer", "big", one, 0.1, 2.0, lost=k), now)
        book(acme, Booking(f"t{k}", 1, "researcher", "small", one, None), now)
        book(house, Booking("", 0, "main", "big", one, 0.2, role="main", chat="s", turn=k), now)
    return house, acme


def rows(
    spaces: tuple[Space, ...], by: By, since: date | None = None, until: date | None = None
) -> list[tuple[str, float | None, int]]:
    return [(r.name, r.cost_usd, r.unpriced_tokens) for r in tally(spaces, by, since=since, until=until).rows]


def test_by_day_model_agent_and_client(spaces: tuple[Space, ...]) -> None:
    assert rows(spaces, "day") == [("2026-11-29", 0.3, 167), ("2026-11-30", 0.3, 167), ("2026-12-01", 0.3, 167)]
    assert rows(spaces, "model") == [("big", 0.9, 0), ("small", None, 501)]
    assert rows(spaces, "agent") == [("main", 0.6, 0), ("writer", 0.3, 0), ("researcher", None, 501)]
    assert rows(spaces, "client") == [("(house)", 0.9, 0), ("acme", None, 501)]


def test_the_days_of_a_range_are_both_included(spaces: tuple[Space, ...]) -> None:
    day = date(2026, 11, 30)
    assert [name for name, _, _ in rows(spaces, "day", since=day, until=day)] == ["2026-11-30"]
    assert rows(spaces, "day", since=date(2027, 1, 1)) == []


def test_sums_are_exact(spaces: tuple[Space, ...]) -> None:
    """Field case 39: what was read from the cache is counted once, and nothing is counted twice."""
    totals = tally(spaces, "day").totals.as_json()
    assert {key: totals[key] for key in ("input", "cache_write", "cache_read", "output")} == {
        "input": 90,
        "cache_write": 63,
        "cache_read": 900,
        "output": 450,
    }
    assert (totals["cost_usd"], totals["unpriced_tokens"], totals["lost_calls"]) == (0.9, 501, 3)


LAYERS = {"B": 60, "A": 10, "I": 20, "S": 5, "C": 20, "E": 2}


def test_by_layer_each_layer_has_its_own_counters_and_the_answers_theirs(tmp_path: Path) -> None:
    """What was read covers the first layers; the sums are those of the other views, to the token."""
    space = Space(tmp_path, None)
    now = datetime.fromisoformat(DAYS[0])
    line = Booking("", 0, "main", "big", Usage(10, 7, 100, 50), 0.4, role="main", chat="s", turn=1)
    book(space, replace(line, call=1, measured=Measured(LAYERS)), now)
    book(space, replace(line, call=2, measured=Measured(LAYERS)), now)
    book(space, replace(line, turn=2), now)  # of an earlier version: nobody noted its layers
    result = tally([space], "layer")
    counted = {row.name: (row.usage.input, row.usage.cache_write, row.usage.cache_read) for row in result.rows}
    assert counted == {
        "B": (0, 0, 120), "A": (0, 0, 20), "I": (0, 0, 40), "S": (0, 0, 10), "C": (20, 14, 10),
        "answers": (0, 0, 0), "(not measured)": (10, 7, 100),
    }  # fmt: skip
    assert [sum(values) for values in zip(*counted.values(), strict=True)] == [30, 21, 300]
    assert sum(row.usage.output for row in result.rows) == 150
    assert sum(row.cost_usd or 0.0 for row in result.rows) == pytest.approx(1.2)
    assert result.as_json()["layers"] == {name: 2 * tokens for name, tokens in LAYERS.items()}
    assert (result.totals.bookings, result.totals.responses) == (2, 3)


def test_a_lost_call_is_no_response_but_in_the_sums(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    line = Booking("t", 1, "writer", "big", Usage(10, 0, 0, 5), 0.1, 2.0, call=1)
    book(space, line, datetime.fromisoformat(DAYS[0]))
    book(space, replace(line, call=2, lost=1, seconds=0.0), datetime.fromisoformat(DAYS[0]))
    total = tally([space], "agent").totals
    assert (total.bookings, total.responses, total.lost_calls, total.usage.input, total.seconds) == (1, 1, 1, 20, 2.0)


def test_by_layer_what_a_call_may_have_cost_that_nobody_saw_end_is_in_a_row(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    line = Booking("", 0, "main", "big", Usage(10), 0.1, role="main", chat="s", turn=1, call=1)
    for one in (line, replace(line, call=2, usage=Usage(), cost_usd=0.3, lost=1)):
        book(space, one, datetime.fromisoformat(DAYS[0]))
    found = tally([space], "layer")
    assert sum(row.cost_usd or 0 for row in found.rows) == found.totals.cost_usd == 0.4
    assert {row.name: row.cost_usd for row in found.rows}["(cut off, at most)"] == 0.3


def test_nothing_costs_nothing(tmp_path: Path) -> None:
    result = tally([Space(tmp_path, None)], "day")
    assert (result.rows, result.totals.cost_usd) == ((), 0.0)


def test_status_tells_what_the_whole_workspace_spent_today(make_service: Callable[..., Service], root: Path) -> None:
    service = make_service()
    service.add_client("Acme", id="acme")
    house, acme = service.workspace.space(None), service.workspace.space("acme")
    now = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
    book(house, Booking("t1", 1, "writer", "m", Usage(input=5), 0.25), now)
    book(acme, Booking("t2", 1, "writer", "m", Usage(input=5), 0.5), now)
    book(acme, Booking("t3", 1, "writer", "own", Usage(input=5, output=2), None), now)
    told = [(r.spend_today_usd, r.unpriced_tokens_today) for r in (service.status(), service.status("acme"))]
    assert told == [(0.75, 7), (0.5, 7)]
