"""One response of a model, or a call that gave no whole one, as it is told to the usage log."""

from dataclasses import dataclass, field

from ...subagents.model import Usage
from .measured import Measured


@dataclass(frozen=True)
class Response:
    """`call` numbers the responses of one turn, attempt or review from 1; what it used is paid, also if it is `lost`.

    `at` is the time at which it was whole, "" where nobody noted it. `cost_usd` None: no known price.
    """

    call: int
    usage: Usage
    cost_usd: float | None = 0.0
    model: str = ""
    at: str = ""
    lost: bool = False
    measured: Measured = field(default_factory=Measured)
