"""What a line of a Message Batch's results means: pure. The cause of an error is nested two levels deep in it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...subagents.model import ModelReply
from ..gateway.failure import Again, Final
from ..gateway.ledger import cost, used
from ..gateway.price import Price
from ..tasks.transcript import REFUSAL
from .events import Asked, Item

ReadReply = Callable[[Mapping[str, Any], str], ModelReply]
"""The reply in a message, for that model; raises ValueError."""

Judge = Callable[[object, str], Final | Again]
"""What an error in the results of that model means."""

MISSING = "it was missing in the results"


@dataclass(frozen=True)
class Got:
    """What came of a request; `reply` where a model has answered."""

    item: Item
    reply: ModelReply | None = None


@dataclass(frozen=True)
class Strange:
    """A line that no request of the batch can be matched with, and why."""

    reason: str


def got(
    line: bytes,
    requests: Mapping[str, Asked],
    prices: Mapping[str, Price | None],
    *,
    canceling: bool,
    read: ReadReply,
    judge: Judge,
) -> Got | Strange:
    """What a line says of one of these requests; `canceling`: a person has cancelled the batch."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return Strange("a line that is no JSON")
    match told:
        case {"custom_id": str(name), "result": {"type": str(kind), **result}}:
            asked = requests.get(name)
        case _:
            return Strange("a line that is no result")
    if asked is None:
        return Strange(f"a result of a request that was not in it: {_short(name)}")
    match kind:
        case "succeeded":
            return _answered(asked, prices, result.get("message"), read)
        case "errored":
            verdict = judge(result.get("error"), asked.model)
            if isinstance(verdict, Again):
                return Got(Item(name, "again", reason=verdict.reason))
            return Got(Item(name, "failed", reason=verdict.reason, hint=verdict.hint, exit_code=verdict.exit_code))
        case "expired":
            return Got(Item(name, "again", reason="it expired before its turn came"))
        case "canceled" if canceling:
            return Got(Item(name, "canceled"))
        case "canceled":
            return Got(Item(name, "again", reason="it was cancelled at the server"))
    return Strange(f"a result of a type that onepen doesn't know, {_short(kind)}, of {name}")


def _answered(asked: Asked, prices: Mapping[str, Price | None], message: object, read: ReadReply) -> Got:
    try:
        if not isinstance(message, Mapping) or message.get("type") != "message":
            raise ValueError("it is no message")
        reply = read(message, asked.model)
    except (ValueError, RecursionError) as e:
        # It was answered, so it has to be paid, and nobody knows how much.
        return Got(Item(asked.id, "again", cost=asked.most, reason=f"its answer can't be read: {e}"))
    price = prices.get(asked.model)
    reply = replace(reply, cost_usd=cost(reply.usage, price))
    kind = "refusal" if reply.stop_reason == REFUSAL else "reply"
    return Got(Item(asked.id, kind, cost=used(reply.usage, price)), reply)  # type: ignore[arg-type]


def _short(text: str) -> str:
    plain = "".join(c if c.isprintable() else "?" for c in text)
    return plain if len(plain) <= 80 else plain[:80] + "…"
