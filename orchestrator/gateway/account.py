"""Who pays for a model call, and how much at most: caps, amounts and the account that a call is made on."""

from dataclasses import dataclass

from ...memory.ids import ClientId


@dataclass(frozen=True)
class Amount:
    """What calls cost: US dollars where the price is known, and all tokens of the calls where it isn't."""

    usd: float = 0.0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.usd + other.usd, self.tokens + other.tokens)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.usd - other.usd, self.tokens - other.tokens)


@dataclass(frozen=True)
class Caps:
    """Upper bounds of a person or a workspace; None: none of its own. Of several, the smallest counts.

    A task's cap holds for all its attempts and reviews together, a day's for the workspace, a client's day for its
    space. `tokens` bound what has no known price.
    """

    task_usd: float | None = None
    day_usd: float | None = None
    client_day_usd: float | None = None
    task_tokens: int | None = None
    day_tokens: int | None = None


@dataclass(frozen=True)
class Allowance:
    """An amount that the tasks of a batch share: `usd` None: it bounds nothing. `spent` is as in Account."""

    name: str
    usd: float | None
    spent: Amount = Amount()


@dataclass(frozen=True)
class Account:
    """On whose account a call is made: `purse` is the task or chat whose cap counts, `spent` what it had cost before.

    `spent` is what stood in the usage logs when this account was opened; what is spent on it since, the ledger knows.
    `ceiling_usd` is how much the purse could be given by --budget; more has to be allowed elsewhere. `shared` is what
    it has together with others.
    """

    client: ClientId | None
    purse: str
    agent: str
    caps: Caps
    spent: Amount = Amount()
    ceiling_usd: float | None = None
    shared: Allowance | None = None
