"""The money for requests that wait, are out, or have come back: set aside until their results are stored."""

from collections.abc import Callable
from datetime import date

from ...memory.clock import Clock
from ...memory.ids import ClientId
from ..gateway.account import Account, Amount, Caps
from ..gateway.ledger import Ledger, OverBudget, Reservation, Short
from .events import NOTHING, Asked

Accounts = Callable[[Asked], Account]
"""The account of a request that an earlier process has sent; its caps are not asked, for the money is out."""


def bare(asked: Asked) -> Account:
    """The account of a request, as far as the journal knows it."""
    return Account(None if asked.client is None else ClientId(asked.client), asked.task, asked.agent, Caps())


class Till:
    """What is set aside in the ledger, by custom_id."""

    def __init__(self, ledger: Ledger, clock: Clock, accounts: Accounts) -> None:
        self._ledger = ledger
        self._clock = clock
        self._accounts = accounts
        self._aside = ledger.tabs
        self._booked = ledger.booked

    def reserve(self, name: str, account: Account, amount: Amount) -> bool:
        """Sets money aside for a request; False: what others cost decides whether there is enough.

        Raises OverBudget.
        """
        if self.has(name, amount):
            return True
        got = self._ledger.reserve(account, amount, self._today())
        if isinstance(got, Short):
            raise OverBudget(account, got)
        if isinstance(got, Reservation):
            self._aside[name] = got
            return True
        return False

    def has(self, name: str, amount: Amount) -> bool:
        """Whether nothing more has to be set aside for a request."""
        return name in self._aside or amount == NOTHING

    def hold(self, asked: Asked, day: date) -> None:
        """The same for one that is out since that day."""
        if not self.has(asked.id, asked.most):
            self._aside[asked.id] = self._ledger.hold(self._accounts(asked), asked.most, day)

    def settle(self, name: str, cost: Amount) -> None:
        """Books what a request did cost."""
        reservation = self._aside.pop(name, None)
        if reservation is not None:
            self._ledger.settle(reservation, cost)
        if cost != NOTHING:
            self._booked.add(name)

    def book(self, asked: Asked, cost: Amount, day: date) -> None:
        """Books what a request had cost on a day before this process began, if the ledger doesn't know it."""
        if asked.id not in self._booked and cost != NOTHING:
            self._booked.add(asked.id)
            self._ledger.settle(self._ledger.hold(self._accounts(asked), cost, day), cost)

    def release(self, name: str) -> None:
        """Nothing has to be paid for a request."""
        self.settle(name, NOTHING)

    def _today(self) -> date:
        return self._clock.now().date()
