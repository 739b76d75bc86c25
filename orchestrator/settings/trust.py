"""What a workspace wishes beyond what it may, and what of it the person allowed.

A workspace can come from anywhere, so nothing that it says switches something on. What it would like stands in
`[wishes]` of its onepen.toml and in the definitions of its agents; each counts only as long as the person remembers
the hash of exactly that. Pure: what was allowed comes along with the request.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from ..gateway.account import Caps
from .setup import Setup

if TYPE_CHECKING:
    from ...memory.settings import WishSettings, WorkspaceSettings
    from ...subagents.definition import AgentDefinition

Kind = Literal["wishes", "agent", "batch"]
REVIEWER = "reviewer"
"""The agent whose definition a reviewing model judges by."""

RUN_COMMAND = "run_command"
GIVEN = frozenset({RUN_COMMAND})
"""The tools that a consent gives; what else an agent asks for, this version doesn't have."""


@dataclass(frozen=True)
class Wish:
    """One thing that can be allowed as it stands: `sha256` is what is remembered, `lines` what a person is told."""

    kind: Kind
    name: str
    sha256: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class InForce:
    """What counts for a request in a workspace: the setup, who reviews where nobody said, and caps that may be higher.

    `notice` says that something is wished and not allowed.
    """

    setup: Setup
    review: Literal["person", "auto"] = "person"
    raised: Caps = field(default_factory=Caps)
    notice: str | None = None


def table_wish(settings: "WorkspaceSettings") -> Wish | None:
    """The `[wishes]` of onepen.toml as one thing; None where there are none."""
    said = settings.wishes.model_dump(exclude_none=True)
    if not said:
        return None
    return Wish("wishes", "onepen.toml", _sha("wishes", settings.id, said), _lines(settings.wishes))


def agent_wish(workspace: str, agent: str, data: bytes, asks: frozenset[str], *, judges: bool = False) -> Wish | None:
    """What an agent's definition asks for by consent, bound to the file's bytes; None where it asks for nothing.

    `judges`: it is the reviewer, by other words than those that onepen ships.
    """
    lines = _asked(agent, asks, judges)
    if not lines:
        return None
    said = {"agent": str(agent), "file": hashlib.sha256(data).hexdigest(), **({"judges": True} if judges else {})}
    sha = _sha("agent", workspace, said)
    return Wish("agent", f"agents/{agent}.md", sha, lines)


def batch_wish(workspace: str, root: str, batch: str, tasks_sha256: str, review: str) -> Wish | None:
    """What a batch needs a person's word for, bound to its tasks; None where it needs none: a budget only tightens.

    `tasks_sha256` is the hash of its tasks.jsonl: other tasks under the same name are allowed nothing. `root` is where
    the workspace lies: a copy of it has the same id, and what a person said of one they did not say of the other.
    """
    if review != "auto":
        return None
    said = {"root": root, "batch": batch, "tasks": tasks_sha256, "review": review}
    line = f"batch {batch}: what is quoted word for word becomes memory without a person, where the policy allows it"
    return Wish("batch", f"batches/{batch}", _sha("batch", workspace, said), (line,))


def believed(workspace: str, data: bytes, shipped: bytes, trusted: frozenset[str]) -> bool:
    """Whether a reviewer's consent may stand for a person's: by the shipped words, or by some that the person allowed.

    Whoever writes the definition of the reviewer decides what it says yes to, and a workspace can come from anywhere.
    """
    wish = agent_wish(workspace, REVIEWER, data, frozenset(), judges=True)
    return data == shipped or (wish is not None and wish.sha256 in trusted)


def allowed(workspace: str, agent: "AgentDefinition", data: bytes, trusted: frozenset[str]) -> "AgentDefinition":
    """The definition in a file's bytes with the tools that the person allowed it; itself where that is nothing."""
    wish = agent_wish(workspace, agent.id, data, agent.asks)
    if wish is None or wish.sha256 not in trusted:
        return agent
    return replace(agent, tools=agent.tools | (agent.asks & GIVEN))


