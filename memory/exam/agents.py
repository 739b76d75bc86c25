"""Examines the sub-agents of a workspace: their definitions, and whether the registry lists each of them."""

from collections.abc import Iterator
from dataclasses import replace

from ..ids import BadId, Id
from ..index.index import parse_index
from ..problem import Problem
from ..text.document import parse_document
from ..view import View
from .legible import judged, legible, names_in
from .lint import front_problems, text_problems
from .names import name_problems
from .shelf import index_problems
from .sizes import note_size

REGISTRY = "agents/_index.md"
RULES = "agents/RULES.md"


def agent_problems(view: View) -> Iterator[Problem]:
    """What is wrong in agents/."""
    folder = view.workspace.root / "agents"
    names = names_in(folder)
    yield from name_problems("agents/", names)
    ids = [n[:-3] for n in names if n.endswith(".md") and _is_id(n[:-3])]
    if ids and "RULES.md" not in names:
        yield Problem(RULES, 0, "rules_missing", "warning", "sub-agents have no rules: onepen init . adds them")
    text = legible(view, REGISTRY)
    if isinstance(text, Problem):
        yield text
        return
    registry = parse_index(text or "")
    for agent in ids:
        yield from judged(view, f"agents/{agent}.md", _definition_problems)
        if registry.card(agent) is None:
            message = f"{agent}.md has no block in the registry, so no agent knows of it"
            yield Problem(f"agents/{agent}.md", 0, "agent_unlisted", "error", message)
    yield from index_problems(REGISTRY, registry)
    rules = legible(view, RULES)
    if isinstance(rules, str):
        yield from note_size(RULES, rules, view.workspace.settings.limits)
    for block in registry.cards:
        if block.id not in ids:
            message = f"the registry has a block for {block.id}.md, which isn't there: put it back, or remove the block"
            yield Problem(REGISTRY, block.line, "agent_missing", "error", message)


def _definition_problems(path: str, text: str) -> Iterator[Problem]:
    yield from text_problems(path, text)
    for problem in front_problems(path, parse_document(text)):
        # Definitions of other tools are often no strict YAML; they are then read line by line.
        yield replace(problem, level="warning")


def _is_id(text: str) -> bool:
    try:
        Id(text)
    except BadId:
        return False
    return True
