"""A turn of a chat as a person follows it: words as they come on a terminal, the answer at the end elsewhere.

What a reader of stdout gets is the answer alone; tools, progress, notices and the usage line go to stderr.
On a terminal the answer is broken at blanks, and something moves as long as nothing is to be seen.
"""

from typing import TYPE_CHECKING

from . import streams
from .flow import Flow
from .text import one_line, visible
from .toll import Toll
from .waiting import Waiting

if TYPE_CHECKING:
    from ..chat.answer import TurnResult
    from ..meter.measured import Missed
    from ..requests import TurnEvent
    from .shell import Shell


class Follower:
    """Shows what happens during one turn; `session` is the chat's id once it is known.

    With `live` words are shown as they come in; else nothing but what belongs on stderr, and `end` tells the answer.
    With `brief` the last line says what the turn cost, and no more.
    """

    def __init__(self, shell: "Shell", *, live: bool, brief: bool = False) -> None:
        self._shell = shell
        self._live = live
        self._brief = brief
        self._heard = ""  # of the reply that comes in
        self._before = ""  # of those that called a tool
        self._open = False  # whether a line of it has no end yet
        self._flow = Flow(shell.terminal.columns)
        self._waiting = Waiting(live=live and shell.terminal.live)
        self.session: str | None = None

    def began(self) -> None:
        """The message is on its way."""
        self._waiting.show("thinking")

    def happened(self, event: "TurnEvent") -> None:
        from ..requests import BrokeOff, ChatBegun, Notice, ProgressLine, ToolCalled, Words

        self._waiting.clear()
        match event:
            case ChatBegun(session=session):
                self.session = session
            case Words(text=text):
                self._words(text)
            case BrokeOff(reason=reason):
                self._break()
                self._heard = ""
                self._shell.note(f"(that broke off: {reason}; it begins anew)")
            case ToolCalled(text=text):
                self._break()
                self._before, self._heard = f"{self._before}{self._heard}", ""
                self._shell.note(f"· {one_line(text)}")
            case ProgressLine(task=task, agent=agent, text=text):
                self._break()
                self._shell.note(f"· {task} {agent}: {one_line(text)}")
            case Notice(text=text):
                self._break()
                self._shell.note(one_line(text))
        if not isinstance(event, Words):
            self._waiting.show("thinking" if isinstance(event, ChatBegun) else "working")

    def note(self, text: str) -> None:
        """Says something in between."""
        self._waiting.clear()
        self._break()
        self._shell.note(text)

    def end(self, result: "TurnResult") -> None:
        """The answer where it wasn't shown yet, what a person should know, and the usage line."""
        self._waiting.clear()
        if self._shell.common.json:
            self._shell.put_json(result.as_json())
        elif result.answer and not self._knows(result.answer):
            self._break()  # a model that says all at once was not heard
            self._say(visible(result.answer) + "\n")
        self._break()
        self._shell.notes(result.notices)
        for draft in result.drafts:
            self._shell.note(f"{draft} waits for review (next: onepen show {draft})")
        self._shell.note(Toll().plus(result).line() if self._brief else usage_line(result))

    def broken(self) -> None:
        """The turn ended by an error: what comes next begins on a line of its own."""
        self._waiting.clear()
        self._break()

    def _words(self, text: str) -> None:
        if self._live and text:
            self._say(visible(text))
            self._heard += text
            self._open = not text.endswith("\n")

    def _knows(self, answer: str) -> bool:
        """Whether it was shown as it came in; what was said beside a call is the answer where nothing came after it."""
        heard = self._heard.strip()
        return heard == answer or (not heard and "".join(answer.split()) in "".join(self._before.split()))

    def _say(self, text: str) -> None:
        streams.answer(self._flow.feed(text) if self._shell.terminal.talks else text)

    def _break(self) -> None:
        """What comes next begins on a line of its own."""
        streams.answer(self._flow.end())
        if self._open:
            streams.answer("\n")
        self._open, self._flow = False, Flow(self._shell.terminal.columns)


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
        return f"begun anew from {one.layer} on"
    after = f" after {one.after} s" if one.cause == "expired" and one.after is not None else ""
    return f"missed from {one.layer} on, {one.cause}{after}: {one.tokens:,} anew"


def rehearsed_line(result: "TurnResult") -> str:
    """What would be sent, and to which model."""
    layers = " ".join(f"{name} {tokens:,}" for name, tokens in result.layers.items())
    total = sum(result.layers.values())
    return f"Would ask {result.model} with ≈ {total:,} tokens ({layers}). Nothing was sent.\n"
