"""Bookings that are followed are those of the files, whatever happens to the files."""

from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.workspace import Space
from onepen.orchestrator.cashbook import Cashbook
from onepen.orchestrator.gateway.account import Amount
from onepen.orchestrator.usage import Booking, book, total, totals
from onepen.subagents.model import Usage

NOW = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
DECEMBER = datetime.fromisoformat("2026-12-01T00:00:00+01:00")


@pytest.fixture
def space(tmp_path: Path) -> Space:
    return Space(tmp_path, None)


def booking(task: str = "t1", attempt: int = 1, cost: float | None = 0.25) -> Booking:
    return Booking(task, attempt, "writer", "scripted", Usage(10, 1, 2, 5), cost, 1.5)


def add(cashbook: Cashbook, one: Booking, now: datetime = NOW) -> None:
    anyio.run(partial(cashbook.add, one, now))


def log(space: Space, month: str = "2026-11") -> Path:
    return space.root / f"logs/usage-{month}.jsonl"


def test_what_others_book_is_seen_at_the_next_look(space: Space) -> None:
    followed = Cashbook(space)
    assert followed.of_task("t1") == ()
    book(space, booking(), NOW)
    assert followed.of_task("t1") == (booking(),)
    book(space, booking(attempt=2), DECEMBER)
    book(space, booking("t2"), NOW)
    assert followed.of_task("t1") == (booking(), booking(attempt=2))
    assert total(followed.of_task("t1")) == totals(space)["t1"]
    assert followed.spent_on("t2") == Amount(0.25, 0)


def test_an_attempt_is_booked_once_whoever_booked_it(space: Space) -> None:
    followed = Cashbook(space)
    add(followed, booking())
    add(followed, booking())
    book(space, booking(attempt=2), NOW)
    add(followed, booking(attempt=2), DECEMBER)
    assert log(space).read_text().count("\n") == 2
    assert not log(space, "2026-12").exists()


@pytest.mark.parametrize("way", ["another file", "cut", "cut and grown", "rewritten", "taken away"])
def test_a_file_that_was_replaced_or_cut_is_read_anew(space: Space, way: str) -> None:
    followed = Cashbook(space)
    for attempt in (1, 2):
        add(followed, booking(attempt=attempt))
    assert len(followed.of_task("t1")) == 2
    first, second = log(space).read_text().splitlines(keepends=True)
    match way:
        case "another file":
            log(space).unlink()
            log(space).write_text(second)
        case "cut":
            log(space).write_text(first)
        case "cut and grown":
            log(space).write_text(second + first.replace('"attempt": 1', '"attempt": 3') * 2)
        case "rewritten":
            log(space).write_text(second + first.replace('"attempt": 1', '"attempt": 7'))
        case "taken away":
            log(space).unlink()
    there = totals(space)["t1"] if way != "taken away" else total(())
    assert total(followed.of_task("t1")) == there


def test_a_line_that_a_merge_doubled_counts_once_and_a_torn_one_not_at_all(space: Space) -> None:
    followed = Cashbook(space)
    add(followed, booking())
    text = log(space).read_text()
    log(space).write_text(text + text + text[:20])
    assert followed.of_task("t1") == (booking(),)
    add(followed, booking(attempt=2))
    assert followed.of_task("t1") == (booking(), booking(attempt=2))


def test_a_last_line_without_an_end_counts(space: Space) -> None:
    book(space, booking(), NOW)
    log(space).write_text(log(space).read_text().rstrip("\n"))
    assert Cashbook(space).of_task("t1") == (booking(),)
