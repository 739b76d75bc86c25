"""What onepen writes about its own work names no secret: values of credentials and what has their shape are masked.

A process learns the credentials that it is given; from then on nothing that passes through `mask` holds them, in
logs, errors, tracebacks and what workers print.
"""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import quote

from ...staging.secret import Held, mask

SHORTEST = 6
"""Characters that a value has at least to be looked for."""

LONG = 20
"""A value of so many characters is looked for even without a digit."""

_NAMES = frozenset(
    {"KEY", "APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "CREDENTIAL", "CREDENTIALS"}
)
_NO_SECRETS = frozenset({"DIR", "ENDPOINT", "FILE", "HOST", "ID", "LIMIT", "NAME", "PATH", "TTL", "TYPE", "URI", "URL"})
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_IN_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,128}:([^\s/@]{1,256})@")


class Known:
    """The credentials that this process knows, by what they are called; shown nowhere."""

    def __init__(self, *held: Held) -> None:
        self._held: dict[str, str] = {}
        for one in held:
            self.learn(one)

    def __repr__(self) -> str:
        return f"Known({len(self._held)} values)"

    @property
    def held(self) -> Held:
        return MappingProxyType(self._held)

    def learn(self, held: Held) -> None:
        """Look out for these, too, as they are and as they stand in JSON and addresses.

        Values that could as well be words ("none", "lm-studio") are passed over.
        """
        for name, value in held.items():
            if worth(value):
                self._held[name] = value
                for form, written in (("JSON", json.dumps(value)[1:-1]), ("an address", quote(value, safe=""))):
                    if written != value:
                        self._held[f"{name}, as in {form}"] = written

    def mask(self, text: str) -> str:
        """The text with each known value, and each value of a secret's shape, replaced by its kind in brackets."""
        return mask(text, self._held)

    def masked(self, value: object) -> object:
        """A value as JSON has it, with every text in it masked; anything else as its masked `str`."""
        match value:
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.mask(str(key)): self.masked(one) for key, one in value.items()}
            case list() | tuple() | set() | frozenset():
                return [self.masked(one) for one in value]
            case bytes():
                return self.mask(value.decode(errors="replace"))
            case _:
                return self.mask(str(value))


def worth(value: str) -> bool:
    """Whether a credential's value can be looked for without finding ordinary words."""
    if len(value) < SHORTEST or (value.isdigit() and len(value) < LONG):
        return False
    return len(value) >= LONG or any(c.isdigit() for c in value)


def held_in(env: Mapping[str, str]) -> dict[str, str]:
    """Credentials in an environment: of variables named as such, and passwords in addresses."""
    held: dict[str, str] = {}
    for name, value in env.items():
        parts = [part.upper() for part in _PART.findall(name)]
        if (found := _IN_URL.match(value)) is not None:
            held[f"the password in {name}"] = found[1]
        elif _NAMES.intersection(parts) and parts[-1] not in _NO_SECRETS and not value.startswith("/"):
            held[f"the value of {name}"] = value
    return held
