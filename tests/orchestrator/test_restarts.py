"""The restart budget of the whole: when workers crash one after the other, nothing new starts for a while."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import inf

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.requests import DelegateRequest, ProgressLine
from onepen.orchestrator.service import Service
from onepen.orchestrator.stop import StopSign
from onepen.orchestrator.tasks.restarts import CRASHES, FIRST_PAUSE, LONGEST_PAUSE, WINDOW_SECONDS, Restarts
from onepen.orchestrator.tasks.startgate import StartGate
from onepen.subagents.pool import Failed
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]


def crashed(state: Restarts, *tasks: str, at: float = 0.0) -> Restarts:
    for task in tasks:
        state = state.ended(task, at, crashed=True)
    return state


MANY = tuple(f"t{n}" for n in range(CRASHES))


def test_crashes_of_many_tasks_make_a_pause() -> None:
    before = crashed(Restarts(), *MANY[:-1])
    assert before.wait(0.0) == 0.0
    paused = crashed(before, MANY[-1], at=1.0)
    assert (paused.wait(1.0), paused.wait(3.0), paused.wait(1.0 + FIRST_PAUSE)) == (FIRST_PAUSE, 3.0, 0.0)


@pytest.mark.parametrize(
    "state",
    [
        crashed(Restarts(), *["t1", "t2"] * CRASHES),
        crashed(crashed(Restarts(), *MANY[:-1]), MANY[-1], at=WINDOW_SECONDS + 1),
        crashed(Restarts(tuple(partial(Restarts().ended, "w", 0.0)(crashed=False).ends) * CRASHES), *MANY),
    ],
    ids=["of one or two tasks", "long ago", "no more than half"],
)
def test_some_crashes_make_none(state: Restarts) -> None:
    assert state.wait(WINDOW_SECONDS + 1) == 0.0


def test_thousands_that_end_well_are_counted_and_are_no_more_than_the_seconds_of_the_window() -> None:
    state = Restarts()
    for n in range(6_000):
        state = state.ended(f"w{n}", n / 50, crashed=False)
    assert len(state.ends) <= WINDOW_SECONDS
    assert sum(end.times for end in state.ends) == pytest.approx(50 * WINDOW_SECONDS, rel=0.02)
    assert crashed(state, *(f"t{n}" for n in range(2_000)), at=120.0).wait(120.0) == 0.0, "no more than half"
    assert crashed(state, *(f"t{n}" for n in range(3_100)), at=120.0).wait(120.0) == FIRST_PAUSE
    assert crashed(state, *MANY, at=119.0 + WINDOW_SECONDS + 1).wait(180.0) == FIRST_PAUSE, "all that is long ago"


def test_after_the_pause_one_attempt_is_let_through_and_decides() -> None:
    paused = crashed(Restarts(), *MANY)
    trial = paused.begun("t9")
    assert trial.wait(FIRST_PAUSE) == inf
    assert crashed(trial, "t3", at=6.0) == trial, "one that began before the pause says nothing new"
    assert trial.ended("t9", 7.0, crashed=False).wait(7.0) == 0.0
    again = crashed(trial, "t9", at=7.0)
    assert again.wait(7.0) == 2 * FIRST_PAUSE
    assert trial.ended("t9", 7.0, crashed=None).wait(7.0) == 0.0, "it was stopped: another one is let through"


@given(st.lists(st.sampled_from(["crash", "stop"]), max_size=40))
def test_a_thousand_tasks_crash_no_more_often_than_pauses_allow(ends: list[str]) -> None:
    """While all crash, there is at most one crash a pause, and pauses grow up to the longest."""
    state, now, pauses = crashed(Restarts(), *MANY), 0.0, [FIRST_PAUSE]
    for number, end in enumerate(ends):
        now += state.wait(now)
        state = state.begun(f"x{number}")
        assert state.wait(now) == inf
        state = state.ended(f"x{number}", now, crashed=True if end == "crash" else None)
        pauses += [state.pause] if end == "crash" else []
    assert all(b == min(2 * a, LONGEST_PAUSE) for a, b in pairwise(pauses))
    assert now >= sum(pauses[:-1])


class Time:
    """A clock that jumps to whatever is waited for."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_many_tasks_whose_workers_crash_are_not_all_tried(make_service: MakeService) -> None:
    """100 tasks: those at work crash, then one a pause; the person is told once, and Ctrl-C leaves the rest queued."""
    stop, time = StopSign(), Time()
    pool = InProcessPool(instead=lambda _: Failed("ended by SIGSEGV", None, "SIGSEGV", 0.1))
    service = make_service(pool=pool)
    service._workshop().gate = StartGate(time)
    service._workshop().slots.total_tokens = 8

    async def press() -> None:
        with anyio.fail_after(30):
            while service._workshop().gate._state.pause < 2 * FIRST_PAUSE:
                time.now += 1.0
                service._workshop().gate.ended("nobody", crashed=None)
                await anyio.sleep(0.01)
        stop.press()

    told: list[ProgressLine] = []
    texts = tuple(f"task {n}" for n in range(100))

    async def whole() -> list[str]:
        async with anyio.create_task_group() as group:
            group.start_soon(press)
            result = await service.delegate(DelegateRequest(texts), stop=stop, on_progress=told.append)
        return [t.status for t in result.tasks]

    statuses = anyio.run(whole)
    assert len(pool.assignments) <= 2 * CRASHES + 8
    assert set(statuses) <= {"queued", "quarantined"} and statuses.count("queued") > 90
    lasting = [line.text for line in told if line.lasting and not line.ended]
    assert lasting[0].startswith(f"{CRASHES} workers crashed within 60 s, so no attempt starts for 5 s")
    assert lasting[0].endswith("the last one: ended by SIGSEGV")
    assert len(lasting) == len(set(lasting)) <= 4
