"""What a run does next, played by chance: it never starts too much or too late, never waits for nobody, and ends."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch.plan import Bounds, Deliver, End, Moment, Start, Wait, next_step

_NEWS = ("done", "done", "done", "failed", "parked", "later", "press", "cancel", "short")
"""What may happen while tasks are at work; "later" is a task that was kept from going on, and isn't started again."""


@given(
    left=st.integers(0, 12),
    beyond=st.integers(0, 3),
    concurrency=st.integers(1, 5),
    most=st.none() | st.integers(0, 4),
    news=st.lists(st.sampled_from(_NEWS), max_size=60),
)
def test_a_run_played_through(left: int, beyond: int, concurrency: int, most: int | None, news: list[str]) -> None:
    bounds = Bounds(concurrency, most)
    now, steps, held = Moment(left=left, at_work=0, beyond=beyond), 0, False
    coming = iter(news)
    while not isinstance(step := next_step(now, bounds), End):
        steps += 1
        assert steps <= 2 * left + 3 * len(news) + 5, "it goes round without getting on"
        held = bool(now.cancelled or now.presses or now.short or (most is not None and now.failed >= max(1, most)))
        match step:
            case Start():
                assert not held, "nothing starts after a word, an empty purse or too many failures"
                assert now.left and now.at_work < concurrency
                now = replace(now, left=now.left - 1, at_work=now.at_work + 1)
            case Wait():
                assert now.at_work, "it waits for somebody"
                now = happens(now, next(coming, "done"))
            case Deliver():
                assert now.parked and not now.at_work and not now.left and not held
                now = replace(now, left=now.parked, parked=0)
    assert now.at_work == 0, "what runs comes to its end first"
    match step.why:
        case "finished":
            assert not (now.left or now.parked or now.beyond)
        case "sample":
            assert not (now.left or now.parked) and now.beyond
        case "cancelled":
            assert now.cancelled
        case "stopped":
            assert now.presses and not now.cancelled
        case "over_budget":
            assert step.reason == now.short != ""
        case "too_many_failures":
            assert most is not None and now.failed >= max(1, most) and f"{now.failed} tasks failed" in step.reason


def happens(now: Moment, what: str) -> Moment:
    match what:
        case "press":
            return replace(now, presses=now.presses + 1)
        case "cancel":
            return replace(now, cancelled=True)
        case "short":
            return replace(now, short="the budget is spent", at_work=now.at_work - 1)
        case "failed":
            return replace(now, failed=now.failed + 1, at_work=now.at_work - 1)
        case "parked":
            return replace(now, parked=now.parked + 1, at_work=now.at_work - 1)
    return replace(now, at_work=now.at_work - 1)


@given(st.builds(Moment, *(st.integers(0, 3) for _ in range(6)), st.booleans(), st.sampled_from(("", "spent"))))
def test_nothing_starts_past_the_bounds_whatever_the_moment(moment: Moment) -> None:
    step = next_step(moment, Bounds(2, 2))
    if isinstance(step, Start):
        assert moment.left and moment.at_work < 2 and moment.failed < 2
        assert not (moment.presses or moment.cancelled or moment.short)
    assert not (isinstance(step, Wait) and not moment.at_work)
    assert not (isinstance(step, End | Deliver) and moment.at_work)


@pytest.mark.parametrize(
    ("moment", "why"),
    [
        (Moment(3, 0, presses=1), "stopped"),
        (Moment(3, 0, presses=2, cancelled=True), "cancelled"),
        (Moment(3, 0, presses=1, short="spent"), "stopped"),
        (Moment(3, 0, short="spent"), "over_budget"),
        (Moment(3, 0, failed=5), "too_many_failures"),
        (Moment(0, 0), "finished"),
        (Moment(0, 0, beyond=2), "sample"),
        (Moment(0, 0, parked=4, presses=1), "stopped"),
    ],
)
def test_why_it_ends(moment: Moment, why: str) -> None:
    step = next_step(moment, Bounds(2, max_failures=5))
    assert isinstance(step, End) and step.why == why
    assert next_step(replace(moment, at_work=1), Bounds(2, max_failures=5)) == Wait()


def test_no_failure_allowed_means_that_the_first_one_ends_it() -> None:
    assert next_step(Moment(3, 0), Bounds(2, max_failures=0)) == Start()
    assert isinstance(next_step(Moment(3, 0, failed=1), Bounds(2, max_failures=0)), End)
