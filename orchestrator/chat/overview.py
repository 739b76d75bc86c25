"""Chats as a list shows them, and one chat as who goes on with it wants to see it: all from the chats' own files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...memory.errors import OnepenError
from ...subagents.messages import Block, Text
from ...subagents.model import Usage
from ..results import Json, UsageTotals
from .lines import Asked, Ended, Lost, Replied
from .session import Session, messages
from .store import Chats

MOST = 20


@dataclass(frozen=True)
class ChatView:
    """One chat: what was said first and last, and what it cost so far.

    `messages` are those of the person. `begun` and `at` are the times of its beginning and of its last message or
    answer. `cost_usd` leaves out `unpriced_tokens`. `layers` are those of the last prompt.
    """

    session: str
    client: str | None
    begun: str
    at: str
    model: str
    messages: int
    first: str
    last: str
    answer: str
    calls: int
    usage: UsageTotals
    cost_usd: float
    unpriced_tokens: int
    layers: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> Json:
        return {
            "session": self.session,
            "client": self.client,
            "begun": self.begun,
            "at": self.at,
            "model": self.model,
            "messages": self.messages,
            "first": self.first,
            "last": self.last,
            "answer": self.answer,
            "calls": self.calls,
            "usage": self.usage.as_json(),
            "cost_usd": self.cost_usd,
            "unpriced_tokens": self.unpriced_tokens,
            "layers": dict(self.layers),
        }


@dataclass(frozen=True)
class ChatsResult:
    """The latest chats of a space, newest first; `notices` tell of those that can't be read."""

    chats: tuple[ChatView, ...]
    notices: tuple[str, ...] = ()

    def as_json(self) -> Json:
        return {"chats": [chat.as_json() for chat in self.chats], "notices": list(self.notices)}


def latest(chats: Chats, most: int = MOST) -> ChatsResult:
    """The chats that were used last; raises LinkLeadsOut."""
    found, notices = [], []
    for id_ in reversed(chats.ids()[-most:]):
        try:
            found.append(view_of(chats.load(id_)[0]))
        except OnepenError as e:
            notices.append(e.message)
    return ChatsResult(tuple(found), tuple(notices))


def view_of(session: Session) -> ChatView:
    """A chat as its lines tell it."""
    asked = [line for line in session.lines if isinstance(line, Asked)]
    times = [line.at for line in session.lines if isinstance(line, Asked | Replied | Ended)]
    paid = [line for line in session.lines if isinstance(line, Replied | Lost)]
    ends = [line for line in session.lines if isinstance(line, Ended) and line.layers]
    usage, spent = sum((line.usage for line in paid), start=Usage()), session.spent
    return ChatView(
        session=session.id,
        client=session.begun.client,
        begun=session.begun.at,
        at=times[-1] if times else session.begun.at,
        model=session.model,
        messages=len(asked),
        first=_words(asked[0].content[-1:]) if asked else "",
        last=_words(asked[-1].content[-1:]) if asked else "",
        answer=_answer(session),
        calls=sum(isinstance(line, Replied) for line in paid),
        usage=UsageTotals(usage.input, usage.cache_write, usage.cache_read, usage.output),
        cost_usd=spent.usd,
        unpriced_tokens=spent.tokens,
        layers=ends[-1].layers if ends else session.begun.layers,
    )


def _answer(session: Session) -> str:
    """What the agent said last, of what is still sent."""
    said = [_words(message.content) for message in messages(session) if message.role == "assistant"]
    return next((text for text in reversed(said) if text), "")


def _words(content: tuple[Block, ...]) -> str:
    return "".join(block.text for block in content if isinstance(block, Text)).strip()
