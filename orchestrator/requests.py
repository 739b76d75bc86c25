"""What a person asks of the service, as frozen values; paths in them are absolute."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from .results import DraftView


@dataclass(frozen=True)
class ProgressLine:
    """Something that a person may want to see while a task runs: which task, and one line of text.

    A `lasting` line is not drawn over: who looks at the screen later should still find it. One that has `ended` says
    what became of a task while others of the same request still run.
    """

    task: str
    agent: str
    text: str
    lasting: bool = False
    ended: bool = False


Progress = Callable[[ProgressLine], None]
Confirm = Callable[[DraftView, str], bool]
"""Asked with a draft that is not what was shown (with its new diff), and what moved; False: not now."""


@dataclass(frozen=True)
class DelegateRequest:
    """What `delegate` was asked for. `inputs` are absolute paths, resolved by the command in its own folder.

    Agents pair with texts in order; one text goes to all agents; no agent means the researcher. `target` is
    relative to the client's space; without one a new research/<slug>.md is made. A task for a `project` may also go to
    the project's card or files. Limits left at None are those of the workspace; they can only be lowered.
    `budget_usd` is for each task, `allow_secret` the person's word that no text holds a secret. `review` None: a
    person, unless they allowed the workspace's wish for another; `model` None: the person's own default. `external`
    says that the words of the task may come from outside: the main agent gave it away after reading such text.
    `papers` are further inputs, as texts with their names (`said.md`).
    """

    texts: tuple[str, ...]
    agents: tuple[str, ...] = ()
    client: str | None = None
    project: str | None = None
    target: str | None = None
    inputs: tuple[Path, ...] = ()
    review: Literal["person", "auto"] | None = None
    answer: bool = False
    model: str | None = None
    max_turns: int | None = None
    time_limit: int | None = None
    budget_usd: float | None = None
    allow_secret: bool = False
    external: bool = False
    papers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ChatRequest:
    """One message to the main agent.

    `session` None begins a new chat, else it is a chat's id, the beginning of one, or "last". `model` None: the chat's
    own, in a new one the person's default. `budget_usd` bounds the whole chat, and each task that it gives away.
    """

    text: str
    session: str | None = None
    client: str | None = None
    model: str | None = None
    budget_usd: float | None = None


@dataclass(frozen=True)
class ChatBegun:
    """The chat that answers: new, or the one that goes on; its file is there."""

    session: str


@dataclass(frozen=True)
class Words:
    """More words of an answer while it comes in."""

    text: str


@dataclass(frozen=True)
class BrokeOff:
    """The reply was cut and begins anew: what was heard of it doesn't count."""

    reason: str


@dataclass(frozen=True)
class ToolCalled:
    """The main agent has a tool run; `text` says which in one line."""

    tool: str
    text: str


@dataclass(frozen=True)
class Notice:
    """A line that the person should see at once: that a call waits, say."""

    text: str


TurnEvent = ChatBegun | Words | BrokeOff | ToolCalled | Notice | ProgressLine
OnEvent = Callable[[TurnEvent], None]
"""Told what happens during a turn of a chat; lines of sub-agents come through it, too."""


@dataclass(frozen=True)
class SearchRequest:
    """What `search` was asked for; dates are inclusive days in the workspace's zone."""

    text: str
    client: str | None = None
    all_clients: bool = False
    since: date | None = None
    until: date | None = None
    where: frozenset[str] = frozenset({"cards", "log", "chat", "research"})
    limit: int = 10
