"""What a person or the main agent asks for as a change of memory: a card, a client, an agent, a status. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..memory.change import Change, Put, Rename
from ..memory.history import Commit
from ..memory.ids import AgentId, ClientId
from ..memory.scaffold import Planned
from ..memory.target import CardTarget
from ..memory.text.card import CardEdit
from ..memory.text.clip import clip
from ..memory.undone import puts_back, root_of
from ..memory.workspace import SYNTHESIS, Space
from .review.reviewer import CHECKS

MOST_WHAT = 160
"""Characters of what a commit says that it did, where that repeats a text."""


def new_card(space: Space, target: CardTarget, title: str, text: str, who: str, key: str | None) -> Change:
    """A card that is made, with its block in the index."""
    edit = CardEdit(target, "create", text=text, title=title)
    log = (("added", f"{target}: {title}"),)
    return Change(client=space.client, what=f"{target}: created", who=who, edit=edit, log=log, key=key)


def new_client(client: ClientId, title: str, planned: Sequence[Planned], who: str, key: str | None) -> Change:
    """The first files of a client's space."""
    puts = tuple(Put(p.path, p.data) for p in planned)
    log = (("added", f"client {client}: {title}"),)
    return Change(client=client, what=f"clients/{client}: created", who=who, puts=puts, log=log, key=key)


def new_agent(agent: AgentId, planned: Planned, description: str, who: str, key: str | None) -> Change:
    """An agent's definition, with its block in the registry."""
    return Change(
        client=None,
        what=f"{planned.path}: created",
        who=who,
        puts=(Put(planned.path, planned.data),),
        registry=((agent, description),),
        log=(("added", f"agent {agent}"),),
        key=key,
    )


def listed_agent(agent: AgentId, description: str, who: str) -> Change:
    """The block in the registry alone, for a definition that is there."""
    what = f"agents/{agent}.md: listed"
    return Change(None, what, who, registry=((agent, description),), log=(("fixed", what),))


def new_status(space: Space, target: CardTarget, status: str, note: str, who: str, key: str) -> Change:
    """A project's status, set by an agent on its own; `note` says why, in the day log."""
    return Change(
        client=space.client,
        what=f"{target}: status {status}",
        who=who,
        status=(target, status),
        log=(("status", f"{target.card} is {status}: {note}" if note.strip() else f"{target.card} is {status}"),),
        key=key,
        agent=who.partition(":")[2],
        reviewer=CHECKS,
    )


@dataclass(frozen=True)
class NewSynthesis:
    """A synthesis begun anew; `log` are kind and text of the lines that go into the day log with it.

    `before` is the hash of the one that it was made from, None where there was none. `task` is the synthesizer's, None
    for one that was extracted; `sources` are the exchanges that it tells of.
    """

    text: str
    log: tuple[tuple[str, str], ...]
    before: str | None
    why: str
    who: str
    key: str
    task: str | None
    sources: tuple[str, ...]


def new_synthesis(space: Space, new: NewSynthesis) -> Change:
    """The synthesis of a space begun anew, with what is to stand in the day log."""
    return Change(
        client=space.client,
        what=f"{SYNTHESIS}: renewed after {new.why}",
        who=new.who,
        puts=(Put(SYNTHESIS, new.text.encode(), new.before),),
        log=new.log,
        key=new.key,
        agent=new.who.partition(":")[2],
        task=new.task,
        sources=new.sources,
    )


def taken_back(
    space: Space, undone: Commit, commits: Sequence[Commit], who: str, key: str | None, rename: Rename | None = None
) -> Change:
    """What takes a commit back by its text or, for one that renamed a card, by the `rename` that leads back.

    `commits` are all of its space.
    """
    root = root_of(undone, commits)
    verb = "done again" if puts_back(undone, commits) else "undone"
    about = f"{clip(root.what, MOST_WHAT)} ({root.id}{f', draft {root.draft}' if root.draft else ''})"
    return Change(
        client=space.client,
        what=f"{verb}: {about}",
        who=who,
        reverts=undone.changes if rename is None else (),
        rename=rename,
        undoes=undone.id,
        log=((verb.replace(" ", "-"), about),),
        key=key,
    )
