"""What has grown so large that prompts pay for it, or show it in part: notes, indexes, layers, and cards read whole.

Sizes are estimated tokens.
"""

from collections.abc import Iterator

from ..budget import first_lines
from ..errors import MemoryFault
from ..layers import layers
from ..outgrown import note_limit, note_problem, outgrown
from ..problem import Problem
from ..settings import LimitSettings
from ..tokens import estimate
from ..view import View
from ..workspace import Space

CARD_TOKENS = 8_000


def note_size(path: str, text: str, limits: LimitSettings) -> Iterator[Problem]:
    """Whether a note that stands in no layer of a chat is larger than what a prompt takes of it."""
    most, _ = note_limit(path, limits)
    if len(text) * 5 > most * 2 and (cut := first_lines(text, most, path)).left_out:  # else it surely fits
        yield note_problem(path, cut.left_out, limits)


def card_size(path: str, text: str) -> Iterator[Problem]:
    """Whether a card, which is read whole, is larger than it is useful."""
    if len(text) * 5 > CARD_TOKENS * 2 and (tokens := estimate(text)) > CARD_TOKENS:
        message = f"≈{tokens:,} tokens, more than ≈{CARD_TOKENS:,}: who reads it gets all of it; split it in two"
        yield Problem(path, 0, "card_over_budget", "info", message)


def layer_problems(view: View, space: Space, tools: int = 0) -> Iterator[Problem]:
    """What of the prompts of this space has outgrown its place; `tools` are the tokens of their tools."""
    try:
        found = layers(view, space, tools=tools)
    except (MemoryFault, OSError):
        return  # what can't be read is told where it is read
    yield from outgrown(found, space, view.workspace.settings.limits, tools, house_too=space.client is None)
