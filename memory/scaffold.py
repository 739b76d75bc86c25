"""What a new workspace, client or agent begins with: planned as files and their bytes, then written where missing.

The texts lie in `shipped/`: every prompt of onepen is a file that its owner can read and change. Nothing that exists is
written over. A folder of another agent that keeps SOUL.md, USER.md, MEMORY.md and AGENTS.md opens as it is: its
AGENTS.md then stands where OPS.md would.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path

from . import files
from .ids import AgentId, ClientId, check_title
from .index.index import empty_index
from .index.registry import registry_text
from .settings import LimitSettings
from .text.frontmatter import parse_front_matter, render_front_matter
from .workspace import SETTINGS

SHIPPED_AGENTS = ("researcher", "writer", "reviewer", "synthesizer", "distiller")


@dataclass(frozen=True)
class Planned:
    """A file to be made: its path, relative to what is being made, and its content."""

    path: str
    data: bytes


def plan_workspace(existing: Callable[[str], bool], id: str, name: str, today: date) -> tuple[Planned, ...]:  # noqa: A002
    """What a workspace lacks; `existing` tells whether a path is taken. `id` names the workspace for ever.

    Raises BadTitle for a name that is no title; an empty one is fine.
    """
    texts = _workspace_texts(id, check_title(name) if name else "", today)
    if existing("AGENTS.md"):
        del texts["OPS.md"]
    return tuple(Planned(path, text.encode()) for path, text in texts.items() if not existing(path))


def plan_client(client: ClientId, title: str) -> tuple[Planned, ...]:
    """The files of a new client's space, relative to `clients/<client>/`; raises BadTitle."""
    name = check_title(title)
    texts = {
        "PERSONA.md": f"# How you are for {name}\n\nAs everywhere; what differs stands here.\n",
        "USER.md": f"# {name}\n\n- Client: {client}\n- People: not known yet\n",
        "OPS.md": f"# Operating rules for {name}\n\nNone besides the general ones.\n",
        "BRIEF.md": f"# What every hand must know about {name}\n\nNothing besides the general brief.\n",
        "MEMORY.md": f"# What was learned about {name}\n",
        "projects/_index.md": empty_index("Projects"),
        "research/_index.md": empty_index("Research"),
    }
    return tuple(Planned(path, text.encode()) for path, text in texts.items())


def plan_agent(agent: AgentId, title: str, text: str | None) -> Planned:
    """The definition of an agent, relative to the workspace: `text` as it is or, without one, a beginning.

    Raises BadTitle.
    """
    if text is None:
        head = {
            "name": agent,
            "description": check_title(title),
            "tools": "Read, Grep, Write, Edit",
            "model": "inherit",
        }
        text = render_front_matter(head) + _AGENT_BODY
    return Planned(f"agents/{agent}.md", text.encode())


def init(root: Path, *, id: str, name: str, today: date) -> tuple[str, ...]:  # noqa: A002
    """Make what a workspace in `root` lacks, the folder itself included; the paths that were made.

    Raises BadTitle, NotADirectoryError for a `root` that is a file, or another OSError.
    """
    files.make_folder(root, within=None)
    made = []
    for planned in plan_workspace(lambda path: (root / path).is_symlink() or (root / path).exists(), id, name, today):
        try:
            files.make_folder((root / planned.path).parent, within=root)
            files.create_exclusive(root / planned.path, planned.data)
        except FileExistsError:
            continue  # somebody made it a moment ago: it is theirs
        made.append(planned.path)
    return tuple(made)


@cache
def shipped(name: str) -> str:
    """A text that onepen ships, such as "RULES.md" or "agents/writer.md"."""
    return resources.files(__package__).joinpath("shipped", *name.split("/")).read_bytes().decode()


def _workspace_texts(workspace: str, name: str, today: date) -> dict[str, str]:
    agents = {agent: shipped(f"agents/{agent}.md") for agent in sorted(SHIPPED_AGENTS)}
    return {
        SETTINGS: _settings(workspace, name, today),
        **{note: shipped(note) for note in ("SOUL.md", "USER.md", "RULES.md", "OPS.md", "BRIEF.md", "MEMORY.md")},
        "projects/_index.md": empty_index("Projects"),
        "research/_index.md": empty_index("Research"),
        "agents/RULES.md": shipped("agents/RULES.md"),
        "agents/_index.md": registry_text((agent, agent, _description(text)) for agent, text in agents.items()),
        **{f"agents/{agent}.md": text for agent, text in agents.items()},
        ".gitignore": shipped("gitignore"),
        ".gitattributes": shipped("gitattributes"),
        # For a folder whose own .gitignore is kept: what belongs to this machine never travels.
        ".onepen/.gitignore": "*\n",
    }


def _description(definition: str) -> str:
    return parse_front_matter(definition).text("description") or ""


def _settings(workspace: str, name: str, today: date) -> str:
    # As comments, so that a line added below is still one of the file's own, and a table of limits is not there twice.
    limits = LimitSettings()
    return (
        f"# Settings of this workspace, made on {today.isoformat()}. They set facts and limits;\n"
        "# what is switched on stands in your own config.\n"
        f"id = {json.dumps(workspace)}\n"
        f"name = {json.dumps(name, ensure_ascii=False)}\n"
        '# timezone = "Europe/Berlin"   # by which day logs are dated; without it, the system\'s\n'
        "\n"
        "# What models may cost here at most. It holds as it stands; to change a line, take away its # and that of\n"
        "# [limits]. More than this your own config has to allow, too (onepen config show).\n"
        "# [limits]\n"
        f"# task_usd = {limits.task_usd:.2f}         # one task, with all its attempts and reviews\n"
        f"# day_usd = {limits.day_usd:.2f}          # this workspace, a day\n"
        f"# client_day_usd = {limits.client_day_usd:.2f}   # one client's space, a day\n"
        f"# task_tokens = {limits.task_tokens}   # one task, where the model's price is unknown\n"
        f"# day_tokens = {limits.day_tokens}    # this workspace, a day, where the price is unknown\n"
    )


_AGENT_BODY = """\
You do one kind of task, and do it well.

1. Read the task, BRIEF and what came with it. Search before you write.
2. Write one draft: the result first, each fact with its quote and place.
3. Report what you found and what is missing.
"""
