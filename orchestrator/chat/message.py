"""The person's message as it is sent: behind the time, and behind what was changed since the agent was last told."""

from ...memory.errors import OnepenError
from ...memory.fence import fences_of
from ...memory.view import View
from ...subagents.messages import Block, Text
from ..requests import Notice, OnEvent
from .beginning import print_of
from .edited import Edited, by_hand, edits_told, other_than
from .house import House
from .lines import Asked
from .news import latest, news_since, told_line, told_paths
from .session import Session


def message(house: House, session: Session, words: str, model: str, on_event: OnEvent) -> Asked:
    """The line of a message; the person is told in one line what the agent is told of changes."""
    now, commits, space = house.clock.now(), house.commits(), house.space
    fences = fences_of(space.root)
    seen = other_than(session.seen, lambda path: print_of(house.view, path))
    told = told_paths(commits, session)
    edited = [Edited(path, _text(house.view, path)) for path in by_hand(seen, told)]
    notes = (news_since(commits, session, fences), edits_told(edited, session.prompt, fences, space.prefix))
    if line := told_line(commits, session, [one.path for one in edited], space.prefix):
        on_event(Notice(line))
    blocks: list[Block] = [Text(f"(It is {now:%A} {now.isoformat(sep=' ', timespec='minutes')}.)\n")]
    blocks += [Text(note) for note in notes if note]
    blocks.append(Text(words))
    at = now.isoformat(timespec="seconds")
    return Asked(session.turn + 1, at, tuple(blocks), latest(commits), model, seen)


def _text(view: View, path: str) -> str | None:
    """The text of a file that was edited; None where there is none any more that can be read."""
    try:
        return view.text(path)
    except (OnepenError, OSError):
        return None