def not_allowed(agent: "AgentDefinition") -> str | None:
    """What a person should know of an agent that asks for a tool in vain; None for any other agent."""
    missing = ", ".join(sorted((agent.asks & GIVEN) - agent.tools))
    if not missing:
        return None
    reason = "you have not allowed it as it stands now, so it works without (onepen trust)"
    return f"agents/{agent.id}.md asks for {missing}: {reason}"


def together(wishes: tuple[Wish, ...]) -> str:
    """One hash for all that is shown, for --sha256."""
    return hashlib.sha256("\n".join(wish.sha256 for wish in wishes).encode()).hexdigest()


def in_force(settings: "WorkspaceSettings", setup: Setup) -> InForce:
    """What counts: the person's own word, and where they said nothing, what they allowed the workspace."""
    wish = table_wish(settings)
    if wish is None:
        return InForce(setup)
    if wish.sha256 not in setup.trusted:
        notice = "[wishes] in onepen.toml is not in force: you have not allowed it as it stands now (onepen trust)"
        return InForce(setup, notice=notice)
    said = settings.wishes
    raised = Caps(said.task_usd, said.day_usd, said.client_day_usd, said.task_tokens, said.day_tokens)
    return InForce(_filled(setup, said), said.review or "person", raised)


def _filled(setup: Setup, said: "WishSettings") -> Setup:
    """The setup with a profile and a model where the person named none."""
    usual = Setup().profile
    if said.profile is not None and setup.profile == usual and said.profile in setup.profiles:
        setup = replace(setup, profile=said.profile)
    if said.model is None or setup.model is not None:
        return setup
    if said.model == "offline":
        return replace(setup, model="offline")
    profile = setup.profiles.get(setup.profile)
    if profile is None or profile.model is not None:
        return setup
    # A model's name means something at one server only.
    profiles = {**setup.profiles, profile.name: replace(profile, model=said.model)}
    return replace(setup, profiles=profiles)


def _asked(agent: str, asks: frozenset[str], judges: bool) -> tuple[str, ...]:
    """Each thing that an agent asks for in plain words."""
    others = ", ".join(sorted(asks - GIVEN))
    commands = (
        f"agent {agent} asks for run_command: to run programs in the sandbox of its worker, without network; they read "
        "the task's inputs and the cards of its client, and write to a folder of their own"
    )
    unknown = f"agent {agent} asks for {others} (this version has no such tools; it is remembered for one that does)"
    judging = (
        f"agent {agent} judges drafts by words that onepen doesn't ship; with --review auto its yes stands for yours"
    )
    lines = ((RUN_COMMAND in asks, commands), (bool(others), unknown), (judges, judging))
    return tuple(line for said, line in lines if said)


def _lines(said: "WishSettings") -> tuple[str, ...]:
    """Each wish in plain words."""
    wishes = (
        (said.model, "work with model {}, where neither a command nor your own config names one"),
        (said.profile, "use profile {} of your config, where neither a command nor your config names one"),
        (said.review, "let what is quoted word for word become memory without a person, where the policy allows it"),
        (said.task_usd, "spend up to ${:,.2f} on one task"),
        (said.day_usd, "spend up to ${:,.2f} a day"),
        (said.client_day_usd, "spend up to ${:,.2f} a day for one client"),
        (said.task_tokens, "use up to {:,} tokens for one task"),
        (said.day_tokens, "use up to {:,} tokens a day"),
    )
    return tuple(text.format(value) for value, text in wishes if value is not None)


def _sha(kind: Kind, workspace: str, said: object) -> str:
    """The hash of one wish of one workspace, the same wherever and however it is written down."""
    text = json.dumps({"onepen": 1, "kind": kind, "workspace": workspace, "said": said}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
