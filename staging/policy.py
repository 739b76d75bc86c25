"""Who has to agree before a draft becomes memory: the default policy, as a table.

A row applies when its origin, target and provenance fit; the first that applies decides. What no row names goes
through the checks and a person. Without a model the stage `model` falls away, and what would then pass with checks
alone because a person waived their part (`--review auto`) must be verbatim: every line a heading, a fixed phrase or a
quote that stands where it says.
"""

from dataclasses import dataclass
from typing import Literal

from ..memory.ids import shown
from ..memory.target import CardTarget, FileTarget, NoteTarget, Target
from .finding import Finding

Stage = Literal["checks", "model", "person"]
Origin = Literal["chat", "delegate", "batch", "distillation"]
Provenance = Literal["user", "agent", "external"]
Need = Literal["", "auto", "auto, cited", "verbatim"]
Place = Literal["project cards", "findings", "files of a project", "MEMORY.md", "USER.md"]

PROVENANCES: tuple[Provenance, ...] = ("user", "agent", "external")  # from the most to the least trusted
_ANY: frozenset[Provenance] = frozenset(PROVENANCES)
_OURS: frozenset[Provenance] = frozenset({"user", "agent"})
_WORK: frozenset[Origin] = frozenset({"delegate", "batch"})
_ORIGINS: frozenset[Origin] = frozenset({"chat", "delegate", "batch", "distillation"})
_CARDS: frozenset[Place] = frozenset({"project cards", "findings"})
_RESULTS: frozenset[Place] = frozenset({"findings", "files of a project"})
_PROJECTS: frozenset[Place] = frozenset({"project cards"})
_MEMORY: frozenset[Place] = frozenset({"MEMORY.md"})


@dataclass(frozen=True)
class Row:
    """One line of the policy; `need` is what must hold besides for the row to apply."""

    origins: frozenset[Origin]
    places: frozenset[Place]
    provenances: frozenset[Provenance]
    need: Need
    stages: tuple[Stage, ...]


POLICY: tuple[Row, ...] = (
    Row(_ORIGINS, frozenset({"USER.md"}), _ANY, "", ("checks", "person")),
    Row(frozenset({"chat"}), _CARDS, _OURS, "", ("checks",)),
    Row(_WORK, _RESULTS, _ANY, "auto, cited", ("checks", "model")),
    Row(_WORK, _RESULTS, _ANY, "", ("checks", "model", "person")),
    Row(_WORK, _PROJECTS, _OURS, "auto", ("checks", "model")),
    Row(_WORK, _PROJECTS, _ANY, "auto, cited", ("checks", "model")),
    Row(_WORK, _PROJECTS, _ANY, "", ("checks", "model", "person")),
    Row(frozenset({"distillation"}), _MEMORY, _ANY, "verbatim", ("checks", "model")),
    Row(frozenset({"distillation"}), _MEMORY, _ANY, "", ("checks", "model", "person")),
)
OTHERWISE: tuple[Stage, ...] = ("checks", "person")

_IDENTITY = frozenset({"soul.md", "persona.md", "rules.md", "ops.md", "brief.md"})
_OBEYED = frozenset({"agents.md", "claude.md", "gemini.md"})  # read as instructions by other tools, in whatever folder
_OWN = frozenset({"onepen.toml", "inbox.md"})
_OWN_FOLDERS = frozenset({"memory", "chats", "staging", "logs", "batches"})


def stages(
    *,
    origin: Origin,
    target: Target,
    provenance: Provenance,
    cited: bool,
    verbatim: bool,
    auto: bool,
    model: bool,
) -> tuple[Stage, ...]:
    """The stages that a draft has to pass, in order.

    `cited`: every statement is backed by a quote that was found at its place; `verbatim`: nothing but such quotes;
    `auto`: the person asked for review without them; `model`: a model that can judge is there.
    """
    holds: dict[Need, bool] = {
        "": True,
        "auto": auto,
        "auto, cited": auto and (cited or verbatim),
        "verbatim": verbatim,
    }
    place = _place(target)
    for row in POLICY:
        if origin in row.origins and place in row.places and provenance in row.provenances and holds[row.need]:
            return _without_model(row, verbatim) if not model else row.stages
    return OTHERWISE


def _without_model(row: Row, verbatim: bool) -> tuple[Stage, ...]:
    left: tuple[Stage, ...] = tuple(stage for stage in row.stages if stage != "model")
    if "model" in row.stages and "person" not in row.stages and not verbatim:
        return (*left, "person")
    return left


def refused(target: str) -> Finding | None:
    """A finding when `target` names a file that no draft may change, whoever agrees.

    Who the agent is and by what rules it works changes by a person's hand only; so do files that other agents obey,
    wherever they lie. Other targets that no draft can have are told by `parse_target`.
    """
    parts = target.replace("\\", "/").casefold().split("/")
    top, name, deep = parts[0], parts[-1], len(parts)
    if (deep == 1 and name in _IDENTITY) or (deep != 2 and name in _OBEYED) or (deep > 1 and top == "agents"):
        return Finding("identity", "block", f"{shown(target)} is changed by a person's hand only, never by a draft")
    own = (deep == 1 and name in _OWN) or (deep > 1 and top in _OWN_FOLDERS)
    if own or top == ".onepen" or name == "_index.md":
        return Finding("target", "block", f"{shown(target)} is onepen's own; no draft can change it")
    return None


def lower(one: Provenance, other: Provenance) -> Provenance:
    """The less trusted of two provenances: what a draft claims, and what its transcript shows was read."""
    return max(one, other, key=PROVENANCES.index)


def table_text() -> str:
    """The policy as a Markdown table, as printed and as documented."""
    lines = ["| Origin | Target | Provenance | When | Stages |", "|---|---|---|---|---|"]
    for row in POLICY:
        origins = "any" if row.origins == _ORIGINS else ", ".join(sorted(row.origins))
        provenance = "any" if row.provenances == _ANY else ", ".join(p for p in PROVENANCES if p in row.provenances)
        cells = (origins, ", ".join(sorted(row.places)), provenance, row.need or "always", ", ".join(row.stages))
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("| any | SOUL, PERSONA, RULES, OPS, BRIEF, agents/ | any | always | refused |")
    lines.append(f"| anything else | | | | {', '.join(OTHERWISE)} |")
    return "\n".join(lines) + "\n"


def _place(target: Target) -> Place:
    match target:
        case CardTarget(shelf="research"):
            return "findings"
        case CardTarget():
            return "project cards"
        case FileTarget():
            return "files of a project"
        case NoteTarget(name=name):
            return name
