"""A turn of a chat as a person follows it: words as they come on a terminal, the answer at the end elsewhere.

What a reader of stdout gets is the answer alone; tools, progress, notices and the usage line go to stderr.
"""

from typing import TYPE_CHECKING

from . import streams
from .text import one_line, visible

if TYPE_CHECKING:
    from ..chat.answer import TurnResult
    from ..meter.measured import Missed
    from ..requests import TurnEvent
    from .shell import Shell


class Follower:
    """Shows what happens during one turn; `session` is the chat's id once it is known.

    With `live` words are shown as they come in; else nothing but what belongs on stderr, and `end` tells the answer.
    """

    def __init__(self, shell: "Shell", *, live: bool) -> None:
        self._shell = shell
        self._live = live
        self._heard = ""
        self.session: str | None = None

    def happened(self, event: "TurnEvent") -> None:
        from ..requests import BrokeOff, ChatBegun, Notice, ProgressLine, ToolCalled, Words

        match event:
            case ChatBegun(session=session):
                self.session = session
            case Words(text=text):
                self._words(text)
            case BrokeOff(reason=reason):
                self._break()
                self._shell.note(f"(that broke off: {reason}; it begins anew)")
            case ToolCalled(text=text):
                self._break()
                self._shell.note(f"· {one_line(text)}")
            case ProgressLine(task=task, agent=agent, text=text):
                self._break()
                self._shell.note(f"· {task} {agent}: {one_line(text)}")
            case Notice(text=text):
                self._break()
                self._shell.note(one_line(text))

    def end(self, result: "TurnResult") -> None:
        """The answer where it wasn't shown yet, what a person should know, and the usage line."""
        if self._shell.common.json:
            self._shell.put_json(result.as_json())
        elif result.answer and self._heard.strip() != result.answer:
            self._break()  # a model that says all at once was not heard
            streams.answer(visible(result.answer) + "\n")
        self._break()
        self._shell.notes(result.notices)
        for draft in result.drafts:
            self._shell.note(f"{draft} waits for review (next: onepen show {draft})")
        self._shell.note(usage_line(result))

    def broken(self) -> None:
        """The turn ended by an error: what comes next begins on a line of its own."""
        self._break()

    def _words(self, text: str) -> None:
        if self._live and text:
            streams.answer(visible(text))
            self._heard += text

    def _break(self) -> None:
        """What comes next begins on a line of its own, and what was heard so far is no part of it."""
        if self._heard and not self._heard.endswith("\n"):
            streams.answer("\n")
        self._heard = ""


def usage_line(result: "TurnResult") -> str:
    """One line: estimated tokens of the last prompt by layer, the server's counters, the cost, and the tools."""
    layers = " ".join(f"{name} {tokens:,}" for name, tokens in result.layers.items())
    u = result.usage
    if u.input and not u.cache_write and not u.cache_read:
        counted = f"in {u.input:,} not cached, out {u.output:,}"
    else:
        counted = f"in {u.input:,}, cache write {u.cache_write:,}, cache read {u.cache_read:,}, out {u.output:,}"
    cost = "cost unknown" if result.cost_usd is None else f"${result.cost_usd:.4f}"
    calls = f"{result.calls} call{'s' if result.calls != 1 else ''}"
    tools = f" · {', '.join(result.tools)}" if result.tools else ""
    missed = "".join(f" · {_missed(one)}" for one in result.missed if one.tokens)
    return f"usage: {result.model}, {calls} · ≈ {layers} · {counted} · {cost}{missed}{tools}"


def _missed(one: "Missed") -> str:
    """What was sent anew, from which layer on, and why."""
    if one.cause == "renewed":
        return f"{one.layer} renewed"
    after = f" after {one.after} s" if one.cause == "expired" and one.after is not None else ""
    return f"missed from {one.layer} on, {one.cause}{after}: {one.tokens:,} anew"


def rehearsed_line(result: "TurnResult") -> str:
    """What would be sent, and to which model."""
    layers = " ".join(f"{name} {tokens:,}" for name, tokens in result.layers.items())
    total = sum(result.layers.values())
    return f"Would ask {result.model} with ≈ {total:,} tokens ({layers}). Nothing was sent.\n"
