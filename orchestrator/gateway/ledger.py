"""Budgets: what a call may cost at most is set aside before it is made, and what it did cost is booked after it.

So the sum never passes a cap, however many calls are out at the same time. A call that fits only once others have
come back cheaper than they might have been waits for them; one that doesn't fit even so is over the budget.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from math import ceil
from typing import Literal

from ...memory.ids import ClientId
from ...memory.tokens import estimate
from ...subagents.model import ModelRequest, ToolSpec, Usage
from ..errors import OrchestratorFault
from .account import Account, Allowance, Amount
from .price import Price

MARGIN = 1.25
"""What an estimate of tokens is multiplied by before money is set aside for it."""

MAIN = "main"
"""The agent that a person talks to, in the accounts of its calls."""

_DUST = 1e-9  # sums of amounts are not exact to the last bit

Spent = Callable[[date], Mapping[ClientId | None, Amount]]
"""What all spaces together had spent on a day before this process began, by client."""


Cap = Literal["task", "batch", "day", "client"]


@dataclass(frozen=True)
class Short:
    """A cap that a call doesn't fit under: whose it is, its size, what is spent of it, what the call may cost.

    Amounts are US dollars or, for a call without a known price, `tokens`.
    """

    cap: Cap
    tokens: bool
    size: float
    spent: float
    needed: float


class OverBudget(OrchestratorFault):
    """Raised before a call that may cost more than is left; `short` says of which cap."""

    exit_code = 4

    def __init__(self, account: Account, short: Short) -> None:
        whose = {
            "task": f"the budget of {account.purse}",
            "batch": f"the budget of batch {account.shared.name if account.shared else ''}",
            "day": "the day's budget",
            "client": f"the day's budget of client {account.client}",
        }[short.cap]
        more = account.ceiling_usd is not None and account.ceiling_usd > short.size
        goes_on = more and short.cap == "task" and not short.tokens and account.agent != MAIN
        hint = f"onepen resume {account.purse} --budget USD" if goes_on else "onepen config show"
        if short.cap == "batch" and account.shared is not None:
            hint = f"onepen batch resume {account.shared.name} --budget USD"
        super().__init__(
            f"{whose}: {_said(short.spent, short)} of {_said(short.size, short)} are spent, and the next call may cost "
            f"{_said(short.needed, short)}",
            hint=hint,
        )
        self.short = short


class Unpriced(OrchestratorFault):
    """Raised before a call whose price nobody knows, where no budget of tokens bounds it."""

    exit_code = 2

    def __init__(self, model: str) -> None:
        super().__init__(
            f"model {model}: its price is unknown, and unknown is never free; give it one under "
            f'[profiles.NAME.prices."{model}"] in your config, or a bound with task_tokens under [budget]',
            hint="onepen config show",
        )


@dataclass(frozen=True)
class Reservation:
    """What was set aside for one call."""

    account: Account
    day: date
    amount: Amount


@dataclass(frozen=True)
class Wait:
    """The call would fit if the others that are out cost less than they may."""


@dataclass
class _Pot:
    spent: Amount = field(default_factory=Amount)
    aside: Amount = field(default_factory=Amount)


@dataclass
class Ledger:
    """All money of a process. `before` tells what a day had cost before; it is asked once for each day.

    `tabs` are what is set aside for longer than a call lasts, by name, and `booked` the names of what was booked so:
    whoever holds them changes, and nothing of it is set aside or booked twice.
    """

    before: Spent = lambda day: {}
    tabs: dict[str, Reservation] = field(default_factory=dict)
    booked: set[str] = field(default_factory=set)
    _purses: dict[str, _Pot] = field(default_factory=dict)
    _shared: dict[str, _Pot] = field(default_factory=dict)
    _days: dict[tuple[date, ClientId | None], _Pot] = field(default_factory=dict)
    _asked: set[date] = field(default_factory=set)

    def reserve(self, account: Account, amount: Amount, day: date) -> Reservation | Wait | Short:
        """Sets `amount` aside, if it fits under each of the account's caps."""
        self._open(account, day)
        wait = False
        for short, aside in self._against(account, amount, day):
            if short.spent + short.needed > short.size + _DUST:
                return short
            wait = wait or short.spent + aside + short.needed > short.size + _DUST
        return Wait() if wait else self._aside(account, amount, day)

    def hold(self, account: Account, amount: Amount, day: date) -> Reservation:
        """Sets aside what may have to be paid already, whatever the caps say."""
        self._open(account, day)
        return self._aside(account, amount, day)

    def settle(self, reservation: Reservation, used: Amount) -> None:
        """Books what the call did cost, in the place of what was set aside."""
        for pot in self._pots(reservation.account, reservation.day):
            pot.aside = pot.aside - reservation.amount
            pot.spent = pot.spent + used

    def spent(self, purse: str) -> Amount:
        """What a task or chat has cost as far as this process knows."""
        return self._purses.get(purse, _Pot()).spent

    def _aside(self, account: Account, amount: Amount, day: date) -> Reservation:
        for pot in self._pots(account, day):
            pot.aside = pot.aside + amount
        return Reservation(account, day, amount)

    def _open(self, account: Account, day: date) -> None:
        if day not in self._asked:
            self._asked.add(day)
            for client, amount in self.before(day).items():
                self._days[day, client] = _Pot(amount)
        _opened(self._purses, account.purse, account.spent)
        if account.shared is not None:
            _opened(self._shared, account.shared.name, account.shared.spent)
        self._days.setdefault((day, account.client), _Pot())

    def _pots(self, account: Account, day: date) -> tuple[_Pot, ...]:
        pots = self._purses[account.purse], self._days[day, account.client]
        return pots if account.shared is None else (*pots, self._shared[account.shared.name])

    def spent_of(self, allowance: Allowance) -> Amount:
        """What all who share it have spent, as far as this process knows."""
        return self._shared.get(allowance.name, _Pot(allowance.spent)).spent

    def forget(self, purse: str) -> None:
        """A task is over: what it has cost stands in the logs. Nothing of it may be set aside."""
        pot = self._purses.get(purse)
        if pot is not None and abs(pot.aside.usd) < _DUST and not pot.aside.tokens:
            del self._purses[purse]

    def _against(self, account: Account, amount: Amount, day: date) -> Iterator[tuple[Short, float]]:
        """Each cap that counts for this call, with what others have set aside under it."""
        purse, client = self._purses[account.purse], self._days[day, account.client]
        whole = _Pot()
        for (of, _), pot in self._days.items():
            if of == day:
                whole = _Pot(whole.spent + pot.spent, whole.aside + pot.aside)
        caps = account.caps
        in_money: tuple[tuple[Cap, float | None, _Pot], ...] = (
            ("task", caps.task_usd, purse),
            ("batch", *self._allowed(account)),
            ("day", caps.day_usd, whole),
            ("client", caps.client_day_usd if account.client is not None else None, client),
        )
        for name, size, pot in in_money:
            if size is not None and amount.usd > 0:
                yield Short(name, False, size, pot.spent.usd, amount.usd), pot.aside.usd
        in_tokens: tuple[tuple[Cap, int | None, _Pot], ...] = (
            ("task", caps.task_tokens, purse),
            ("day", caps.day_tokens, whole),
        )
        for name, most, pot in in_tokens:
            if most is not None and amount.tokens > 0:
                yield Short(name, True, most, pot.spent.tokens, amount.tokens), pot.aside.tokens

    def _allowed(self, account: Account) -> tuple[float | None, _Pot]:
        if account.shared is None:
            return None, _Pot()
        return account.shared.usd, self._shared[account.shared.name]


