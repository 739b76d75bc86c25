"""What is said before a workspace's first paid work: the model, about what it may cost, and at most how much."""

from collections.abc import Iterable
from dataclasses import dataclass

from ...memory.workspace import Space
from ...subagents.model import Usage
from ..gateway.account import Caps
from ..gateway.price import Price
from ..usage import bookings

FEW, MANY = 3, 12
"""Model calls of a short task and of a long one."""

_SHORT_REPLY, _LONG_REPLY = 200, 1_200
_SHORT_STEP, _LONG_STEP = 400, 1_500  # what each call adds to the prompt: the last reply and what its tools gave


@dataclass(frozen=True)
class Estimate:
    """US dollars from a short task that finds its prompt in the cache to a long one that never does."""

    low: float
    high: float


def estimated(price: Price, prompt: int) -> Estimate:
    """What a task may cost that begins with a prompt of so many tokens."""
    first = Usage(cache_write=prompt, output=_SHORT_REPLY)
    later = (Usage(k * _SHORT_STEP, cache_read=prompt, output=_SHORT_REPLY) for k in range(1, FEW))
    whole = (Usage(prompt + k * _LONG_STEP, output=_LONG_REPLY) for k in range(MANY))
    return Estimate(sum(map(price.of, (first, *later))), sum(map(price.of, whole)))


def never_paid(spaces: Iterable[Space]) -> bool:
    """Whether nothing that costs was ever booked in these spaces."""
    return not any(b.cost_usd or b.unpriced for space in spaces for b, _ in bookings(space))


def announced(model: str, price: Price | None, prompt: int, caps: Caps, what: str = "task") -> str:
    """The line for people."""
    most = ", ".join(_most(price, caps, what))
    begin = f"the first paid work here: {model}"
    if price is None:
        return f"{begin}, whose price nobody told; at most {most} (onepen config show)"
    about = estimated(price, prompt)
    basis = f"{FEW} to {MANY} calls, a prompt of ≈{prompt:,} tokens at the start, list prices"
    cost = f"about ${about.low:.2g} to ${about.high:.2g} a {what} ({basis})"
    return f"{begin}, {cost}; at most {most} (onepen config show)"


def _most(price: Price | None, caps: Caps, what: str) -> Iterable[str]:
    if price is None:
        bounds = ((caps.task_tokens, what), (caps.day_tokens, "day"))
        return [f"{tokens:,} tokens a {name}" for tokens, name in bounds if tokens is not None]
    return [f"${usd:,.2f} a {name}" for usd, name in ((caps.task_usd, what), (caps.day_usd, "day")) if usd is not None]
