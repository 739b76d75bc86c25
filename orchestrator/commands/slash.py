"""A line of a chat: something said to the agent, or one of the words that begin with `/` and are for onepen.

A message may begin with `/` all the same: a path is said as it is, and a blank or a second `/` before it says anything.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from .text import pad, wrap

Takes = Literal["nothing", "may", "must"]
"""Whether something follows a word."""


@dataclass(frozen=True)
class Word:
    """A word for onepen; `follows` says what may or must stand behind it, as help shows it."""

    name: str
    does: str
    follows: str = ""
    takes: Takes = "nothing"
    others: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.follows}".rstrip()


WORDS = (
    Word("context", "what is sent with your next message, layer by layer; or what differs by now", "[diff]", "may"),
    Word("usage", "what this chat used and cost"),
    Word("drafts", "the drafts that wait"),
    Word("show", "a draft with its change", "ID", "must"),
    Word("approve", "show a draft, ask, and commit it", "ID", "must"),
    Word("delegate", "give a task to a sub-agent and wait", "[AGENT] TEXT", "must"),
    Word("renew", "sum up what was said lately, and begin index, synthesis and chat anew with it"),
    Word("resume", "go on with another chat; alone: list the latest", "[CHAT]", "may"),
    Word("new", "begin a new chat"),
    Word("help", "this list", others=("?",)),
    Word("quit", "end; the chat is kept", others=("exit",)),
)
_NAMED = {name: word for word in WORDS for name in (word.name, *word.others)}
_PATH = re.compile(r"/[^\s/]+/")
_SAY = "to say it to the agent, put a blank before it"
_KEYS = (
    "Enter sends; Alt-Enter, Ctrl-J or a \\ at the end begins a new line. Tab completes, Ctrl-R looks in what you said "
    "before. Ctrl-C ends an answer, and twice at the empty line the chat.\n"
    "A message that begins with /: put a blank or another / before it.\n"
)


@dataclass(frozen=True)
class Said:
    """Words for the agent."""

    text: str


@dataclass(frozen=True)
class Command:
    """A word for onepen and what stands behind it."""

    name: str
    rest: str = ""


@dataclass(frozen=True)
class NotUnderstood:
    """A line that begins like a word for onepen and is none; `told` says why and what would be."""

    told: str


Understood = Said | Command | NotUnderstood


def understood(line: str) -> Understood:
    """What a line of a chat means; the words that are said keep their lines, without blanks around them."""
    text = line.strip()
    if not text.startswith("/") or line[:1].isspace():
        return Said(text)
    if text.startswith("//"):
        return Said(text[1:])
    if text == "/" or _PATH.match(text):
        return Said(text)
    name, _, rest = text[1:].partition(" ") if " " in text.partition("\n")[0] else text[1:].partition("\n")
    word, rest = _NAMED.get(name.lower()), rest.strip()
    if word is None:
        return NotUnderstood(f"/{name}: no such command; {_instead(name.lower())}; {_SAY}")
    if rest and word.takes == "nothing":
        return NotUnderstood(f"/{word.name} takes nothing behind it; {_SAY}")
    if not rest and word.takes == "must":
        return NotUnderstood(f"/{word.name}: say which: {word.usage}")
    return Command(word.name, rest)


def _instead(name: str) -> str:
    """The word that was meant, or where they are listed."""
    from difflib import get_close_matches

    near = [f"/{one}" for one in get_close_matches(name, list(_NAMED), n=2, cutoff=0.6)]
    near = near or [f"/{one}" for one in _NAMED if name and one.startswith(name)]
    return f"did you mean {' or '.join(near)}" if near else "/help lists them"


def help_text(columns: int) -> str:
    """All words, one a line, and the keys."""
    room = max(len(word.usage) for word in WORDS) + 2
    rows = (f"{pad(word.usage, room)}{word.does}\n" for word in WORDS)
    return "".join(wrap(row, columns, "    ") for row in rows) + wrap(_KEYS, columns, "")


def completions(before: str, ids: Callable[[str], Iterable[str]]) -> Iterator[tuple[str, str]]:
    """The lines that a line up to the cursor may become, each with what it does.

    `ids` gives what may stand behind a word. Nothing for what is said to the agent.
    """
    if not before.startswith("/") or "\n" in before:
        return
    name, blank, rest = before.partition(" ")
    if not blank:
        yield from ((f"/{word.name}", word.does) for word in WORDS if word.name.startswith(name[1:].lower()))
        return
    word = _NAMED.get(name[1:].lower())
    if word is not None and word.takes != "nothing":
        yield from ((f"{name} {one}", "") for one in ids(word.name) if one.startswith(rest))
