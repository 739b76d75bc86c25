"""A chat as its file tells it: which prompt and messages a model is sent, which calls are open, what was read and paid.

Everything is a function of the lines. What can't be sent is left out here, never removed from the file: replies that
were refused, turns that got no answer, words of a reply that was cut, and the exchanges from before a renewal that the
synthesis tells in their stead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ...subagents.messages import Block, Message, Text, ToolResult, ToolUse, told_apart
from ...subagents.model import ToolSpec
from ..gateway.account import Amount
from .lines import Asked, Begun, Ended, Line, Lost, Made, Prompt, Renewed, Replied, Resulted

INTERRUPTED = "interrupted: onepen ended before this was done"


@dataclass(frozen=True)
class OpenCall:
    """A tool call whose result was never stored; `tasks` are those that it had made by then."""

    turn: int
    use: ToolUse
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Session:
    """A chat: its beginning and all lines after it."""

    begun: Begun
    lines: tuple[Line, ...] = ()

    @property
    def id(self) -> str:
        return self.begun.session

    @cached_property
    def renewed(self) -> Renewed | None:
        """The latest renewal."""
        return next((line for line in reversed(self.lines) if isinstance(line, Renewed)), None)

    @property
    def prompt(self) -> Prompt:
        """What stands before the conversation now: as the chat began, or was renewed last."""
        return self.renewed or self.begun

    @property
    def first(self) -> int:
        """The number of the first turn that is sent."""
        return 1 if self.renewed is None else self.renewed.first

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec() for tool in self.prompt.tools)

    @property
    def turn(self) -> int:
        """The number of the latest turn; 0 before the first."""
        return max((line.turn for line in self.lines if isinstance(line, Asked)), default=0)

    @property
    def external(self) -> bool:
        """Whether text from outside was shown in this chat."""
        return any(line.external for line in self.lines if isinstance(line, Resulted))

    @property
    def known(self) -> str:
        """The latest commit of the space that the agent was told of, in the prompt or since."""
        told = [line.known for line in self.lines if isinstance(line, Asked) and line.known]
        return told[-1] if told else self.begun.known

    @property
    def seen(self) -> Mapping[str, str]:
        """The files whose text the agent knows, of its prompt and by its tools, with the hash that it knows."""
        found: dict[str, str] = dict(self.begun.files)
        for line in self.lines:
            if isinstance(line, Asked | Resulted):
                found |= line.seen
            elif isinstance(line, Renewed):
                found |= line.files
        return found

    @property
    def after(self) -> str:
        """The server's id of the latest reply; "" where it gave none."""
        return next((line.id for line in reversed(self.lines) if isinstance(line, Replied)), "")

    @property
    def model(self) -> str:
        """The name of the model that was asked last."""
        asked = [line.model for line in self.lines if isinstance(line, Asked) and line.model]
        return asked[-1] if asked else self.begun.model

    @property
    def spent(self) -> Amount:
        """What all calls so far cost, lost ones too; those without a known price count by their tokens."""
        amount = Amount()
        for line in self.lines:
            if isinstance(line, Replied | Lost):
                tokens = line.usage.prompt_total + line.usage.output
                amount = amount + (Amount(0.0, tokens) if line.cost_usd is None else Amount(line.cost_usd))
        return amount

    def plus(self, *lines: Line) -> "Session":
        return replace(self, lines=(*self.lines, *lines))


def session_of(lines: Iterable[Line]) -> Session | None:
    """The chat in a file's lines; None when it doesn't begin with its beginning."""
    every = tuple(lines)
    if not every or not isinstance(every[0], Begun):
        return None
    return Session(every[0], tuple(line for line in every[1:] if not isinstance(line, Begun)))


def open_calls(session: Session) -> tuple[OpenCall, ...]:
    """Calls without a result, in order: what a crash left."""
    answered = {line.call for line in session.lines if isinstance(line, Resulted)}
    made: dict[str, tuple[str, ...]] = {}
    for line in session.lines:
        if isinstance(line, Made):
            made[line.call] = (*made.get(line.call, ()), *line.tasks)
    return tuple(
        OpenCall(line.turn, use, made.get(use.id, ()))
        for line in session.lines
        if isinstance(line, Replied)
        for use in _calls(line)
        if use.id not in answered
    )


def unlike(content: Sequence[Block], session: Session) -> tuple[Block, ...]:
    """The blocks with ids of tool calls that this chat hasn't seen."""
    return told_apart(content, (use.id for line in session.lines if isinstance(line, Replied) for use in _calls(line)))


def messages(session: Session) -> tuple[Message, ...]:
    """The conversation as it is sent: alternating, nothing empty, each call answered right after its reply.

    It begins with the first exchange that is still sent.
    """
    results = {line.call: line for line in session.lines if isinstance(line, Resulted)}
    dropped = {line.turn for line in session.lines if isinstance(line, Ended) and line.dropped}
    dropped.update(range(1, session.first))
    found: list[Message] = []
    for line in session.lines:
        if isinstance(line, Asked) and line.turn not in dropped:
            _add(found, "user", _filled(line.content))
        elif isinstance(line, Replied) and line.turn not in dropped and line.stop_reason != "refusal":
            said = tuple(_filled(line.content))
            if not any(isinstance(block, Text | ToolUse) for block in said):
                continue  # thoughts alone are no message
            _add(found, "assistant", said)
            _add(found, "user", (_answer(use, results.get(use.id)) for use in _calls(line)))
    return tuple(found)


def _add(found: list[Message], role: str, blocks: Iterable[Block]) -> None:
    content = tuple(blocks)
    if not content:
        return
    if found and found[-1].role == role:
        found[-1] = Message(found[-1].role, (*found[-1].content, *content))
    elif role == "user":
        found.append(Message("user", content))
    elif found:  # a conversation begins with the person
        found.append(Message("assistant", content))


def _filled(content: Sequence[Block]) -> Iterator[Block]:
    """The blocks without empty texts, and with the input of each call as the object that it has to be."""
    for block in content:
        if isinstance(block, Text) and not block.text.strip():
            continue
        if isinstance(block, ToolUse) and not isinstance(block.input, dict):
            yield replace(block, input={"unreadable": str(block.input)[:200]})
            continue
        yield block


def _calls(line: Replied) -> tuple[ToolUse, ...]:
    return tuple(block for block in line.content if isinstance(block, ToolUse))


def _answer(use: ToolUse, result: Resulted | None) -> ToolResult:
    if result is None:
        return ToolResult(use.id, INTERRUPTED, is_error=True)
    return ToolResult(use.id, result.content or "(nothing)", result.is_error)
