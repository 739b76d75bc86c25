"""What an attack is: something that a hostile worker tries, in its own process, with all that it could know."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.attacks.world import World

Try = Callable[[World], bytes | bool | None]
"""What it gets: bytes that it has read, True for something that can't be seen from outside, else nothing is said."""


@dataclass(frozen=True)
class Attack:
    """`name` says what it would do; `group` is one of the modules beside this one."""

    name: str
    group: str
    attempt: Try


ATTACKS: list[Attack] = []


def attack(name: str) -> Callable[[Try], Try]:
    """Registers a function as an attack of its module."""

    def register(attempt: Try) -> Try:
        ATTACKS.append(Attack(name, attempt.__module__.rpartition(".")[2], attempt))
        return attempt

    return register
