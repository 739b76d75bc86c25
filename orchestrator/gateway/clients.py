"""Connections to model servers, kept warm: one client for each address and credential."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import EventLoopToken, current_token

from ..settings.setup import Profile, Secret
from .address import address_of, on_this_machine
from .extras import Understood
from .least import Taught
from .probe import Probe, listed

if TYPE_CHECKING:
    import anthropic

CONNECT_SECONDS = 10.0

_NO_KEY = "none"  # a server of one's own wants none, but the library wants to send something


@dataclass
class _Warm:
    loop: EventLoopToken
    client: "anthropic.AsyncAnthropic"


@dataclass
class Clients:
    """All clients of a process; `close` ends their connections. `notice` gets a line for people, each once.

    A client belongs to the event loop that it was made in; a new loop gets new ones.
    """

    notice: Callable[[str], None] = lambda line: None
    _warm: dict[tuple[str, Secret | None, Secret | None], _Warm] = field(default_factory=dict)
    _models: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _imported: bool = False
    _asking: anyio.Lock = field(default_factory=anyio.Lock)

    def __post_init__(self) -> None:
        self.probe = Probe(self.notice)
        self.understood = Understood(self.notice)
        self.taught = Taught()

    async def of(self, profile: Profile) -> "anthropic.AsyncAnthropic":
        """The client for this profile's address and credential; raises NotLocal."""
        key = (address_of(profile), profile.key, profile.token)
        if not self._imported:
            # A second of work: in a thread, so that what runs meanwhile goes on.
            await anyio.to_thread.run_sync(_import)
            self._imported = True
        # No await from here on: who comes at the same time gets the same client.
        warm = self._warm.get(key)
        if warm is None or warm.loop != current_token():
            warm = self._warm[key] = _Warm(current_token(), _made(profile, key[0]))
        return warm.client

    async def models(self, profile: Profile) -> tuple[str, ...] | None:
        """The models that a server lists, asked once; () when it lists none, None when it can't be reached."""
        address = address_of(profile)
        async with self._asking:
            if address not in self._models:
                models = await listed(await self.of(profile))
                if models is None:
                    return None
                self._models[address] = models
        return self._models[address]

    async def close(self) -> None:
        """Ends all connections of this event loop."""
        warm, self._warm = tuple(self._warm.values()), {}
        for one in warm:
            if one.loop == current_token():
                await one.client.close()


def _import() -> None:
    import anthropic  # noqa: F401


def _made(profile: Profile, address: str) -> "anthropic.AsyncAnthropic":
    """A client that neither tries again nor follows a redirect, and reads no credential of its own."""
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

    key = profile.key.value if profile.key is not None else None
    token = profile.token.value if profile.token is not None else None
    own = profile.base_url is not None
    if key is None and token is None:
        key = _NO_KEY
    client = AsyncAnthropic(
        api_key=key,
        auth_token=token if key is None else None,
        base_url=address,
        max_retries=0,
        open_telemetry=False,
        http_client=DefaultAsyncHttpxClient(
            base_url=address, follow_redirects=False, trust_env=not on_this_machine(address)
        ),
    )
    # In the place of what the library took from ANTHROPIC_CUSTOM_HEADERS: it may be another account's key. Servers
    # that learnt the older form of the API look for the key in X-Api-Key.
    client._custom_headers = {"X-Api-Key": key} if own and key is not None else {}
    return client
