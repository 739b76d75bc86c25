"""Which model a name means."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import OrchestratorFault
from .gateway.price import FREE, Price

if TYPE_CHECKING:
    from ..subagents.definition import AgentDefinition
    from ..subagents.model import Model

OFFLINE = "offline"
SCRIPTED = "scripted:"

Models = Callable[[str, "AgentDefinition"], "Model"]


@dataclass(frozen=True)
class Served:
    """A model that can be called: `price` None where nobody knows it; models that share a `limit` share a server's."""

    model: "Model"
    price: Price | None = FREE
    limit: str = ""
    call_seconds: float = 900.0
    patience_seconds: float = 1_800.0

    @property
    def free(self) -> bool:
        return self.price == FREE


def follows_remarks(name: str) -> bool:
    """Whether a model does something else when a draft is sent back to it; offline would quote the same again."""
    return name != OFFLINE


class UnknownModel(OrchestratorFault):
    """Raised when a name means no model."""

    exit_code = 2

    def __init__(self, name: str) -> None:
        super().__init__(f"model {name!r}: unknown; known are offline and scripted:FILE", hint="onepen delegate --help")


class NeedsModel(OrchestratorFault):
    """Raised when an agent that writes prose is to work with the offline model, which writes none."""

    exit_code = 2

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"agent {agent} needs a model that writes: offline only finds and quotes, and besides it this version has "
            "only scripted:FILE, which plays a script in tests",
            hint='onepen delegate "TEXT" --agent researcher',
        )


class Resolver:
    """Finds models by name; a script is read once, so that what it counts is counted over all of a run."""

    def __init__(self) -> None:
        self._scripts: dict[str, Model] = {}

    def __call__(self, name: str, definition: "AgentDefinition") -> "Model":
        """The model of that name for an agent; raises UnknownModel, NeedsModel or ScriptUnreadable."""
        if name == OFFLINE:
            if not definition.offline:
                raise NeedsModel(definition.id)
            from .offline import Offline

            return Offline()
        if name.startswith(SCRIPTED):
            from ..testing.scripted import ScriptedModel

            if name not in self._scripts:
                self._scripts[name] = ScriptedModel.from_file(Path(name.removeprefix(SCRIPTED)))
            return self._scripts[name]
        raise UnknownModel(name)
