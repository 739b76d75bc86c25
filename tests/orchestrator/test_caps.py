"""Which caps count: a workspace tightens, and only the person has more."""

import pytest

from onepen.memory.settings import LimitSettings
from onepen.orchestrator.gateway.account import Caps
from onepen.orchestrator.settings.caps import caps_in_force, ceiling, explained

CAUTIOUS = Caps(1.0, 5.0, 5.0, 1_000_000, 5_000_000)


def test_without_a_word_the_cautious_ones_count() -> None:
    assert caps_in_force(LimitSettings(), Caps()) == CAUTIOUS


@pytest.mark.parametrize(
    ("workspace", "own", "raised", "budget", "task"),
    [
        (0.5, None, None, None, 0.5),
        (50.0, None, None, None, 1.0),  # a clone can't give itself more
        (50.0, 20.0, None, None, 20.0),
        (1.0, 20.0, None, None, 1.0),
        (50.0, 0.2, None, None, 0.2),
        (50.0, 0.0, None, None, 0.0),
        (1.0, None, None, 0.3, 0.3),
        (1.0, None, None, 9.0, 1.0),
        (50.0, None, None, 9.0, 9.0),
        (50.0, 4.0, None, 9.0, 4.0),
        (1.0, None, 8.0, None, 8.0),
        (1.0, 4.0, 8.0, None, 4.0),
        (1.0, None, 8.0, 9.0, 8.0),
    ],
)
def test_the_smallest_counts(
    workspace: float, own: float | None, raised: float | None, budget: float | None, task: float
) -> None:
    limits = LimitSettings(task_usd=workspace)
    caps = caps_in_force(limits, Caps(task_usd=own), raised=Caps(task_usd=raised), budget_usd=budget)
    assert caps.task_usd == task
    assert caps.day_usd == 5.0


def test_each_cap_says_where_it_is_set() -> None:
    limits = LimitSettings(task_usd=50, day_usd=2)
    told = {cap.name: (cap.value, cap.source) for cap in explained(limits, Caps(task_tokens=7))}
    assert told["task_usd"][1].startswith("onepen's caution: for more, write task_usd under [budget]")
    assert told["day_usd"] == (2.0, "onepen.toml")
    assert told["task_tokens"] == (7, "your config")


@pytest.mark.parametrize(
    ("workspace", "own", "raised", "most"),
    [(1.0, None, None, 1.0), (50.0, None, None, 50.0), (50.0, 4.0, None, 4.0), (1.0, 4.0, 8.0, 4.0)],
)
def test_how_much_a_budget_of_ones_own_can_give(
    workspace: float, own: float | None, raised: float | None, most: float
) -> None:
    limits = LimitSettings(task_usd=workspace)
    assert ceiling(limits, Caps(task_usd=own), raised=Caps(task_usd=raised)) == most
