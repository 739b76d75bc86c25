"""What stands before a conversation as it would begin now: the layers, and the hashes of the files they come from."""

from collections.abc import Iterable

from ...memory.clock import Clock
from ...memory.errors import OnepenError
from ...memory.fence import fences_of
from ...memory.history import Commit
from ...memory.layers import Layer, layers
from ...memory.view import View
from ...memory.workspace import Space
from ...subagents.toolbox.toolset import tool_tokens
from ..tasks.conversation import MAX_TOKENS
from .coverage import latest_synthesis
from .edited import hash_of
from .lines import Prompt, Tool
from .news import latest
from .prompt import layer_tokens, system_blocks
from .toolset import tools

GONE = ""
"""Stands for the hash of a file that isn't there."""


def prompt_now(
    view: View, space: Space, clock: Clock, commits: tuple[Commit, ...], model: str, *, keep: bool = True
) -> Prompt:
    """The prompt with the layers as they are now; with `keep` the key of the fences is kept where there is none yet."""
    found = layers(view, space, clock.now().date(), tools=tool_tokens(tools()))
    newest = latest_synthesis(commits, space)
    blocks = system_blocks(found, space, fences_of(space.root, keep=keep))
    return Prompt(
        model=model,
        system=tuple(text for _, text in blocks),
        parts=tuple(name for name, _ in blocks),
        tools=tuple(Tool(t.name, t.description, t.input_schema) for t in tools()),
        layers=layer_tokens(found, tools()),
        max_tokens=MAX_TOKENS,
        known=latest(commits),
        synthesis="" if newest is None else newest.id,
        files={path: print_of(view, path) for path in _lasting(found)},
    )


def print_of(view: View, path: str) -> str:
    """The beginning of a file's hash; GONE for one that isn't there, or can't be read."""
    try:
        data = view.bytes(path)
    except (OnepenError, OSError):
        return GONE
    return GONE if data is None else hash_of(data)


def _lasting(found: Iterable[Layer]) -> Iterable[str]:
    """The files of the layers but for day logs: those are added to all the time, and the history tells of that."""
    for layer in found:
        for file in layer.files:
            if layer.name != "S" or file.path.endswith("/synthesis.md"):
                yield file.path
