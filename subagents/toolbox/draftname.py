"""The file names of drafts: one plain segment that ends with `.md`, safe on every system."""

import re

from ...memory.ids import CardId, shown
from .toolinput import ToolRefused

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_FROM_TARGET = 90


def draft_name(wanted: str) -> str:
    """The name that a model asks for, `drafts/` and `.md` made up for; raises ToolRefused with the rule it breaks."""
    text = wanted.strip().removeprefix("./").removeprefix("drafts/")
    name = text if text.endswith(".md") else f"{text}.md"
    if not _NAME.fullmatch(name):
        raise ToolRefused(
            f"name {shown(wanted)}: a draft's name is 1 to 97 letters, digits, '-', '_' or '.', without a folder; "
            "leave it out and it gets one"
        )
    if name.partition(".")[0].lower() in CardId.reserved:
        raise ToolRefused(f"name {shown(wanted)}: this name is reserved by some systems; choose another")
    return name


def name_for(target: str, section: str | None = None) -> str:
    """The name of a draft that nobody named: its target's own, with the section it changes."""
    base = target.rpartition("/")[2][:_FROM_TARGET]
    if section is None:
        return base if base.endswith(".md") else f"{base}.md"
    plain = re.sub(r"[^a-z0-9-]+", "", section.lower())[:40].strip("-")
    return f"{base.removesuffix('.md')}-{plain or 'edit'}.md"


def next_name(name: str) -> str:
    """The name to try when `name` is taken: `kiln.md`, `kiln-2.md`, `kiln-3.md`."""
    match = re.fullmatch(r"(?P<stem>.*?)(?:-(?P<number>[0-9]{1,4}))?\.md", name)
    assert match is not None
    return f"{match['stem']}-{int(match['number'] or 1) + 1}.md"


def short_names(target: str) -> tuple[str, ...]:
    """How models name a target when they forget its folder or ending."""
    name = target.rpartition("/")[2]
    return (name, name.removesuffix(".md"), target.removesuffix(".md"))
