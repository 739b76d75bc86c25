"""What a model's tokens cost, in US dollars for a million."""

from dataclasses import dataclass

from ...subagents.model import Usage

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens of each kind, as the API counts them.

    `steps` are other rates for long prompts: above its start, a step's rates hold for all tokens of the call.
    """

    input: float
    cache_write: float
    cache_read: float
    output: float
    steps: "tuple[Step, ...]" = ()

    def of(self, usage: Usage) -> float:
        """US dollars of one call; each kind of token by its own price."""
        rates = self.at(usage.prompt_total)
        return (
            usage.input * rates.input
            + usage.cache_write * rates.cache_write
            + usage.cache_read * rates.cache_read
            + usage.output * rates.output
        ) / _MILLION

    def at(self, prompt: int) -> "Price":
        """The rates for a call with a prompt of so many tokens."""
        rates = self
        for step in self.steps:
            if prompt > step.above:
                rates = step.rates
        return rates


@dataclass(frozen=True)
class Step:
    """The rates of calls whose prompt has more than `above` tokens; steps stand in rising order."""

    above: int
    rates: Price


FREE = Price(0.0, 0.0, 0.0, 0.0)
"""What a model costs that runs inside onepen (offline, scripted)."""
