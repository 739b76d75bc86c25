"""What a model's tokens cost, in US dollars for a million."""

from dataclasses import dataclass

from ...subagents.model import Usage

_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars for a million tokens of each kind, as the API counts them."""

    input: float
    cache_write: float
    cache_read: float
    output: float

    def of(self, usage: Usage) -> float:
        """US dollars; each kind of token by its own price."""
        return (
            usage.input * self.input
            + usage.cache_write * self.cache_write
            + usage.cache_read * self.cache_read
            + usage.output * self.output
        ) / _MILLION


FREE = Price(0.0, 0.0, 0.0, 0.0)
"""What a model costs that runs inside onepen (offline, scripted)."""
