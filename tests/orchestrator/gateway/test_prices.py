"""Prices: the person's own word, then the table's; what nobody knows is unknown, never free."""

from datetime import UTC, datetime

import pytest

from onepen.orchestrator.gateway.price import Price, Step
from onepen.orchestrator.gateway.prices import price_of
from onepen.orchestrator.settings.setup import Profile, Secret
from onepen.subagents.model import Usage

NOW = datetime(2026, 11, 30, tzinfo=UTC)
CLAUDE = Profile("default", key=Secret("k"))
OWN = Profile("own", base_url="http://127.0.0.1:8080")


@pytest.mark.parametrize("profile", [CLAUDE, OWN])
@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-sonnet-5-5-20260801"])
def test_claude_has_a_price_of_each_kind_wherever_it_is_served(profile: Profile, model: str) -> None:
    price = price_of(profile, model, NOW)
    assert price is not None
    assert price.cache_read < price.input < price.cache_write < price.output


@pytest.mark.parametrize("model", ["qwen2.5-1.5b", "default", "", "gpt-5", "claude-nobody-knows"])
def test_what_nobody_knows_has_no_price(model: str) -> None:
    assert price_of(OWN, model, NOW) is None


def test_the_persons_word_comes_first_also_where_it_is_nothing() -> None:
    nothing = Price(0.0, 0.0, 0.0, 0.0)
    profile = Profile("own", base_url="http://127.0.0.1:8080", prices={"claude-sonnet-5-5": nothing})
    assert price_of(profile, "claude-sonnet-5-5", NOW) == nothing


def test_cached_tokens_are_counted_once_and_by_their_own_prices() -> None:
    """Field case 39: input 10, written 7, read 100, output 50."""
    price = Price(input=1.0, cache_write=10.0, cache_read=100.0, output=1_000.0)
    assert price.of(Usage(10, 7, 100, 50)) == pytest.approx((10 * 1 + 7 * 10 + 100 * 100 + 50 * 1_000) / 1_000_000)


def test_a_long_prompt_is_paid_by_its_own_rates_altogether() -> None:
    price = price_of(CLAUDE, "claude-haiku-5-5", NOW)
    assert price is not None
    [step] = price.steps
    short, long = Usage(input=step.above, output=10), Usage(input=1, cache_read=step.above, output=10)
    assert price.of(short) == pytest.approx((step.above * price.input + 10 * price.output) / 1e6)
    rates = step.rates
    assert rates.input > price.input
    paid = (1 * rates.input + step.above * rates.cache_read + 10 * rates.output) / 1e6
    assert price.of(long) == pytest.approx(paid)


def test_of_several_steps_the_highest_that_is_passed_counts() -> None:
    high, higher = Price(2.0, 2.0, 2.0, 2.0), Price(3.0, 3.0, 3.0, 3.0)
    price = Price(1.0, 1.0, 1.0, 1.0, (Step(10, high), Step(20, higher)))
    assert [price.at(tokens).input for tokens in (10, 11, 20, 21)] == [1.0, 2.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("price", "rate"),
    [
        (Price(3.0, 3.75, 0.3, 15.0), 6.0),
        (Price(3.0, 3.0, 3.0, 15.0), 3.0),
        (Price(3.0, 3.75, 0.3, 15.0, cache_write_1h=5.0), 5.0),
        (Price(0.0, 0.0, 0.0, 0.0), 0.0),
    ],
    ids=["as Anthropic takes", "a server that writes for nothing", "the person's word", "free"],
)
def test_what_is_kept_for_an_hour_has_its_own_price(price: Price, rate: float) -> None:
    used = Usage(10, 100, 0, 0, cache_write_1h=60)
    assert price.of(used) == pytest.approx((10 * price.input + 40 * price.cache_write + 60 * rate) / 1e6)


def test_more_kept_for_an_hour_than_was_written_is_paid_as_what_was_written() -> None:
    assert Price(3.0, 3.75, 0.3, 15.0).of(Usage(cache_write=10, cache_write_1h=90)) == pytest.approx(60 / 1e6)
