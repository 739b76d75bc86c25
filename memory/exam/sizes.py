"""What has grown so large that prompts pay for it: notes, the layers of a space, and cards that are read whole.

Sizes are estimated tokens. Nothing is cut here: an index is cut to its budget by whoever puts it into a prompt, a note
never is.
"""

from collections.abc import Iterator

from ..errors import MemoryFault
from ..layers import layers
from ..problem import Problem
from ..tokens import estimate
from ..view import View
from ..workspace import Space

CARD_TOKENS = 8_000
NOTE_TOKENS = 1_500
LAYER_TOKENS = 5_000


def note_size(path: str, text: str) -> Iterator[Problem]:
    """Whether a note, which stands whole in prompts, is larger than a prompt can bear."""
    if (tokens := _tokens(text, NOTE_TOKENS)) is not None:
        message = (
            f"≈{tokens:,} tokens, and it stands whole in every prompt: keep it below ≈{NOTE_TOKENS:,}, and move the "
            "rest into cards, which are found when they are needed"
        )
        yield Problem(path, 0, "note_over_budget", "warning", message)


def card_size(path: str, text: str) -> Iterator[Problem]:
    """Whether a card, which is read whole, is larger than it is useful."""
    if (tokens := _tokens(text, CARD_TOKENS)) is not None:
        message = f"≈{tokens:,} tokens, more than ≈{CARD_TOKENS:,}: who reads it gets all of it; split it in two"
        yield Problem(path, 0, "card_over_budget", "info", message)


def layer_problems(view: View, space: Space) -> Iterator[Problem]:
    """Whether all that a conversation in this space begins with is more than it should be."""
    try:
        found = layers(view, space)
    except (MemoryFault, OSError):
        return  # what can't be read is told where it is read
    total = sum(layer.tokens for layer in found)
    if total > LAYER_TOKENS:
        parts = ", ".join(f"{layer.name} ≈{layer.tokens:,}" for layer in found if layer.tokens)
        message = (
            f"a conversation here begins with ≈{total:,} tokens, more than ≈{LAYER_TOKENS:,} ({parts}): see onepen "
            "context for the files, shorten the notes or lower limits.index_tokens"
        )
        yield Problem(space.prefix or "./", 0, "layers_over_budget", "warning", message)


def _tokens(text: str, most: int) -> int | None:
    """The estimated tokens of a text that has more than `most`; no character is more than 2.5, so most need no look."""
    if len(text) * 5 <= most * 2:
        return None
    tokens = estimate(text)
    return tokens if tokens > most else None
