"""When I, S and C of a chat are begun anew, and from which exchange on it is sent as it was. Pure.

The synthesis of a space is renewed after so many exchanges of all its chats, or when one of them has grown too long.
From then on each chat of the space begins with it: what was said before stands in the synthesis instead of the chat,
but for the last few exchanges. Nothing is left out of a chat that no synthesis tells of.
"""

from collections.abc import Iterator
from dataclasses import replace

from ...memory.history import Commit
from ...memory.settings import LimitSettings
from .coverage import Coverage
from .lines import Asked, Ended
from .prompt import conversation_tokens
from .session import Session, messages

MOST_KEPT = 6
"""How many exchanges, at most, stand in a chat after its renewal."""


def due(exchanges: int, chat_tokens: int, limits: LimitSettings) -> str:
    """Why a synthesis is due, in a few words; "" when it isn't.

    `exchanges` of the space are told of in none; `chat_tokens` (estimated) are those of the conversation as it is now.
    """
    if exchanges >= limits.synthesis_exchanges:
        return f"{exchanges} exchanges"
    if exchanges and chat_tokens > limits.chat_tokens:
        return f"a chat of {chat_tokens:,} tokens"
    return ""


def first_kept(session: Session, told: Coverage, limits: LimitSettings) -> int:
    """The turn from which on a chat is still sent: its last exchanges, and all of which no synthesis tells.

    Whole exchanges, so that no call is cut from its result. One that alone is half of what a chat may have is left out,
    too: kept, it would make the next renewal due at once.
    """
    room, kept = limits.chat_tokens // 4, session.turn + 1
    for place, (turn, tokens) in enumerate(_sizes(session)):
        fits = tokens <= room or (place == 0 and tokens <= limits.chat_tokens // 2)
        if place >= MOST_KEPT or not fits:
            break
        kept, room = turn, max(0, room - tokens)
    return max(1, min(kept, _told_until(session, told) + 1))


def renewed_line(commit: Commit, kept: int) -> str:
    """What a person is told when a chat begins anew from the synthesis of a commit, with so many exchanges kept."""
    word = "exchange" if kept == 1 else "exchanges"
    with_last = f" and its last {kept} {word}" if kept else ""
    return f"{commit.what} ({commit.id}); this chat goes on from it{with_last}"


def _sizes(session: Session) -> Iterator[tuple[int, int]]:
    """The exchanges of a chat with their tokens, the latest first."""
    begun = replace(session, lines=())
    for turn in sorted({line.turn for line in session.lines if isinstance(line, Asked)}, reverse=True):
        own = begun.plus(*(line for line in session.lines if getattr(line, "turn", None) == turn))
        yield turn, sum(conversation_tokens(messages(own)).values())


def _told_until(session: Session, told: Coverage) -> int:
    """The last turn of a chat that a synthesis tells of."""
    ended = [line for line in session.lines if isinstance(line, Ended)]
    return max((line.turn for line in ended if told.tells(session.id, line.turn, line.at)), default=0)