def _opened(pots: dict[str, _Pot], name: str, spent: Amount) -> None:
    """An account that is opened again counts what stands in the logs by then: never the same twice."""
    pot = pots.setdefault(name, _Pot(spent))
    pot.spent = Amount(max(pot.spent.usd, spent.usd), max(pot.spent.tokens, spent.tokens))


def most(request: ModelRequest, price: Price | None) -> Amount:
    """The most that a call may cost: the whole prompt written to the cache, and the longest reply.

    In tokens where there is no price: only what has no price is bounded by tokens.
    """
    tokens = ceil(prompt_tokens(request) * MARGIN)
    if price is None:
        return Amount(0.0, tokens + request.max_tokens)
    rates = price.at(tokens)
    caching = request.caching
    hour = caching is not None and "1h" in (caching.prefix, caching.tail)
    dearest = max(rates.input, rates.cache_write, rates.hour if hour else 0.0)
    return Amount(Price(dearest, 0.0, 0.0, rates.output).of(Usage(input=tokens, output=request.max_tokens)))


def prompt_tokens(request: ModelRequest) -> int:
    """About how many tokens a request's prompt has."""
    before = sum(map(_remembered, request.system)) + sum(map(_of_tool, request.tools))
    return before + sum(message.tokens for message in request.messages)


def cost(usage: Usage, price: Price | None) -> float | None:
    """US dollars; None where the price is unknown and something was used."""
    if price is None:
        return None if usage != Usage() else 0.0
    return price.of(usage)


def used(usage: Usage, price: Price | None) -> Amount:
    """What a call takes from its budgets."""
    if price is None:
        return Amount(0.0, usage.prompt_total + usage.output)
    return Amount(price.of(usage))


@lru_cache(maxsize=64)
def _remembered(text: str) -> int:
    """About how many tokens a text has that stands in many requests."""
    return estimate(text)


@lru_cache(maxsize=64)
def _of_tool(tool: ToolSpec) -> int:
    return estimate(str(tool.as_dict()))


def _said(value: float, short: Short) -> str:
    if short.tokens:
        return f"{value:,.0f} tokens"
    cents = abs(value - round(value, 2)) < _DUST or value >= 1  # a budget of a tenth of a cent is no budget of nothing
    return f"${value:,.2f}" if cents else f"${value:,.4f}"
