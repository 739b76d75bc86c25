"""What the rows of a batch are held against: the agents, clients, projects and cards that there are, and secrets."""

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache

from ...memory.errors import MemoryFault, OnepenError
from ...memory.ids import AgentId, ClientId
from ...memory.target import parse_target
from ...memory.view import View
from ...memory.workspace import Space
from ...staging.policy import refused
from ...staging.secret import Held
from ...subagents.definition import AgentDefinition
from ..door import refuse
from ..settings.choice import model_of
from ..settings.models import Models
from ..settings.setup import Setup
from ..tasks.projects import project_of


class WorkspaceGround:
    """Answers in words what is wrong with a name, None for nothing; each name is looked up once.

    `agent_of` gives an agent's definition and raises what is wrong with it; `model` names the model for all rows, None:
    as each agent's definition and the person's settings say.
    """

    def __init__(
        self,
        view: View,
        setup: Setup,
        models: Models,
        agent_of: Callable[[AgentId], AgentDefinition],
        named: Callable[[str], str],
        held: Held,
        model: str | None,
        *,
        allow_secret: bool = False,
    ) -> None:
        self._view = view
        self._setup = setup
        self._models = models
        self._agent_of = cache(agent_of)
        self._named = named
        self._held = held
        self._model = model
        self._allow_secret = allow_secret
        self._spaces: dict[str | None, Space] = {}
        self.agent = cache(self._agent)
        self.client = cache(self._client)
        self.project = cache(self._project)
        self.model = cache(self._model_of)

    def target(self, client: str | None, target: str) -> str | None:
        """What is wrong with a target."""
        finding = refused(target)
        if finding is not None:
            return finding.message
        try:
            parse_target(target)
        except MemoryFault as e:
            return e.message
        return None

    def exists(self, client: str | None, target: str) -> bool:
        """Whether the target is there, so that it needn't be created."""
        return self._view.bytes(self._space(client).path(parse_target(target))) is not None

    def refused(self, text: str) -> str | None:
        """What in a text may not be sent to a model."""
        if self._allow_secret:
            return None
        try:
            refuse(text, "the text", self._held)
        except OnepenError as e:
            return e.message
        return None

    def _agent(self, name: str) -> str | None:
        try:
            self._agent_of(AgentId(name))
        except OnepenError as e:
            return e.message
        return None

    def _client(self, name: str) -> str | None:
        try:
            self._space(name)
        except OnepenError as e:
            near = get_close_matches(name, [str(one) for one in self._view.workspace.clients()], 1)
            return e.message + (f"; did you mean {near[0]}?" if near else "")
        return None

    def _project(self, client: str | None, name: str) -> str | None:
        try:
            project_of(self._view, self._space(client), name)
        except OnepenError as e:
            return e.message
        return None

    def _model_of(self, agent: str, client: str | None) -> str:
        definition = self._agent_of(AgentId(agent))
        owner = None if client is None else ClientId(client)
        name = self._named(model_of(self._setup, self._model, definition, owner))
        self._models(name, definition, owner)
        return name

    def _space(self, client: str | None) -> Space:
        if client not in self._spaces:
            self._spaces[client] = self._view.workspace.space(client)
        return self._spaces[client]
