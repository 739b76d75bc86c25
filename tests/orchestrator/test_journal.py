"""The run journal: what was written comes back, whatever a crash or a merge did to the file."""

from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import AgentId, DraftId, TaskId
from onepen.orchestrator.tasks.events import (
    AttemptFailed,
    AttemptLost,
    AttemptReported,
    AttemptStarted,
    AttemptTimedOut,
    Cancelled,
    CommitRefused,
    Committed,
    DraftFacts,
    Edited,
    Event,
    Judged,
    Resumed,
    Shown,
    TaskAdded,
)
from onepen.orchestrator.tasks.journal import Journal, event_line, parse_journal
from onepen.orchestrator.tasks.plan import replay
from onepen.staging.verdict import Accepted, Bound, Escalated, Refused, SentBack
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-29T09:30:00+01:00")
BOUND = Bound("a" * 64, "b" * 64)
D1 = DraftId("t1-1")
EVENTS: tuple[Event, ...] = (
    TaskAdded(TaskId("t1"), AgentId("writer"), answer=True),
    AttemptStarted(1),
    AttemptReported(
        1,
        (DraftFacts(D1, "k\u00f6ln.md", "research/a.md", "a" * 64, "b" * 64),),
        "an answer\nof two lines",
        "s",
        False,
        2.5,
    ),
    AttemptFailed(2, "SIGSEGV", False, (DraftFacts(D1, "x", "", "", blocked=True, reason="a link"),), 0.25),
    AttemptTimedOut(3, "silence", 120.0),
    AttemptLost(4),
    Resumed(),
    Cancelled("no more"),
    Judged(D1, Accepted("checks", BOUND)),
    Judged(D1, SentBack("user:ana", BOUND, "cite")),
    Judged(D1, Refused("user:ana", BOUND, "no")),
    Judged(D1, Escalated("checks", BOUND, "why")),
    Committed(D1, "c1-abcdef"),
    CommitRefused(D1, "conflict", "moved on"),
    Shown(D1, BOUND),
    Edited(D1, "c" * 64),
)


def test_each_kind_of_event_comes_back_as_it_was(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl", CLOCK)
    for event in EVENTS:
        journal.append(event)
    assert journal.events() == EVENTS
    assert {type(e) for e in journal.events()} == {type(e) for e in EVENTS}
    assert isinstance(journal.events()[-1].draft, DraftId)  # type: ignore[union-attr]
    assert journal.read().entries[0].at == "2026-11-29T09:30:00.000+01:00"


def test_a_missing_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert Journal(tmp_path / "none.jsonl", CLOCK).events() == ()


@given(cut=st.integers(min_value=1, max_value=60))
def test_a_torn_last_line_is_passed_over_without_a_word(cut: int) -> None:
    lines = [event_line(event, CLOCK.now()) for event in EVENTS[:3]]
    text = "\n".join(lines)[:-cut]
    reading = parse_journal(text, "run.jsonl")
    assert reading.events == EVENTS[:2]
    assert reading.problems == ()


def test_after_a_torn_line_the_next_event_stands_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(event_line(EVENTS[0], CLOCK.now()) + "\n" + '{"v": 1, "at": "2026')
    journal = Journal(path, CLOCK)
    journal.append(EVENTS[1])
    assert journal.events() == EVENTS[:2]
    assert [p.line for p in journal.read().problems] == [2]


@pytest.mark.parametrize(
    "line",
    [
        "not JSON",
        "[1]",
        '{"v": 2, "event": "resumed"}',
        '{"v": 1, "event": "danced"}',
        '{"v": 1, "event": "attempt_started", "attempt": "many"}',
        '{"v": 1, "event": "judged", "draft": "t1-1", "verdict": {"verdict": "maybe"}}',
        '{"v": 1, "event": "committed", "draft": "../x", "commit": "c1"}',
        '{"a":' * 5_000,
    ],
)
def test_what_is_no_event_is_a_problem_that_names_its_line(line: str) -> None:
    reading = parse_journal(f"{line}\n{event_line(EVENTS[0], CLOCK.now())}\n", "staging/t1/run.jsonl")
    assert reading.events == EVENTS[:1]
    [problem] = reading.problems
    assert (problem.path, problem.line, problem.kind) == ("staging/t1/run.jsonl", 1, "journal_line_unreadable")
    assert "\n" not in problem.message


def test_the_lines_of_two_clones_that_approved_the_same_draft_are_read_once() -> None:
    def line(second: int, event: Event) -> str:
        return event_line(event, CLOCK.now() + timedelta(seconds=second))

    common = [
        line(0, TaskAdded(TaskId("t1"), AgentId("writer"))),
        line(1, AttemptStarted(1)),
        line(2, AttemptReported(1, (DraftFacts(D1, "a.md", "research/a.md", "a" * 64),))),
    ]
    ours = [line(9, Judged(D1, Accepted("user:ana", BOUND))), line(10, Committed(D1, "c3-aaaaaa"))]
    theirs = [line(5, Judged(D1, Accepted("user:ben", BOUND))), line(6, Committed(D1, "c3-bbbbbb"))]
    marked = [*common, "<<<<<<< HEAD", *ours, "||||||| base", "=======", *theirs, ">>>>>>> other", *theirs]
    reading = parse_journal("\n".join(marked) + "\n", "run.jsonl")
    [problem] = reading.problems
    assert (problem.kind, problem.level, problem.line) == ("conflict_markers", "error", 4)
    assert len(reading.events) == 7, "a line that came twice counts once"
    [draft] = replay(reading.events).drafts
    assert (draft.status, draft.commit) == ("committed", "c3-aaaaaa")
    union = parse_journal("\n".join([*common, *ours, *common, *theirs]) + "\n", "run.jsonl")
    assert (union.problems, union.events) == ((), reading.events)


def test_what_is_merged_around_an_attempt_is_no_second_attempt() -> None:
    def line(second: int, event: Event) -> str:
        return event_line(event, CLOCK.now() + timedelta(seconds=second))

    failed = [
        line(0, TaskAdded(TaskId("t1"), AgentId("writer"))),
        line(1, AttemptStarted(1)),
        line(2, AttemptFailed(1, "no", again=False)),
    ]
    again = [line(3, Resumed()), line(4, AttemptStarted(2)), line(5, AttemptReported(2, (), "words"))]
    state = replay(parse_journal("\n".join([*failed, *again, *failed, *again]), "run.jsonl").events)
    assert (state.attempt, state.status) == (2, "answered")
