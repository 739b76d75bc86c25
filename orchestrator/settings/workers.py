"""Programs of the person's own that work as sub-agents: which agent is done by which, decided from names alone."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ...memory.ids import shown
from ..errors import OrchestratorFault

if TYPE_CHECKING:
    from ...subagents.definition import AgentDefinition
    from .setup import Setup


class NoSuchWorker(OrchestratorFault):
    """Raised when an agent's definition names a program that the person's config doesn't have."""

    exit_code = 2

    def __init__(self, agent: str, worker: str, known: tuple[str, ...]) -> None:
        listed = ", ".join(known) or "none"
        super().__init__(
            f"agent {agent} is to be done by worker {shown(worker)}, which your config doesn't have (known: {listed}); "
            f"a workspace can't bring a program along, so write [workers.{worker}] with its command there",
            hint="onepen config show",
        )


class NoProgram(OrchestratorFault):
    """Raised when the program that the person's config names for an agent isn't there, or may not be run."""

    exit_code = 2

    def __init__(self, agent: str, worker: str, program: str) -> None:
        super().__init__(
            f"agent {agent} is to be done by {program}, which isn't there or can't be run; your config names it "
            f"under [workers.{worker}]",
            hint="onepen config show",
        )


def check_there(agent: "AgentDefinition") -> None:
    """Raises NoProgram for an agent whose program could not be started; where the config is read, it may be missing."""
    if agent.program:
        from shutil import which

        if which(agent.program[0]) is None:
            raise NoProgram(agent.id, agent.worker or agent.id, agent.program[0])


def employed(agent: "AgentDefinition", setup: "Setup") -> "AgentDefinition":
    """The definition with the program that does its work: that which it names, else one of the agent's own name.

    Raises NoSuchWorker.
    """
    program = setup.workers.get(agent.worker or agent.id, ())
    if agent.worker and not program:
        raise NoSuchWorker(agent.id, agent.worker, tuple(sorted(setup.workers)))
    return replace(agent, program=program) if program else agent
