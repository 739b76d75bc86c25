"""What the Messages API has, and not each server that speaks it; which of it a server takes, learnt by asking.

Two things change no reply, only its price and what is said of it: cache marks that live an hour, and diagnostics of the
cache. A server that refuses a request with them is sent it again without, before anything was said or paid. When it
takes it then, that is told once, and remembered for as long as the process lives.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

REFUSALS = frozenset({400, 422})
"""The statuses by which servers refuse a request for what stands in it."""

_NAMED = {"ttl": ("ttl", "cache_control"), "diagnostics": ("diagnostics", "previous_message_id")}
_LACKS = {
    "ttl": "the server takes no cache marks that live an hour, so they live five minutes there",
    "diagnostics": "the server doesn't say why its cache missed; onepen judges by what it sent",
}


@dataclass(frozen=True)
class Extras:
    """`ttl`: marks may say that they live an hour. `diagnostics`: the server is asked why its cache missed."""

    ttl: bool = True
    diagnostics: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in fields(self) if getattr(self, one.name))

    def without(self, *names: str) -> "Extras":
        return replace(self, **dict.fromkeys(names, False))


EXTRAS = Extras()


class Understood:
    """What servers, by their address, take of what they were sent; `notice` gets each thing that one lacks, once."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        self._notice = notice
        self._lacks: set[tuple[str, str]] = set()
        self._takes: set[tuple[str, str]] = set()

    def of(self, address: str, wished: Extras) -> Extras:
        """What of it can be sent."""
        return wished.without(*(name for name in wished.names if (address, name) in self._lacks))

    def fewer(self, address: str, sent: Extras, status: int, message: str) -> Extras | None:
        """What to try after a refusal; None where it has another reason.

        A refusal that names none of them may mean any that this server has never taken.
        """
        if status not in REFUSALS:
            return None
        named = [name for name in sent.names if any(word in message for word in _NAMED[name])]
        meant = named or [name for name in sent.names if (address, name) not in self._takes]
        return sent.without(*meant) if meant else None

    def took(self, address: str, sent: Extras) -> None:
        """The server took a request with these."""
        self._takes.update((address, name) for name in sent.names)

    def lacks(self, address: str, place: str, refused: Extras, taken: Extras) -> None:
        """It took a request with `taken` after it had refused the same with `refused`."""
        for name in refused.names:
            if name not in taken.names and (address, name) not in self._lacks:
                self._lacks.add((address, name))
                self._notice(f"{place}: {_LACKS[name]}")
