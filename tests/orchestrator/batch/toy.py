"""A workspace small enough to be written down, for what asks a `Ground`."""

from dataclasses import dataclass, field

from onepen.orchestrator.errors import BadRequest


@dataclass
class Toy:
    """Clients with their projects, agents with their models, and the targets that exist ("acme/research/x.md")."""

    clients: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"acme": ("kiln",), "beta": ()})
    agents: dict[str, str] = field(default_factory=lambda: {"researcher": "offline", "writer": "claude-sonnet-5-5"})
    there: frozenset[str] = frozenset()
    asked: list[str] = field(default_factory=list)

    def agent(self, name: str) -> str | None:
        self.asked.append(f"agent {name}")
        return None if name in self.agents else f"no agent {name!r}"

    def client(self, name: str) -> str | None:
        self.asked.append(f"client {name}")
        return None if name in self.clients else f"no client {name!r}"

    def project(self, client: str | None, name: str) -> str | None:
        return None if name in self.clients.get(client or "", ()) else f"no project {name!r}"

    def target(self, client: str | None, target: str) -> str | None:
        return "USER.md is for a person" if target == "USER.md" else None

    def exists(self, client: str | None, target: str) -> bool:
        return f"{client or 'house'}/{target}" in self.there

    def model(self, agent: str, client: str | None) -> str:
        if client == "beta" and agent == "writer":
            raise BadRequest("client beta has no server for a writer")
        return self.agents[agent]

    def refused(self, text: str) -> str | None:
        return "this looks like a key" if "sk-ant-" in text else None
