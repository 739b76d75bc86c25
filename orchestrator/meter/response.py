"""One response of a model, or a call that gave no whole one, as it is told to the usage log."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...subagents.model import Usage
from ..settings.choice import FIRST
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


def model_of(asked: str, found: Iterable[Response]) -> str:
    """The model that gave these; one that was asked for as whatever a server lists first has a name of its own."""
    return next((one.model for one in found if one.model), asked) if asked == FIRST else asked
