"""Chats as people read them: the list, the last words of one that goes on, and what it cost."""

from typing import TYPE_CHECKING

from .ink import ink
from .terminal import Terminal
from .text import count, cut, one_line, table, wrap
from .toll import Toll

if TYPE_CHECKING:
    from ..chat.overview import ChatsResult, ChatView


def listed(result: "ChatsResult", terminal: Terminal, command: str) -> str:
    """One chat a line, the one that was used last first; `command` goes on with one."""
    if not result.chats:
        return "There is no chat yet.\n"
    rows = [
        (chat.session, chat.at[:16].replace("T", " "), count(chat.messages, "message"), one_line(chat.first))
        for chat in result.chats
    ]
    return table(rows, terminal.columns) + wrap(f"Next: {command} {result.chats[0].session}\n", terminal.columns)


def last_words(view: "ChatView", terminal: Terminal) -> str:
    """A chat that goes on: how long it is, and what was said last, each on one line."""
    head = f"chat {view.session}: {count(view.messages, 'message')}, the last {view.at[:16].replace('T', ' ')}\n"
    said = [cut(f"{sign} {one_line(text)}", terminal.columns) for sign, text in _said(view) if text]
    return wrap(head, terminal.columns) + "".join(ink(line, "dim", terminal) + "\n" for line in said)


def _said(view: "ChatView") -> tuple[tuple[str, str], ...]:
    return (">", view.last), ("…", view.answer)


def spent(view: "ChatView", terminal: Terminal) -> str:
    """What a chat cost, and what its last prompt was made of."""
    toll, u = Toll.of(view), view.usage
    layers = " ".join(f"{name} {tokens:,}" for name, tokens in view.layers.items())
    lines = (
        f"chat {view.session}, {view.model}: {count(view.messages, 'message')}, {toll.line()}\n",
        f"tokens: in {u.input:,}, cache write {u.cache_write:,}, cache read {u.cache_read:,}, out {u.output:,}\n",
        f"the last prompt: ≈ {sum(view.layers.values()):,} tokens, {layers}\n",
    )
    return "".join(wrap(line, terminal.columns) for line in lines)
