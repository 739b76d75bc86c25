"""Which notes and day logs a chat may read on in: those that its prompt shows, whole or in part, and no others.

A name is a path as the prompt gives it. In a client's space `USER.md` is the house's, as there, and the client's own
is `clients/<client>/USER.md`; what the house keeps for itself (MEMORY.md, its day logs) means the client's own.
"""

import re

from ...memory.workspace import Space

HOUSE = frozenset({"AGENTS.md", "BRIEF.md", "OPS.md", "RULES.md", "SOUL.md", "USER.md"})
"""The house's notes, which stand in the prompts of all spaces."""

_OWN = frozenset({"BRIEF.md", "MEMORY.md", "OPS.md", "PERSONA.md", "USER.md", "memory/synthesis.md"})
_LOG = re.compile(r"memory/\d{4}-\d\d-\d\d\.md")
REGISTRY = "agents/_index.md"


def note_path(name: str, space: Space) -> str | None:
    """The workspace path of the note or day log that a name means in this space; None if it means none of them."""
    text = name.strip().removeprefix("./")
    inner = text.removeprefix(space.prefix)
    if text == REGISTRY or (inner == text and inner in HOUSE):
        return text
    return space.path(inner) if inner in _OWN or _LOG.fullmatch(inner) else None
