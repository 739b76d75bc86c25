"""Two requests and what the server counted of them, in; what missed the cache and why, out."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onepen.orchestrator.meter.measured import Missed
from onepen.orchestrator.meter.miss import Sent, missed
from onepen.subagents.model import Caching, Miss, Usage

LAYERS = {"B": 2_000, "A": 500, "I": 1_000, "S": 500, "C": 1_000}
PARTS = (("tools", "t"), ("B", "rules"), ("A", "ana"), ("I", "cards"), ("S", "lately"), ("C", "hello"))
HOUR = Caching((0, 1, 2), "1h", "5m")


def sent(usage: Usage, at: float = 0.0, **changes: object) -> Sent:
    """The first request of a chat; with `changes` another one."""
    return replace(Sent("big", PARTS, LAYERS, usage, 1.0, at), **changes)  # type: ignore[arg-type]


FIRST = sent(Usage(cache_write=5_000, output=0))


def later(usage: Usage, at: float = 60.0, **changes: object) -> Sent:
    """The request after it: the conversation has gone on."""
    return sent(usage, at, **{"parts": (*PARTS, ("C", "yes")), **changes})


def cause(found: Missed | None) -> tuple[str, str, int, int | None] | None:
    return None if found is None else (found.layer, found.cause, found.tokens, found.after)


def test_a_first_request_misses_nothing() -> None:
    assert missed(None, FIRST) is None
    assert missed(None, sent(Usage(input=5_000))) is None


def test_what_was_read_in_full_missed_nothing() -> None:
    assert missed(FIRST, later(Usage(input=3, cache_write=200, cache_read=5_000))) is None
    assert missed(FIRST, later(Usage(input=3, cache_write=220, cache_read=4_980))) is None, (
        "a boundary counted otherwise"
    )


@pytest.mark.parametrize(
    ("read", "layer"), [(0, "B"), (2_000, "A"), (2_500, "I"), (3_500, "S"), (4_000, "C")], ids="BAISC"
)
def test_a_layer_that_changed_is_named_with_what_it_cost(read: int, layer: str) -> None:
    parts = tuple((name, "new") if name == layer else (name, text) for name, text in PARTS)
    found = missed(FIRST, later(Usage(cache_write=5_000 - read, cache_read=read), parts=parts))
    assert cause(found) == (layer, "changed", 5_000 - read, 60)
    assert found is not None and found.usd is not None
    base = 1.25 * (5_000 - read) + 0.1 * read
    assert found.usd == pytest.approx(1.15 * (5_000 - read) / base)


def test_after_a_pause_longer_than_its_life_a_mark_has_expired() -> None:
    anew = Usage(cache_write=5_200)
    assert cause(missed(FIRST, later(anew, 400.0))) == ("B", "expired", 5_000, 400)
    assert cause(missed(FIRST, later(anew, 299.0))) == ("B", "gone", 5_000, 299)
    hour = replace(FIRST, caching=HOUR)
    tail = Usage(cache_write=1_200, cache_read=4_000)
    assert cause(missed(hour, later(tail, 400.0, caching=HOUR))) == ("C", "expired", 1_000, 400)
    assert cause(missed(hour, later(anew, 400.0, caching=HOUR))) == ("B", "gone", 5_000, 400)
    assert cause(missed(hour, later(anew, 3_600.0, caching=HOUR))) == ("B", "expired", 5_000, 3_600)


def test_marks_that_live_longer_from_now_on_do_not_explain_away_that_the_old_ones_had_expired() -> None:
    assert cause(missed(FIRST, later(Usage(cache_write=5_200), 400.0, caching=HOUR))) == ("B", "expired", 5_000, 400)


def test_a_change_far_behind_does_not_explain_why_the_beginning_was_not_read() -> None:
    parts = tuple((name, "new") if name == "S" else (name, text) for name, text in PARTS)
    assert cause(missed(FIRST, later(Usage(cache_write=5_000), 400.0, parts=parts))) == ("B", "expired", 5_000, 400)


def test_another_model_and_other_tools_have_words_of_their_own() -> None:
    anew = Usage(cache_write=5_000)
    assert cause(missed(FIRST, later(anew, model="small"))) == ("B", "model changed", 5_000, 60)
    tools = (("tools", "other"), *PARTS[1:])
    assert cause(missed(FIRST, later(anew, parts=tools))) == ("B", "tools changed", 5_000, 60)


def test_a_renewal_is_no_miss_but_told() -> None:
    parts = tuple((name, "new") if name in {"I", "S", "C"} else (name, text) for name, text in PARTS)
    found = missed(FIRST, later(Usage(cache_write=2_500, cache_read=2_500), parts=parts), renewed=True)
    assert cause(found) == ("I", "renewed", 2_500, 60)


def test_what_is_too_short_is_not_cached_from_the_first_request_on() -> None:
    short = sent(Usage(input=900))
    assert cause(missed(None, short, least=1_024)) == ("B", "too short", 0, None)
    assert missed(None, short, least=512) is None
    assert missed(None, short) is None


def test_a_server_that_never_counts_a_cache_is_told_apart_from_a_miss() -> None:
    plain = sent(Usage(input=5_000))
    assert cause(missed(plain, later(Usage(input=5_200)))) == ("B", "no counters", 0, None)
    assert missed(sent(Usage()), later(Usage())) is None, "a model that counts nothing at all"


def test_the_servers_own_word_and_figure_stand_where_it_gives_them() -> None:
    anew = Usage(cache_write=1_200, cache_read=4_000)
    found = missed(FIRST, later(anew), said=Miss("messages_changed", 990))
    assert found == replace(
        found or Missed("C", "gone"), layer="C", cause="changed", tokens=990, said="messages_changed"
    )
    unknown = missed(FIRST, later(anew), said=Miss("unavailable"))
    assert unknown is not None and (unknown.cause, unknown.said, unknown.tokens) == ("gone", "unavailable", 1_000)


def test_a_model_without_a_price_has_a_miss_without_one() -> None:
    found = missed(FIRST, later(Usage(cache_write=5_000), cost_usd=None))
    assert found is not None and found.usd is None


def test_what_was_written_again_in_part_costs_no_more_than_the_response() -> None:
    found = missed(sent(Usage(0, 0, 33)), later(Usage(input=3, cache_write=4)))
    assert found is not None and found.usd == pytest.approx((4 * 1.25 + 3 - 0.7) / 8)


counts = st.integers(0, 200_000)
usages = st.builds(Usage, counts, counts, counts, counts)


@example(Usage(0, 0, 33), Usage(3, 4), 0.0, "big", False)
@given(usages, usages, st.floats(0, 10_000), st.sampled_from(["big", "small"]), st.booleans())
def test_whatever_is_counted_a_miss_is_no_more_than_was_there(
    one: Usage, two: Usage, at: float, model: str, renewed: bool
) -> None:
    before, now = sent(one), later(two, at, model=model)
    found = missed(before, now, least=1_024, renewed=renewed)
    if found is not None:
        assert 0 <= found.tokens <= before.cached
        assert found.usd is None or 0 <= found.usd <= 1.0
    if two.cache_read >= before.cached and two.cache_read:
        assert found is None
