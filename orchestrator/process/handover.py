"""Short writing, by whoever can: the orchestrator that runs, else this command with the pen for a moment.

Which of the two it is can change at any time, so both are tried in turn until one has done it or the patience is over.
The request's id goes with it either way, and is its commit's key: what an orchestrator did before it was killed is
found done, and not done again.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, Union

from ...memory.holder import PenHeld
from .errors import Gone
from .find import PATIENCE_SECONDS, Finder
from .link import Link

if TYPE_CHECKING:
    from ..service import Service
    from .remote import Remote

Done = TypeVar("Done")
Writer = Union["Service", "Remote"]
"""What writes for a moment: a service here, or the orchestrator's over there."""


def written(
    finder: Finder,
    over_there: Callable[[Link], Writer],
    here: Callable[[], Writer],
    act: Callable[[Writer], Done],
    *,
    patience: float = PATIENCE_SECONDS,
    seconds: Callable[[], float] = time.monotonic,
) -> Done:
    """What `act` gives with one of the two writers; `here` waits for the pen for a short while only.

    Raises PenHeld after `patience` seconds, Told, Silent, OtherVersion, or what `act` raises.
    """
    deadline, held = seconds() + patience, None
    while True:
        late = seconds() > deadline
        link = finder.running()
        if link is not None:
            try:
                return act(over_there(link))
            except Gone:
                pass  # it ended: whether it had done it is known by the key
        elif late and held is not None:
            raise held
        try:
            return act(here())
        except PenHeld as e:  # perhaps by an orchestrator that could not be reached yet, and now can
            held = e
