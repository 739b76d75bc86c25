"""What a batch may cost and how long it may take, as ranges with the reasons for them. Pure.

Before anything has run it is guessed from the words that are there: from short tasks that find their prompt in the
cache to long ones. After a pilot it is what the pilot's tasks came to.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from ...memory.tokens import estimate as tokens_of
from ...subagents.model import Usage
from ..gateway.price import FREE, Price
from .answer import Range

_RESULTS = (200, 1_000)  # tokens that the tools of one turn give
_LEAST_SPREAD = 0.2
_ONE_ALONE = 0.5  # what one task tells of the others: little
_HALF = 0.5


@dataclass(frozen=True)
class Estimate:
    """`cost` and `tokens` None: nobody can say. `tokens` are those of prompts and replies together."""

    cost: Range | None
    tokens: Range | None
    seconds: Range | None
    basis: str


def estimate(
    *,
    texts: Sequence[str],
    prefix_tokens: int,
    tool_tokens: int,
    turns: tuple[float, float],
    out_tokens: tuple[int, int],
    price: Price | None,
    cached: bool,
    concurrency: int,
    seconds_a_turn: tuple[float, float],
    half: bool = False,
) -> Estimate:
    """The range for tasks with these texts, none of which has run.

    `prefix_tokens` and `tool_tokens` are the tokens of what all prompts begin with and of the definitions of tools,
    `turns` how many model calls a task makes, `out_tokens` how long a reply is, `price` None where nobody knows it.
    `cached`: the server caches prompts. `half`: asked in Message Batches, where a prompt may miss its cache.
    """
    shared = prefix_tokens + tool_tokens
    own = round(fmean(map(tokens_of, texts))) if texts else 0
    count = len(texts)
    ways = {cached, False} if half else {cached}
    sent = [_used(shared, own, turns[k], out_tokens[k], _RESULTS[k], cached=False) for k in (0, 1)]
    tokens = Range(*(round(count * sum(used.prompt_total + used.output for used in task)) for task in sent))
    cost = None
    if price is not None:

        def usd(k: int, hit: bool) -> float:
            """What the short (0) or the long (1) of it costs; whoever is first writes to the cache what others read."""
            task = sum(map(price.of, _used(shared, own, turns[k], out_tokens[k], _RESULTS[k], cached=hit)))
            return (_HALF if half else 1.0) * (count * task + (_first(price, shared) if hit and count else 0.0))

        cost = Range(min(usd(0, hit) for hit in ways), max(usd(1, hit) for hit in ways))
    basis = (
        f"{_count(count, 'task')} of ≈{_rough(own)} tokens after ≈{_rough(shared)} that all share, "
        f"{_range(*turns)} calls each, ≈{_range(*out_tokens)} tokens a reply"
    )
    return Estimate(cost, tokens, _lasts(count, turns, concurrency, seconds_a_turn), basis + _priced(price, half=half))


def from_pilot(costs: Sequence[float | None], seconds: Sequence[float], left: int, concurrency: int) -> Estimate:
    """The range for `left` tasks by those that ran: their mean, give or take two standard errors, at least 20 %.

    `costs` and `seconds` are those of each task; a cost that nobody knows (None) leaves that of all unknown.
    """
    known = [cost for cost in costs if cost is not None]
    a_task = _about(known) if known and len(known) == len(costs) else None
    lasting = _about(seconds) if seconds else None
    cost = None if a_task is None else Range(left * a_task.least, left * a_task.most)
    time = None
    if lasting is not None:
        rounds = left / max(1, min(concurrency, left))
        time = Range(rounds * lasting.least, math.ceil(rounds) * lasting.most)
    basis = f"{_count(len(costs), 'task')} that ran"
    if a_task is not None:
        basis += f", ${fmean(known):.4f} each"
    if seconds:
        basis += f", {fmean(seconds):.1f} s each"
    return Estimate(cost, None, time, basis)


def _used(shared: int, own: int, turns: float, out: int, results: int, *, cached: bool) -> list[Usage]:
    """What the calls of one task use; what was sent before is read from the cache where there is one."""
    whole = max(1, round(turns))
    calls = list[Usage]()
    sent = shared if cached else 0
    prompt = shared + own
    for _ in range(whole):
        new = prompt - sent
        calls.append(Usage(cache_write=new, cache_read=sent, output=out) if cached else Usage(prompt, output=out))
        sent = prompt if cached else 0
        prompt += out + results
    return calls


def _first(price: Price, shared: int) -> float:
    return price.of(Usage(cache_write=shared)) - price.of(Usage(cache_read=shared))


def _lasts(count: int, turns: tuple[float, float], concurrency: int, seconds: tuple[float, float]) -> Range:
    if not count:
        return Range(0.0, 0.0)
    rounds = count / max(1, min(concurrency, count))
    return Range(rounds * turns[0] * seconds[0], math.ceil(rounds) * turns[1] * seconds[1])


def _about(values: Sequence[float]) -> Range:
    mean = fmean(values)
    spread = _ONE_ALONE * mean
    if len(values) > 1:
        spread = max(2 * stdev(values) / math.sqrt(len(values)), _LEAST_SPREAD * mean)
    return Range(max(0.0, mean - spread), mean + spread)


def _priced(price: Price | None, *, half: bool) -> str:
    if price is None:
        return "; nobody told what its tokens cost"
    if price == FREE:
        return "; it costs nothing"
    return "; half of list prices" if half else "; list prices"


def _range(least: float, most: float) -> str:
    return _number(least) if least == most else f"{_number(least)} to {_number(most)}"


def _rough(tokens: int) -> str:
    """Two digits of a number are all that a guess is worth, and a few tokens more or less change none of them."""
    return f"{round(tokens, min(0, 2 - len(str(tokens)))):,}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:.1f}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
