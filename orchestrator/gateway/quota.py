"""What a server says is left of its limits, from its `anthropic-ratelimit-*` headers."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from .failure import http_date

_KINDS = ("requests", "tokens", "input-tokens", "output-tokens")


@dataclass(frozen=True)
class Left:
    """`remaining` of `limit` calls (or tokens, with `tokens`) until `seconds` from now."""

    tokens: bool
    limit: int
    remaining: int
    seconds: float


def quota(headers: Mapping[str, str], now: datetime) -> tuple[Left, ...]:
    """Each limit that is told whole; times are by the server's own clock where it told it."""
    told = http_date(headers.get("date", "")) or now
    found = []
    for kind in _KINDS:
        name = f"anthropic-ratelimit-{kind}"
        try:
            limit, remaining = int(headers[f"{name}-limit"]), int(headers[f"{name}-remaining"])
            reset = datetime.fromisoformat(headers[f"{name}-reset"])
        except (KeyError, ValueError):
            continue
        if limit > 0 and reset.tzinfo is not None:
            found.append(Left(kind != "requests", limit, remaining, max(0.0, (reset - told).total_seconds())))
    return tuple(found)
