"""Bookings that are followed are those of the files, whatever happens to the files."""

import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.workspace import Space
from onepen.orchestrator.book import book
from onepen.orchestrator.cashbook import Cashbook
from onepen.orchestrator.gateway.account import Amount
from onepen.orchestrator.usage import Booking, booking_line, total, totals
from onepen.subagents.model import Usage

NOW = datetime.fromisoformat("2026-11-29T09:30:00+01:00")
DECEMBER = datetime.fromisoformat("2026-12-01T00:00:00+01:00")


@pytest.fixture
def space(tmp_path: Path) -> Space:
    return Space(tmp_path, None)


def booking(task: str = "t1", attempt: int = 1, cost: float | None = 0.25) -> Booking:
    return Booking(task, attempt, "writer", "scripted", Usage(10, 1, 2, 5), cost, 1.5)


def add(cashbook: Cashbook, one: Booking, now: datetime = NOW) -> None:
    anyio.run(partial(cashbook.add, (one,), now))


def log(space: Space, month: str = "2026-11") -> Path:
    return space.root / f"logs/usage-{month}.jsonl"


def remembered(cashbook: Cashbook, *tasks: str) -> None:
    """Looks once more, when a change of the files is sure to show in their stamps."""
    time.sleep(0.05)
    for task in tasks or ("t1",):
        cashbook.of_task(task)


def heard(work: Callable[[], object]) -> set[str]:
    """What the interpreter is asked to do meanwhile, in the words of its audit events."""
    events: set[str] = set()
    hearing = [True]
    sys.addaudithook(lambda event, _: events.add(event) if hearing else None)
    work()
    hearing.clear()
    return events


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


WAYS = ["another file", "cut", "cut and grown", "rewritten", "edited", "another task's", "taken away", "a link"]


@pytest.mark.parametrize("later", [False, True], ids=["at once", "later"])
@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_was_replaced_cut_or_edited_is_read_anew(space: Space, way: str, later: bool) -> None:
    followed = Cashbook(space)
    for attempt in (1, 2):
        add(followed, booking(attempt=attempt))
    assert len(followed.of_task("t1")) == 2
    if later:
        remembered(followed)
    first, second = log(space).read_text().splitlines(keepends=True)
    match way:
        case "another file":
            log(space).unlink()
            log(space).write_text(second)
        case "cut":
            log(space).write_text(first)
        case "cut and grown":
            log(space).write_text(first.replace('"attempt": 1', '"attempt": 333') * 2 + second)
        case "rewritten":
            log(space).write_text(second + first.replace('"attempt": 1', '"attempt": 7'))
        case "edited":
            log(space).write_text(first.replace('"cost_usd": 0.25', '"cost_usd": 0.75') + second)
        case "another task's":
            log(space).write_text(first.replace('"task": "t1"', '"task": "t2"') + second)
        case "taken away":
            log(space).unlink()
        case "a link":
            log(space).rename(space.root / "elsewhere")
            log(space).symlink_to(space.root / "elsewhere")
    there = totals(space).get("t1", total(()))
    assert total(followed.of_task("t1")) == there
    if later:
        assert total(followed.of_task("t2")) == totals(space).get("t2", total(()))
    add(followed, booking("t3"), DECEMBER)
    assert total(followed.of_task("t1")) == there


def test_a_month_that_begins_and_a_folder_that_becomes_a_link_are_seen(space: Space, tmp_path: Path) -> None:
    followed = Cashbook(space)
    add(followed, booking())
    remembered(followed)
    book(space, booking(attempt=2), DECEMBER)
    assert followed.of_task("t1") == (booking(), booking(attempt=2))
    remembered(followed)
    elsewhere = tmp_path.with_name(f"{tmp_path.name}-elsewhere")
    (tmp_path / "logs").rename(elsewhere)
    (tmp_path / "logs").symlink_to(elsewhere)
    assert followed.of_task("t1") == ()
    (tmp_path / "logs").unlink()
    elsewhere.rename(tmp_path / "logs")
    assert followed.of_task("t1") == (booking(), booking(attempt=2))


def test_a_look_at_what_is_as_it_was_opens_nothing(space: Space) -> None:
    followed = Cashbook(space)
    add(followed, booking())
    add(followed, booking("t2"), DECEMBER)
    remembered(followed, "t1", "t2")
    assert "open" not in heard(lambda: (followed.of_task("t1"), followed.of_task("t2")))
    tomorrow = time.time() + 86_400
    os.utime(log(space), (tomorrow, tomorrow))
    followed.of_task("t1")
    assert "open" in heard(lambda: followed.of_task("t1")), "what was written a moment ago may be written again"


def test_what_is_remembered_of_a_task_is_forgotten_when_a_look_for_another_finds_more(space: Space) -> None:
    followed = Cashbook(space)
    for task in ("t1", "t2"):
        add(followed, booking(task))
    remembered(followed, "t1", "t2")
    book(space, booking(attempt=2), NOW)
    remembered(followed, "t2")
    assert followed.of_task("t1") == (booking(), booking(attempt=2))
    add(followed, booking(attempt=2))
    assert log(space).read_text().count("\n") == 3


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


def test_a_year_of_bookings_is_known_without_being_kept(space: Space) -> None:
    """100,000 lines of other tasks are looked through once, and no line of theirs is parsed or remembered."""
    line = booking_line(space, booking("other"), NOW)
    log(space).parent.mkdir()
    log(space).write_text(f"{line}\n" * 100_000)
    followed = Cashbook(space)
    add(followed, booking())
    with log(space).open("a") as file:
        file.write("not a line that anybody could read\n")
    add(followed, booking())
    assert followed.of_task("t1") == (booking(),)
    assert log(space).read_text().count('"task": "t1"') == 1
    assert log(space).stat().st_size > 20 << 20
    _, peak = _traced(lambda: followed.of_task("t1"))
    assert peak < 1 << 20, "a further look reads what is new"


def test_what_was_made_this_month_is_looked_up_in_no_earlier_one(space: Space) -> None:
    add(Cashbook(space), booking())
    log(space).rename(log(space, "2026-10"))
    created = "2026-11-28T10:00:00+01:00"
    assert Cashbook(space).of_task("t1", created) == ()
    assert Cashbook(space).of_task("t1") == (booking(),)
    assert Cashbook(space).of_task("t1", "2026-11-01T10:00:00+01:00") == (booking(),), "clocks differ by a day"


def test_the_responses_of_an_attempt_are_added_each_once_beside_none_that_tells_of_all(space: Space) -> None:
    followed = Cashbook(space)
    calls = [replace(booking(), call=call) for call in (1, 2, 3)]
    anyio.run(partial(followed.add, calls[:2], NOW))
    anyio.run(partial(followed.add, calls, NOW))
    add(followed, booking())
    assert followed.of_task("t1") == tuple(calls)
    add(followed, booking("t2"))
    anyio.run(partial(followed.add, [replace(one, task="t2") for one in calls], NOW))
    assert followed.of_task("t2") == (booking("t2"),)


def _traced(work: Callable[[], object]) -> tuple[object, int]:
    """What work gives, and the most bytes that it held at once."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
