"""Where a batch stands: whatever happens in whatever order, its counts add up, and its money is that of its tasks."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

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
from onepen.orchestrator.batch.item import Item
from onepen.orchestrator.batch.journal import Entry
from onepen.orchestrator.batch.outcome import DONE, GOES_ON
from onepen.orchestrator.batch.state import BatchState

KEYS = ("k1", "k2", "k3", "k4", "k5")
ITEMS = tuple(
    Item(key, number, f"Question {number}", "writer", "sonnet", twins=(90, 91) if key == "k2" else ())
    for number, key in enumerate(KEYS, start=1)
)
ROWS = 7
"""Five items, and two rows more that say the same as one of them."""


def at(second: int) -> str:
    return f"2026-11-29T09:{second // 60:02}:{second % 60:02}.000+01:00"


# -- whatever happens --------------------------------------------------------------------------------------------------

_key = st.sampled_from((*KEYS, "of another batch"))
_status = st.sampled_from(("in_review", "committed", "answered", "refused", "duplicate", "interrupted", "queued"))
_kinds: tuple[FailureClass | None, ...] = (None, None, "refused", "invalid", "overload", "timeout", "budget", "bug")
_over = st.builds(
    TaskOver,
    _key,
    st.sampled_from(("t1", "t2")),
    _status,
    kind=st.sampled_from(_kinds),
    cost_usd=st.none() | st.integers(0, 100).map(float),
    input=st.integers(0, 100),
    cache_read=st.integers(0, 100),
    output=st.integers(0, 100),
    cut=st.integers(0, 2),
    cut_usd=st.integers(0, 3).map(float),
)
_event: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, st.integers(1, 9)),
    st.builds(RunEnded, st.sampled_from(("finished", "stopped"))),
    st.builds(TaskMade, _key, st.sampled_from(("t1", "t2"))),
    _over,
    _over,
    st.builds(DoneBefore, _key, st.sampled_from(("", "c1")), st.just("t9")),
    st.builds(Retried, st.lists(_key, max_size=3).map(tuple)),
    st.just(BatchCancelled()),
    st.builds(DayTold, st.just("2026-11-29")),
)
_step = _event | st.tuples(st.sampled_from(("begins", "leaves", "moves")), _key)


def apply(state: BatchState, steps: list[object]) -> None:
    for second, step in enumerate(steps):
        match step:
            case ("begins", str(key)):
                state.begins(key)
            case ("leaves", str(key)):
                state.leaves(key)
            case ("moves", str(key)):
                state.moves(key, "committed", "committed", ("c5",))
            case _:
                state.take(step, at(second))  # type: ignore[arg-type]


@given(st.lists(_step, max_size=40))
def test_the_counts_add_up_and_are_those_of_the_tasks(steps: list[object]) -> None:
    state = BatchState.begin(ITEMS)
    apply(state, steps)
    counts, places = state.counts, Counter(facts.place for facts in state.tasks.values())
    assert counts.total == counts.done + counts.failed + counts.pending + counts.running == ROWS
    assert all(number >= 0 for number in vars(counts).values())
    assert counts.duplicate == places["duplicate"] + 2
    for place in ("in_review", "committed", "answered", "refused", "failed", "pending", "running"):
        assert getattr(counts, place) == places[place], place
    assert list(state.tasks) == list(KEYS), "what tells of another batch's task makes none here"


@given(st.lists(_step, max_size=40))
def test_each_task_is_new_unfinished_over_or_at_work(steps: list[object]) -> None:
    state = BatchState.begin(ITEMS)
    apply(state, steps)
    running = {key for key, facts in state.tasks.items() if facts.place == "running"}
    done = {key for key, facts in state.tasks.items() if facts.place in DONE}
    parts = [set(state.new()), set(state.unfinished()), set(state.failed()), running, done]
    assert sum(map(len, parts)) == len(KEYS) and set().union(*parts) == set(KEYS)
    assert state.done == (not parts[0] and not parts[1] and not running)
    assert sum(one.count for one in state.failures()) == len(state.failed())
    assert {key for one in state.failures() for key in state.failed(one.kind)} == set(state.failed())
    for keys in (state.new(), state.unfinished(), state.failed()):
        assert all(state.tasks[a].line < state.tasks[b].line for a, b in pairwise(keys)), "in the order of their lines"


@given(st.lists(_step, max_size=40))
def test_what_it_cost_is_all_that_was_ever_told_of_its_tasks(steps: list[object]) -> None:
    """A task that is told of again is told of with all that it cost; one that is made anew costs on top of that."""
    state = BatchState.begin(ITEMS)
    now: dict[str, TaskOver] = {}
    given_up: list[TaskOver] = []
    for second, step in enumerate(steps):
        if isinstance(step, Retried):
            for key in step.keys:
                facts = state.tasks.get(key)
                if facts is not None and facts.place == "failed" and facts.kind not in GOES_ON and key in now:
                    given_up.append(now.pop(key))
        apply_one(state, step, second)
        if isinstance(step, TaskOver) and step.key in KEYS:
            now[step.key] = step
    told = [*now.values(), *given_up]
    assert state.cost() == (None if any(t.cost_usd is None for t in told) else sum(t.cost_usd or 0.0 for t in told))
    assert state.known_usd() == sum(t.cost_usd or 0.0 for t in told)
    prompt = sum(t.input + t.cache_read for t in told)
    assert state.tokens() == prompt + sum(t.output for t in told)
    assert state.cached() == (sum(t.cache_read for t in told) / prompt if prompt else None)
    assert state.cut() == (sum(t.cut for t in told), sum(t.cut_usd for t in told))


def apply_one(state: BatchState, step: object, second: int) -> None:
    if isinstance(step, tuple):
        apply(state, [step])
    else:
        state.take(step, at(second))  # type: ignore[arg-type]


@given(st.lists(_event, max_size=30))
def test_the_same_events_give_the_same_state_however_often_they_are_replayed(events: list[Event]) -> None:
    entries = [Entry(at(second), event) for second, event in enumerate(events)]
    one, other = BatchState.begin(ITEMS, entries), BatchState.begin(ITEMS, entries)
    assert one == other
    live = BatchState.begin(ITEMS)
    for entry in entries:
        live.take(entry.event, entry.at)
        if isinstance(entry.event, TaskMade):
            live.begins(entry.event.key)
    for key in KEYS:
        live.leaves(key)
    assert live == one, "that somebody was at work on a task is forgotten with the process"


@given(st.lists(_over, max_size=20))
def test_a_line_that_stands_there_twice_changes_nothing(lines: list[TaskOver]) -> None:
    entries = [Entry(at(0), event) for event in lines]
    assert BatchState.begin(ITEMS, entries) == BatchState.begin(ITEMS, [entry for entry in entries for _ in range(2)])


# -- one thing after the other -----------------------------------------------------------------------------------------


def begun(*events: Event) -> BatchState:
    return BatchState.begin(ITEMS, [Entry(at(second), event) for second, event in enumerate(events)])


def test_at_the_beginning_all_is_pending_but_the_twins() -> None:
    counts = begun().counts
    assert (counts.total, counts.pending, counts.duplicate, counts.done) == (ROWS, 5, 2, 2)
    assert begun().new() == KEYS and not begun().done


def test_a_task_that_was_made_and_is_not_over_goes_on_before_new_ones_begin() -> None:
    state = begun(RunStarted(2), TaskMade("k4", "t4"), TaskMade("k1", "t1"), TaskOver("k1", "t1", "committed"))
    assert state.unfinished() == ("k4",) and state.new() == ("k2", "k3", "k5")
    assert state.tasks["k4"].task == "t4"


@pytest.mark.parametrize(("kind", "again"), [("overload", "t1"), ("timeout", "t1"), ("refused", ""), ("invalid", "")])
def test_a_failed_task_goes_on_or_is_made_anew_by_what_it_failed_of(kind: FailureClass, again: str) -> None:
    over = TaskOver("k1", "t1", "failed", "why", kind, cost_usd=3.0, input=10, cut=1, cut_usd=1.0)
    state = begun(RunStarted(2), TaskMade("k1", "t1"), over, Retried(("k1",)))
    facts = state.tasks["k1"]
    assert (facts.place, facts.task, facts.made) == ("pending", again, 0 if again else 1)
    assert (state.cost(), state.cut()) == (3.0, (1, 1.0)), "what it cost stays what it cost"
    state.take(replace(over, task="t2", kind=None, status="committed", cost_usd=5.0, cut=0, cut_usd=0.0), at(9))
    assert state.cost() == (5.0 if again else 8.0)


def test_a_task_that_is_not_failed_is_not_tried_again() -> None:
    state = begun(TaskMade("k1", "t1"), TaskOver("k1", "t1", "committed"), Retried(("k1", "k2")))
    assert state.tasks["k1"].place == "committed" and state.tasks["k2"].made == 0


def test_what_a_person_decided_since_counts_in_the_place_of_the_review() -> None:
    state = begun(TaskMade("k1", "t1"), TaskOver("k1", "t1", "in_review", drafts=("t1-1",)))
    state.moves("k1", "committed", "committed", ("c4",))
    assert (state.counts.in_review, state.counts.committed) == (0, 1)
    assert state.tasks["k1"].commits == ("c4",)


def test_a_cancelled_batch_goes_on_with_a_persons_word() -> None:
    state = begun(RunStarted(2), BatchCancelled("ana"))
    assert state.cancelled
    state.take(RunStarted(2), at(5))
    assert not state.cancelled


def test_the_time_of_a_killed_run_lasts_until_its_last_event() -> None:
    entries = [
        Entry(at(0), RunStarted(2)),
        Entry(at(10), TaskMade("k1", "t1")),
        Entry(at(100), RunStarted(2)),
        Entry(at(130), TaskOver("k1", "t1", "committed")),
        Entry(at(140), RunEnded("finished")),
    ]
    assert BatchState.begin(ITEMS, entries).seconds() == 10.0 + 40.0
    under_way = BatchState.begin(ITEMS, entries[:-1])
    assert (under_way.seconds(), under_way.seconds(at(160))) == (40.0, 70.0)


def test_failures_are_told_class_by_class_the_largest_first() -> None:
    def failed(key: str, kind: FailureClass) -> TaskOver:
        return TaskOver(key, f"t-{key}", "failed", f"why {key}", kind)

    state = begun(failed("k1", "bug"), failed("k3", "overload"), failed("k2", "overload"))
    first, second = state.failures()
    assert (first.kind, first.count, first.line, first.reason) == ("overload", 2, 2, "why k2")
    assert (second.kind, second.count, second.task) == ("bug", 1, "t-k1")
