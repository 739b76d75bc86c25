"""An index as an agent looks into it: the cards of a group that its prompt only counted, one line a card.

projects/_index.md, lines 120-1844 of 25,003
   120	## [Open studio](open-studio.md)
  1844	## [Cups](cups.md)
(2 cards; a card's id as section shows its lines here, read_card with the id alone opens the card)
"""

from collections import Counter

from ...memory.heads import chosen, heads
from ...memory.ids import shown
from .page import Page, picked
from .toolinput import ToolRefused

_ROWS = 150
_NAMED = 8


def listing(path: str, text: str, wanted: str, start: int) -> Page:
    """The lines of the index `text` that answer `wanted`, from line `start` on; raises ToolRefused for none."""
    numbers = chosen(text, wanted)
    if not numbers:
        raise ToolRefused(f"{path}: {shown(wanted)} is no month, status, card or beginning of an id{_there(text)}")
    rest = [number for number in numbers if number >= start]
    page = picked(path, text, rest[:_ROWS])
    remarks = [f"more: read on with start={rest[_ROWS]}"] if len(rest) > _ROWS else []
    remarks.append("section takes a card's id, a month, a status or first letters of ids; an id as card opens it")
    return Page(page.path, page.lines, page.total, tuple(remarks))


def _there(text: str) -> str:
    """The groups there are, the largest first."""
    found = heads(text)
    groups = Counter([*(date[:7] for date in found.dates if date), *(status for status in found.statuses if status)])
    return f"; there are: {', '.join(name for name, _ in groups.most_common(_NAMED))}" if groups else ""
