"""What attempts, reviews and turns of a chat cost, one line each."""

import json
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path

import pytest

from onepen.memory.ids import ClientId
from onepen.memory.workspace import Space
from onepen.orchestrator.book import book
from onepen.orchestrator.cashbook import Cashbook
from onepen.orchestrator.gateway.account import Amount
from onepen.orchestrator.gateway.spent import spent
from onepen.orchestrator.results import UsageTotals
from onepen.orchestrator.usage import Booking, bookings, totals
from onepen.subagents.model import Usage

NOW = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
DECEMBER = datetime.fromisoformat("2026-12-01T00:00:00+01:00")


def booking(task: str = "t1", attempt: int = 1, cost: float | None = 0.0) -> Booking:
    return Booking(task, attempt, "writer", "scripted", Usage(10, 1, 2, 5), cost, 1.5)


def test_an_attempt_is_booked_once_also_in_a_later_month(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking(), NOW)
    book(space, booking(), NOW)
    book(space, booking(), DECEMBER)
    book(space, booking(attempt=2), DECEMBER)
    assert (tmp_path / "logs/usage-2026-11.jsonl").read_text().count("\n") == 1
    assert (tmp_path / "logs/usage-2026-12.jsonl").read_text().count("\n") == 1
    assert totals(space) == {"t1": (UsageTotals(20, 2, 4, 10), 0.0, 3.0)}


def test_a_task_whose_id_begins_alike_is_another_task(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking("t11", 1), NOW)
    book(space, booking("t1", 1), NOW)
    book(space, booking("t1", 11), NOW)
    assert {task: usage.input for task, (usage, _, _) in totals(space).items()} == {"t11": 10, "t1": 20}


def test_what_has_no_known_price_takes_nothing_off_what_has_one(tmp_path: Path) -> None:
    """A task that went on with another server is held to its budget in dollars, as before."""
    space = Space(tmp_path, None)
    book(space, booking(cost=0.5), NOW)
    book(space, booking(attempt=2, cost=None), NOW)
    book(space, booking("t2", cost=0.25), NOW)
    assert Cashbook(space).spent_on("t1") == Amount(0.5, 18)
    assert Cashbook(space).spent_on("t3") == Amount()


def test_lines_that_a_merge_doubled_count_once_and_others_are_passed_over(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking(), NOW)
    path = tmp_path / "logs/usage-2026-11.jsonl"
    path.write_text(path.read_text() * 2 + "<<<<<<< HEAD\n[]\n")
    assert totals(space)["t1"][0].input == 10


def test_reviews_and_turns_are_booked_beside_the_attempt_each_once(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    lines = [
        booking(),
        replace(booking(), role="review", k=1),
        replace(booking(), role="review", k=2, lost=2),
        replace(booking("", 0), role="main", chat="s1", turn=1),
        replace(booking("", 0), role="main", chat="s1", turn=2),
        replace(booking("", 0), role="main", chat="s1", turn=2, k=1),
    ]
    for line in lines * 2:
        book(space, line, NOW)
    assert [b for b, _ in bookings(space)] == lines
    assert totals(space) == {"t1": (UsageTotals(30, 3, 6, 15), 0.0, 4.5)}


def test_a_cost_that_nobody_knows_is_no_cost_of_nothing(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking("t1", 1, 0.25), NOW)
    book(space, booking("t1", 2, None), NOW)
    book(space, booking("t2", 1, 0.5), NOW)
    assert {task: cost for task, (_, cost, _) in totals(space).items()} == {"t1": None, "t2": 0.5}
    assert spent([space], date(2026, 11, 29)) == {None: Amount(0.75, 18)}


@pytest.mark.parametrize(
    "changed", [{"cost_usd": -9.0}, {"cost_usd": float("nan")}, {"cost_usd": "1"}, {"output": -5}, {"input": None}]
)
def test_a_line_from_elsewhere_never_gives_budget_back(changed: dict[str, object], tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking("t1", 1, 0.25), NOW)
    path = tmp_path / "logs/usage-2026-11.jsonl"
    line = json.loads(path.read_text()) | {"task": "t2"} | changed
    path.write_text(path.read_text() + json.dumps(line) + "\n")
    amount = spent([space], date(2026, 11, 29))[None]
    assert amount.usd >= 0.25
    assert all(b.usage.output >= 0 for b, _ in bookings(space))


def test_what_was_spent_on_a_day_by_client(tmp_path: Path) -> None:
    house, acme = Space(tmp_path, None), Space(tmp_path, ClientId("acme"))
    (tmp_path / "clients/acme").mkdir(parents=True)
    book(house, booking("t1", 1, 0.25), NOW)
    book(house, booking("t2", 1, 0.5), NOW)
    book(house, booking("t3", 1, 4.0), DECEMBER)
    book(acme, booking("t4", 1, 1.0), NOW)
    assert spent([house, acme], date(2026, 11, 29)) == {None: Amount(0.75), "acme": Amount(1.0)}
    assert spent([house, acme], date(2026, 11, 30)) == {None: Amount(), "acme": Amount()}


def test_lines_of_an_earlier_version_are_still_booked_once(tmp_path: Path) -> None:
    """As they were written before there were roles."""
    old = (
        '{"v": 1, "time": "2026-11-29T09:30:00+01:00", "client": null, "task": "t1", "attempt": 1, "agent": "writer", '
        '"model": "m", "input": 1, "cache_write": 0, "cache_read": 0, "output": 2, "cost_usd": 0.5, "seconds": 1.0}\n'
    )
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/usage-2026-11.jsonl").write_text(old)
    space = Space(tmp_path, None)
    book(space, booking(), NOW)
    assert (tmp_path / "logs/usage-2026-11.jsonl").read_text() == old
    assert totals(space)["t1"] == (UsageTotals(1, 0, 0, 2), 0.5, 1.0)
