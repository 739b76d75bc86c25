"""The run journal of a batch: what was written comes back, whatever a crash, a merge or a hand did to the file."""

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch.answer import FailureClass
from onepen.orchestrator.batch.events import (
    BatchCancelled,
    DayTold,
    DoneBefore,
    Event,
    Retried,
    RunEnded,
    RunStarted,
    TaskMade,
    TaskOver,
)
from onepen.orchestrator.batch.journal import BatchJournal, Entry, line_of, parse, seconds_between
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-29T09:30:00+01:00")
AT = "2026-11-29T09:30:00.000+01:00"
KINDS: tuple[type, ...] = get_args(Event)

_words = st.text(max_size=20)
_names = st.lists(_words, max_size=3).map(tuple)
_money = st.floats(0, 1e6, allow_nan=False)
_count = st.integers(0, 10**9)
_OF_FIELD: dict[str, st.SearchStrategy[Any]] = {
    "concurrency": _count, "budget_usd": st.none() | _money, "max_failures": st.none() | _count, "pid": _count,
    "kind": st.none() | st.sampled_from(get_args(FailureClass)), "cost_usd": st.none() | _money, "cut_usd": _money,
    "input": _count, "cache_write": _count, "cache_read": _count, "output": _count, "cut": _count,
    "seconds": _money, "attempts": _count, "drafts": _names, "commits": _names, "keys": _names,
    "client": st.none() | _words,
}  # fmt: skip


def events(kind: type) -> st.SearchStrategy[Any]:
    return st.builds(kind, **{field.name: _OF_FIELD.get(field.name, _words) for field in fields(kind)})


any_event = st.one_of(*map(events, KINDS))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_event_comes_back_as_it_was(kind: type) -> None:
    @given(events(kind))
    def comes_back(event: Event) -> None:
        line = line_of(Entry(AT, event))
        assert "\n" not in line
        assert parse(f"{line}\n", "run.jsonl") == ((Entry(AT, event),), ())

    comes_back()


def test_events_come_back_in_the_order_in_which_they_were_added(tmp_path: Path) -> None:
    journal = BatchJournal(tmp_path / "run.jsonl", CLOCK, "run.jsonl")
    wrote: tuple[Event, ...] = (
        RunStarted(10, 5.0, "auto", 3, "ana", 77),
        TaskMade("k1", "t1"),
        TaskOver("k1", "t1", "committed", cost_usd=None, drafts=("t1-1",), commits=("c1",)),
        TaskOver("k2", "t2", "failed", "the server\nwas away", "overload"),
        DoneBefore("k3", "c7"),
        Retried(("k2",)),
        DayTold("2026-11-29", None, "c9"),
        BatchCancelled("ana"),
        RunEnded("cancelled"),
    )
    for number, event in enumerate(wrote):
        journal.append(event, sync=number % 2 == 0)
    entries, problems = journal.read()
    assert (tuple(entry.event for entry in entries), problems) == (wrote, ())
    assert {entry.at for entry in entries} == {AT}


def test_a_missing_journal_is_an_empty_one(tmp_path: Path) -> None:
    journal = BatchJournal(tmp_path / "none.jsonl", CLOCK, "none.jsonl")
    assert journal.read() == ((), ())


@given(st.lists(any_event, min_size=1, max_size=4), st.data())
def test_a_file_cut_anywhere_gives_the_events_before_the_cut(wrote: list[Event], data: st.DataObject) -> None:
    """A crash leaves a prefix of the file: whole lines are read, of a part of one nothing is told."""
    lines = [line_of(Entry(AT, event)).encode() + b"\n" for event in wrote]
    text = b"".join(lines)
    cut = data.draw(st.integers(0, len(text)))
    whole = text[:cut].count(b"\n")
    at_its_end = cut < len(text) and text[cut : cut + 1] == b"\n" and not text[:cut].endswith(b"\n")
    entries, problems = parse(text[:cut].decode(errors="replace"), "run.jsonl")
    assert [entry.event for entry in entries] == wrote[: whole + at_its_end]
    assert problems == ()


