"""Tells a person, each time anew, that prompts show some of their files only in part."""

from datetime import date

from ..memory.errors import MemoryFault
from ..memory.layers import layers
from ..memory.outgrown import in_one_line, outgrown
from ..memory.view import View
from ..memory.workspace import Space
from ..subagents.toolbox.toolset import tool_tokens
from .chat.toolset import tools


def outgrown_lines(view: View, space: Space, today: date, *, house_too: bool = True) -> tuple[str, ...]:
    """One line on what has outgrown its place in the prompts of a space, none where nothing has.

    What can't be read is told where it is read. Raises nothing.
    """
    size = tool_tokens(tools())
    try:
        found = layers(view, space, today, tools=size)
    except (MemoryFault, OSError):
        return ()
    limits = view.workspace.settings.limits
    line = in_one_line(list(outgrown(found, space, limits, size, house_too=house_too)), found)
    return (line,) if line else ()
