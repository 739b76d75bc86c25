"""Tokens weighed by what they cost: base tokens, in units of one that was neither written to nor read from a cache.

A provider's price list has the same proportions for each of its models; a server of one's own may have others, so what
is divided by these is an estimate, and its sum is not.
"""

from ...subagents.model import Usage

WRITE, WRITE_1H, READ, OUTPUT = 1.25, 2.0, 0.1, 5.0


def prompt_base(usage: Usage) -> float:
    """What the prompt cost, in base tokens."""
    hour = min(usage.cache_write_1h, usage.cache_write)
    return usage.input + WRITE * (usage.cache_write - hour) + WRITE_1H * hour + READ * usage.cache_read


def base(usage: Usage) -> float:
    """What a response cost, its words included, in base tokens."""
    return prompt_base(usage) + OUTPUT * usage.output


def usd_of(tokens: float, usage: Usage, cost_usd: float | None) -> float | None:
    """What so many base tokens cost in a response that cost so much; None where no price is known."""
    whole = base(usage)
    return None if cost_usd is None or not whole else cost_usd * tokens / whole
