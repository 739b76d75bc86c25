"""Which model a name means."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OrchestratorFault
from ..gateway.price import FREE, Price
from .choice import ALIASES, OFFLINE, SCRIPTED, own_server, usable_profile
from .setup import NOTHING, Profile, Setup

if TYPE_CHECKING:
    from ...memory.ids import ClientId
    from ...subagents.definition import AgentDefinition
    from ...subagents.model import Model
    from ..gateway.clients import Clients
    from ..outbox.outbox import Outbox

__all__ = [
    "OFFLINE",
    "SCRIPTED",
    "Models",
    "NeedsModel",
    "Resolver",
    "Served",
    "UnknownModel",
    "follows_remarks",
    "judges",
]

Models = Callable[[str, "AgentDefinition", "ClientId | None"], "Served"]
"""A name as a task's sheet keeps it, the agent that is to work with it, and the client whose ties count."""

_HOW = (
    "for Claude set ANTHROPIC_API_KEY; for a server of your own set ANTHROPIC_BASE_URL, or write [profiles.default] "
    "with base_url in your config"
)


@dataclass(frozen=True)
class Served:
    """A model that can be called: `price` None where nobody knows it; models that share a `limit` share a server's.

    `look` finds the price where that has to be looked up first: `priced` does it. `outbox` takes its calls where they
    are to go by Message Batches, None: they are made at once.
    """

    model: "Model"
    price: Price | None = FREE
    limit: str = ""
    call_seconds: float = 900.0
    patience_seconds: float = 1_800.0
    look: Callable[[], Awaitable[Price | None]] | None = None
    outbox: "Outbox | None" = None

    async def priced(self) -> "Served":
        """The same with its price, as far as it is known."""
        return self if self.look is None else replace(self, price=await self.look(), look=None)

    @property
    def free(self) -> bool:
        return self.price == FREE


def follows_remarks(name: str) -> bool:
    """Whether a model does something else when a draft is sent back to it; offline would quote the same again."""
    return name != OFFLINE


def judges(name: str) -> bool:
    """Whether a model can judge a draft; offline understands nothing."""
    return name != OFFLINE


class UnknownModel(OrchestratorFault):
    """Raised when a name means no model, or one that can't be reached without a key or a server."""

    exit_code = 2

    def __init__(self, name: str) -> None:
        near = [known for known in (OFFLINE, *ALIASES) if _near(name, known)]
        meant = f"; did you mean {near[0]}?" if near else ""
        known = f"known without a key are offline and scripted:FILE; {_HOW}"
        super().__init__(f"model {name!r}: no server to ask{meant}; {known}", hint="onepen config show")


class NeedsModel(OrchestratorFault):
    """Raised when an agent that writes prose is to work with the offline model, which writes none."""

    exit_code = 2

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"agent {agent} needs a model that writes: offline only finds and quotes; {_HOW}",
            hint='onepen delegate "TEXT" --agent researcher',
        )


class Resolver:
    """Finds models by name, with the settings that a request brought along.

    A script is read once, so that what it counts is counted over all of a run. `clients` are the connections that the
    process keeps warm (`Gateway.clients`).
    """

    def __init__(self, setup: Setup = NOTHING, clients: "Clients | None" = None) -> None:
        self._setup = setup
        self._clients = clients
        self._scripts: dict[str, Model] = {}

    def __call__(self, name: str, definition: "AgentDefinition", client: "ClientId | None" = None) -> Served:
        """The model of that name for an agent at work for a client.

        Raises UnknownModel, NeedsModel, ScriptUnreadable, or what says that the client's profile can't be used.
        """
        if name == OFFLINE:
            if not definition.offline and not definition.program:
                raise NeedsModel(definition.id)
            from ..extractive.offline import Offline

            return Served(Offline())
        if name.startswith(SCRIPTED):
            from ...testing.scripted import ScriptedModel

            if name not in self._scripts:
                self._scripts[name] = ScriptedModel.from_file(Path(name.removeprefix(SCRIPTED)))
            return Served(self._scripts[name])
        profile = usable_profile(self._setup, client)
        if profile is None or _near(name, OFFLINE):
            raise UnknownModel(name)
        return _served(profile, name, self._clients)


def _near(name: str, known: str) -> bool:
    """Whether `known` was meant and misspelt: it isn't sent to a server as one of its ids, then."""
    return name != known and bool(get_close_matches(name.lower(), (known,), 1, 0.8))


def _served(profile: Profile, name: str, clients: "Clients | None") -> Served:
    from ..gateway.claude import Claude

    model = Claude(profile, name, clients)
    return Served(
        model,
        profile.prices.get(name),
        _limit(profile, name),
        profile.call_seconds,
        profile.patience_seconds,
        model.price,
    )


def _limit(profile: Profile, name: str) -> str:
    """One limit for each address and credential; Anthropic counts each model by itself, too."""
    secret = profile.key or profile.token
    mark = "" if secret is None else sha256(secret.value.encode()).hexdigest()[:16]
    return f"{profile.base_url or 'anthropic'} {mark} {'' if own_server(profile) else name}"
