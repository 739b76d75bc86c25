"""A response's counters told by layer: whatever they are, their sums stay what the server counted."""

from functools import reduce
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.meter.measured import LAYERS
from onepen.orchestrator.meter.rates import base, prompt_base, usd_of
from onepen.orchestrator.meter.spread import spread
from onepen.subagents.model import Usage

counts = st.integers(0, 300_000)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    written = draw(counts)
    return Usage(draw(counts), written, draw(counts), 0, draw(st.integers(0, written)))


@given(st.dictionaries(st.sampled_from(LAYERS), counts), usages())
def test_sums_are_exact_and_nothing_is_below_zero(layers: dict[str, int], usage: Usage) -> None:
    parts = spread(layers, usage)
    if parts:
        assert reduce(add, parts.values()) == usage
    else:
        assert not sum(layers.values()) or not usage.prompt_total
    assert all(n >= 0 for part in parts.values() for n in vars(part).values())


def test_what_was_read_covers_the_first_layers_and_what_was_written_goes_on() -> None:
    layers = {"B": 2_000, "A": 500, "I": 1_000, "S": 500, "C": 900, "E": 100}
    assert spread(layers, Usage(input=10, cache_write=1_490, cache_read=3_500, cache_write_1h=500)) == {
        "B": Usage(cache_read=2_000),
        "A": Usage(cache_read=500),
        "I": Usage(cache_read=1_000),
        "S": Usage(cache_write=500, cache_write_1h=500),
        "C": Usage(input=9, cache_write=891),
        "E": Usage(input=1, cache_write=99),
    }


def test_without_layers_or_tokens_there_is_nothing_to_tell() -> None:
    assert spread({}, Usage(10)) == spread({"B": 5}, Usage(output=3)) == {}


def test_tokens_are_weighed_by_what_they_cost() -> None:
    usage = Usage(100, 1_000, 10_000, 10, 400)
    assert prompt_base(usage) == 100 + 600 * 1.25 + 400 * 2 + 1_000
    assert base(usage) == prompt_base(usage) + 50
    assert usd_of(base(usage), usage, 3.0) == 3.0
    assert usd_of(1.0, usage, None) is None and usd_of(1.0, Usage(), 1.0) is None
