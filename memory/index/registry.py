"""The registry of sub-agents, `agents/_index.md`: an index with one block for each agent.

# Agents

## [Researcher](researcher.md)

- [about](researcher.md) — Reads documents and quotes what answers a question.
"""

from collections.abc import Iterable

from ..text.oneline import made_safe
from .entry import SUMMARY_LIMIT, IndexEntry
from .index import Index, empty_index, parse_index

HEADING = "Agents"
ABOUT = "about"


def registry_entry(agent: str, description: str) -> IndexEntry:
    """The one entry of an agent: its description made into one safe line, its name where there is none."""
    return IndexEntry(ABOUT, made_safe(description, SUMMARY_LIMIT) or agent, link=f"{agent}.md")


def with_agent(registry: Index, agent: str, name: str, description: str) -> Index:
    """The registry with a block for the agent, or with its name and description made so."""
    return registry.with_card(agent, title=name, status="", updated="").with_entry(
        agent, registry_entry(agent, description)
    )


def registry_text(agents: Iterable[tuple[str, str, str]]) -> str:
    """The text of a new registry; each agent is (id, name, description), written in that order."""
    registry = parse_index(empty_index(HEADING))
    for agent, name, description in agents:
        registry = with_agent(registry, agent, name, description)
    return registry.text
