"""What a batch may cost: words and prices in, ranges out."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch.answer import Range
from onepen.orchestrator.batch.estimate import Estimate, estimate, from_pilot
from onepen.orchestrator.gateway.price import FREE, Price

PRICE = Price(input=3.0, cache_write=3.75, cache_read=0.3, output=15.0)
ASKED: dict[str, Any] = {
    "texts": ["word " * 100] * 500,
    "prefix_tokens": 2_000,
    "tool_tokens": 1_000,
    "turns": (2, 6),
    "out_tokens": (150, 800),
    "price": PRICE,
    "cached": True,
    "concurrency": 50,
    "seconds_a_turn": (2.0, 20.0),
}


def guessed(**other: Any) -> tuple[Range, Range, Range]:
    found = estimate(**{**ASKED, **other})
    assert found.cost is not None and found.tokens is not None and found.seconds is not None
    return found.cost, found.tokens, found.seconds


def test_a_call_each_without_a_cache_is_plain_arithmetic() -> None:
    cost, tokens, seconds = guessed(turns=(1, 1), out_tokens=(100, 100), cached=False)
    assert tokens.least == tokens.most == 500 * (3_000 + 125 + 100)
    assert cost.least == pytest.approx(500 * (3_125 * 3.0 + 100 * 15.0) / 1e6)
    assert (seconds.least, seconds.most) == (20.0, 200.0)


def test_what_all_share_is_written_to_the_cache_once_and_then_read() -> None:
    cost, _, _ = guessed(turns=(1, 1), out_tokens=(100, 100))
    a_task = 3_000 * 0.3 + 125 * 3.75 + 100 * 15.0
    assert cost.least == pytest.approx((500 * a_task + 3_000 * (3.75 - 0.3)) / 1e6)
    assert cost.most < guessed(turns=(1, 1), out_tokens=(100, 100), cached=False)[0].least


def test_message_batches_cost_half_and_may_miss_the_cache() -> None:
    live, half = guessed()[0], guessed(half=True)[0]
    assert half.least == pytest.approx(live.least / 2)
    assert half.most == pytest.approx(guessed(cached=False)[0].most / 2)


def test_a_model_whose_price_nobody_knows_has_no_cost_and_a_free_one_costs_nothing() -> None:
    unknown = estimate(**{**ASKED, "price": None})
    assert unknown.cost is None and unknown.tokens is not None
    assert unknown.basis.endswith("nobody told what its tokens cost")
    assert guessed(price=FREE)[0] == Range(0.0, 0.0)


def test_the_basis_says_what_it_rests_on() -> None:
    assert estimate(**{**ASKED, "tool_tokens": 1_057}).basis == (
        "500 tasks of ≈120 tokens after ≈3,100 that all share, 2 to 6 calls each, ≈150 to 800 tokens a reply; "
        "list prices"
    )
    assert estimate(**{**ASKED, "texts": ["a"], "half": True}).basis.startswith("1 task of ≈1 tokens")
    assert estimate(**{**ASKED, "half": True}).basis.endswith("half of list prices")


def test_nothing_costs_nothing() -> None:
    assert guessed(texts=[]) == (Range(0.0, 0.0), Range(0, 0), Range(0.0, 0.0))


@given(
    st.lists(st.text(max_size=50), max_size=20),
    st.integers(0, 5_000),
    st.tuples(st.floats(1, 5), st.floats(0, 5)),
    st.tuples(st.integers(1, 500), st.integers(0, 500)),
    st.booleans(),
    st.booleans(),
    st.integers(1, 100),
)
def test_the_least_is_never_more_than_the_most(
    texts: list[str],
    prefix: int,
    turns: tuple[float, float],
    out: tuple[int, int],
    cached: bool,
    half: bool,
    concurrency: int,
) -> None:
    for one in guessed(
        texts=texts,
        prefix_tokens=prefix,
        turns=(turns[0], sum(turns)),
        out_tokens=(out[0], sum(out)),
        cached=cached,
        half=half,
        concurrency=concurrency,
    ):
        assert 0 <= one.least <= one.most


def test_a_pilot_tells_what_the_rest_may_cost() -> None:
    found = from_pilot([0.01, 0.02, 0.03], [10, 20, 30], left=100, concurrency=10)
    spread = 2 * 0.01 / math.sqrt(3)
    assert found.cost is not None and found.seconds is not None
    assert (found.cost.least, found.cost.most) == pytest.approx((100 * (0.02 - spread), 100 * (0.02 + spread)))
    assert found.seconds.most == pytest.approx(10 * (20 + 2 * 10 / math.sqrt(3)))
    assert found.basis == "3 tasks that ran, $0.0200 each, 20.0 s each"


def test_a_pilot_whose_tasks_are_all_alike_is_still_no_prophecy() -> None:
    found = from_pilot([0.02] * 5, [20.0] * 5, left=10, concurrency=3)
    assert found.cost is not None and (found.cost.least, found.cost.most) == pytest.approx((0.16, 0.24))
    alone = from_pilot([0.02], [20.0], left=10, concurrency=3)
    assert alone.cost is not None and (alone.cost.least, alone.cost.most) == pytest.approx((0.1, 0.3))


def test_a_pilot_with_a_cost_that_nobody_knows_tells_none() -> None:
    found = from_pilot([0.01, None], [10, 20], left=100, concurrency=10)
    assert found.cost is None and found.seconds is not None
    assert from_pilot([], [], 10, 1) == Estimate(None, None, None, "0 tasks that ran")
