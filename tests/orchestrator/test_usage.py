"""What attempts cost, one line each."""

from datetime import datetime
from pathlib import Path

import pytest

from onepen.memory.workspace import Space
from onepen.orchestrator.results import UsageTotals
from onepen.orchestrator.usage import Booking, book, spent_on, totals
from onepen.subagents.model import Usage

NOW = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
DECEMBER = datetime.fromisoformat("2026-12-01T00:00:00+01:00")


def booking(task: str = "t1", attempt: int = 1, cost: float = 0.0) -> Booking:
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


def test_lines_that_a_merge_doubled_count_once_and_others_are_passed_over(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking(), NOW)
    path = tmp_path / "logs/usage-2026-11.jsonl"
    path.write_text(path.read_text() * 2 + "<<<<<<< HEAD\n[]\n")
    assert totals(space)["t1"][0].input == 10


def test_what_was_spent_on_a_day(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, booking("t1", 1, 0.25), NOW)
    book(space, booking("t2", 1, 0.5), NOW)
    book(space, booking("t3", 1, 4.0), DECEMBER)
    assert spent_on(space, "2026-11-29") == pytest.approx(0.75)
    assert spent_on(space, "2026-11-30") == 0
