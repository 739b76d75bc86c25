"""What a model's tokens cost, by a price table that needs no network; it is imported by the first use."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from ..settings.choice import own_server
from ..settings.setup import Profile
from .price import Price, Step

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, TieredPrices

_ANTHROPIC = "anthropic"
_CLAUDE = "claude-"


def price_of(profile: Profile, model: str, now: datetime | None = None) -> Price | None:
    """The price of a model at a profile's server: the person's own word, else the table's; None where nobody knows it.

    Takes a fifth of a second the first time.
    """
    return profile.prices.get(model) or _known(profile, model, now or datetime.now(UTC))


def _known(profile: Profile, model: str, now: datetime) -> Price | None:
    found = _listed(profile, model)
    if found is None:
        return None
    rates = found.get_prices(now)
    base = _price(rates.input_mtok, rates.cache_write_mtok, rates.cache_read_mtok, rates.output_mtok, 0)
    if base is None:
        return None
    each = (rates.input_mtok, rates.cache_write_mtok, rates.cache_read_mtok, rates.output_mtok)
    starts = sorted({tier.start for rate in each for tier in getattr(rate, "tiers", ())})
    steps = [(start, _price(*each, start + 1)) for start in starts]
    return Price(
        base.input,
        base.cache_write,
        base.cache_read,
        base.output,
        tuple(Step(start, price) for start, price in steps if price is not None),
    )


def _listed(profile: Profile, model: str) -> "ModelInfo | None":
    """The table's entry. A server that the table doesn't know, but that has one of Claude's names, is priced as Claude:
    rather too much than nothing."""
    from genai_prices.data_snapshot import get_snapshot

    places: list[tuple[str | None, str | None]] = []
    if own_server(profile):
        places.append((None, profile.base_url))
    if not own_server(profile) or model.startswith(_CLAUDE):
        places.append((_ANTHROPIC, None))
    for provider, url in places:
        try:
            return get_snapshot().find_provider_model(model, None, provider, url)[1]
        except LookupError:
            continue
    return None


def _price(
    input_: "Decimal | TieredPrices | None",
    write: "Decimal | TieredPrices | None",
    read: "Decimal | TieredPrices | None",
    output: "Decimal | TieredPrices | None",
    tokens: int,
) -> Price | None:
    """The rates for a prompt of that size; None where input or output has none. What isn't told costs as input does."""
    if input_ is None or output is None:
        return None
    plain = _at(input_, tokens)
    return Price(
        plain,
        plain if write is None else _at(write, tokens),
        plain if read is None else _at(read, tokens),
        _at(output, tokens),
    )


def _at(rate: "Decimal | TieredPrices", tokens: int) -> float:
    if isinstance(rate, Decimal):
        return float(rate)
    return float(next((tier.price for tier in reversed(rate.tiers) if tokens > tier.start), rate.base))
