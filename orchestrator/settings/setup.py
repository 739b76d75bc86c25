"""What one request brings along from the shell where it was typed: credentials, profiles and the person's own caps.

The command reads the environment and the person's config; the orchestrator reads neither, so that each shell's own
settings count and a workspace can switch nothing on. Over the socket a setup travels as JSON; it is never written
to a file or a log.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...subagents.process.descriptors import AT_ONCE
from ..gateway.account import Caps
from ..gateway.price import Price


@dataclass(frozen=True)
class Secret:
    """A value that is shown nowhere; `value` is read by the gateway only."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "(secret)"


@dataclass(frozen=True)
class Profile:
    """One way to reach models: a server, a key and what the person says of them.

    `base_url` None is Anthropic's own; `key` goes into X-Api-Key, `token` into Authorization. `local` admits loopback
    addresses only. `models` says what `sonnet`, `opus` and `haiku` mean; `prices` are by model id, and so is
    `cached_from`, the tokens from which on a prompt is cached. `diagnostics`: whether the server is asked why its cache
    missed; None: only Anthropic's own. `lacks` says why a key that the person's config names isn't there, `found` where
    the one that is there was found.
    """

    name: str
    base_url: str | None = None
    key: Secret | None = None
    token: Secret | None = None
    model: str | None = None
    local: bool = False
    models: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    silence_seconds: float = 180.0
    call_seconds: float = 900.0
    patience_seconds: float = 1_800.0
    lacks: str = ""
    found: str = ""
    cached_from: Mapping[str, int] = field(default_factory=dict)
    diagnostics: bool | None = None

    def secrets(self) -> dict[str, str]:
        """Its credentials by what they are called."""
        named = (("key", self.key), ("token", self.token))
        return {f"the {what} of profile {self.name}": secret.value for what, secret in named if secret is not None}

    @property
    def usable(self) -> bool:
        """Whether a call can be made: a key, a token or a server of one's own; nothing that was named is missing."""
        reachable = self.key is not None or self.token is not None or self.base_url is not None
        return reachable and not self.lacks


@dataclass(frozen=True)
class Setup:
    """A request's settings. `model` None: Claude where a profile is usable, else offline.

    `profile` names the one that is used where nothing else is said. `ties` bind a client's space to a profile by name:
    nothing else is ever used for it. `caps` are the person's own; `trusted` holds the hashes of what they allowed
    workspaces (`onepen trust`). `via` names the profile that was asked for. `idle_seconds` is how long an orchestrator
    without work stays; `mirrors` says, to be shown, whether git follows what onepen commits, and
    `durability` when a commit of an orchestrator counts as made, `at_once` how many workers it has at the same time.
    `workers` are the command lines of programs that work as sub-agents, by name, and `notify` is that of one that is
    told when a batch has ended; `unsafe` is the person's word that what nothing confines may run for this request.
    """

    model: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    ties: Mapping[str, str] = field(default_factory=dict)
    caps: Caps = field(default_factory=Caps)
    trusted: frozenset[str] = frozenset()
    via: str | None = None
    profile: str = "default"
    idle_seconds: int = 600
    mirrors: bool = False
    durability: str = "full"
    at_once: int = AT_ONCE
    workers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notify: tuple[str, ...] = ()
    unsafe: bool = False
    source: Literal["config", "none"] = "none"

    def secrets(self) -> dict[str, str]:
        """The credentials in it by what they are called, to be kept out of memory and logs."""
        return {name: value for profile in self.profiles.values() for name, value in profile.secrets().items()}


NOTHING = Setup()
"""No config, no credentials: the offline model alone."""