def test_after_a_torn_line_the_next_event_stands_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(line_of(Entry(AT, TaskMade("k1", "t1"))) + "\n" + '{"v": 1, "at": "2026')
    journal = BatchJournal(path, CLOCK, "run.jsonl")
    journal.append(TaskMade("k2", "t2"))
    entries, problems = journal.read()
    assert [entry.event for entry in entries] == [TaskMade("k1", "t1"), TaskMade("k2", "t2")]
    assert [(problem.line, problem.level) for problem in problems] == [(2, "warning")]


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        '{"v": 2, "event": "run_ended", "why": "finished"}',
        '{"v": 1, "event": "danced"}',
        '{"v": 1, "event": "task_made"}',
        '{"v": 1, "event": "task_made", "key": 7, "task": "t1"}',
        '{"v": 1, "event": "task_over", "key": "k", "task": "t", "status": "committed", "cost_usd": "much"}',
        '{"v": 1, "event": "task_over", "key": "k", "task": "t", "status": "committed", "input": 1.5}',
        '{"v": 1, "event": "run_started", "concurrency": "many"}',
        '{"v": 1, "event": "task_over", "key": "k", "task": "t", "status": "failed", "kind": "moody"}',
        '{"v": 1, "event": "retried", "keys": 5}',
        '{"v": 1, "event": "retried", "keys": "k1"}',
        '{"v": 1, "event": "run_ended", "why": null}',
        '{"a":' * 5_000,
    ],
)
def test_what_is_no_event_is_a_problem_that_names_its_line(line: str) -> None:
    good = TaskMade("k1", "t1")
    entries, (problem,) = parse(f"{line}\n{line_of(Entry(AT, good))}\n", "batches/b/run.jsonl")
    assert [entry.event for entry in entries] == [good]
    assert (problem.path, problem.line, problem.kind) == ("batches/b/run.jsonl", 1, "batch_journal_unreadable")
    assert "\n" not in problem.message


def test_the_markers_of_a_merge_are_told_and_the_lines_of_both_sides_are_read() -> None:
    ours, theirs = TaskMade("k1", "t1"), TaskMade("k2", "t2")
    lines = ["<<<<<<< HEAD", line_of(Entry(AT, ours)), "=======", line_of(Entry(AT, theirs)), ">>>>>>> other"]
    entries, problems = parse("\n".join(lines) + "\n", "run.jsonl")
    assert [entry.event for entry in entries] == [ours, theirs]
    assert [(problem.line, problem.kind) for problem in problems] == [
        (number, "conflict_markers") for number in (1, 3, 5)
    ]


def test_what_a_later_version_adds_to_an_event_is_passed_over() -> None:
    line = '{"v": 1, "at": "x", "event": "task_made", "key": "k1", "task": "t1", "mood": "good"}\n'
    assert parse(line, "run.jsonl") == ((Entry("x", TaskMade("k1", "t1")),), ())


@given(st.text(max_size=200))
def test_no_text_is_too_strange_to_be_read(text: str) -> None:
    entries, problems = parse(text, "run.jsonl")
    assert not entries and all("\n" not in problem.message for problem in problems)


def test_seconds_between_two_times_that_were_written_down() -> None:
    assert seconds_between("2026-11-29T09:30:00+01:00", "2026-11-29T08:31:00.500+00:00") == 60.5
    assert seconds_between("2026-11-29T09:30:00+01:00", "2026-11-28T09:30:00+01:00") == 0.0
    assert seconds_between("", "2026-11-28T09:30:00+01:00") == seconds_between("yesterday", AT) == 0.0
    assert seconds_between("2026-11-29T09:30:00", AT) == 0.0, "one without its zone can't be compared"
