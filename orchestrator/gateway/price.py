"""What a model's tokens cost, in US dollars for a million."""

from dataclasses import dataclass

from ...subagents.model import Usage

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens of each kind, as the API counts them.

    `cache_write_1h` is for what the cache keeps an hour; None: twice `input`, as Anthropic takes, or `cache_write`
    where that is no dearer than `input`. `steps` are other rates for long prompts: above its start, a step's rates hold
    for all tokens of the call.
    """

    input: float
    cache_write: float
    cache_read: float
    output: float
    steps: "tuple[Step, ...]" = ()
    cache_write_1h: float | None = None

    def of(self, usage: Usage) -> float:
        """US dollars of one call; each kind of token by its own price."""
        rates = self.at(usage.prompt_total)
        hour = min(usage.cache_write_1h, usage.cache_write)
        return (
            usage.input * rates.input
            + (usage.cache_write - hour) * rates.cache_write
            + hour * rates.hour
            + usage.cache_read * rates.cache_read
            + usage.output * rates.output
        ) / _MILLION

    @property
    def hour(self) -> float:
        """The rate of what is written for an hour."""
        if self.cache_write_1h is not None:
            return self.cache_write_1h
        return 2 * self.input if self.cache_write > self.input else self.cache_write

    def at(self, prompt: int) -> "Price":
        """The rates for a call with a prompt of so many tokens."""
        rates = self
        for step in self.steps:
            if prompt > step.above:
                rates = step.rates
        return rates

    def half(self) -> "Price":
        """Half of each rate: what the same costs in a Message Batch."""
        steps = tuple(Step(step.above, step.rates.half()) for step in self.steps)
        hour = self.hour / 2
        return Price(self.input / 2, self.cache_write / 2, self.cache_read / 2, self.output / 2, steps, hour)


@dataclass(frozen=True)
class Step:
    """The rates of calls whose prompt has more than `above` tokens; steps stand in rising order."""

    above: int
    rates: Price


FREE = Price(0.0, 0.0, 0.0, 0.0)
"""What a model costs that runs inside onepen (offline, scripted)."""
