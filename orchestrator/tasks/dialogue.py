"""A scripted orchestrator talks with a program on trial, and notes what it did and what no orchestrator would take."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...memory.ids import shown
from ...subagents import wire
from ...subagents.messages import Block, Message, assistant
from .conversation import not_an_extension
from .trial import Silent, Trial

SECONDS = 10.0
"""How long a program may be silent while nothing is owed to it."""

SEARCHED = "inputs/firing notes.md:2: cone 6 was reached at 1222 degrees \u2028 窯 😀"

Reply = Sequence[Block] | str | None
"""What the scripted model says: blocks, or the reason for which it is not asked; None: the program waits in vain."""


@dataclass
class Seen:
    """What a program did until it reported, ended, was left waiting, or did what ends an attempt."""

    hello: bool = False
    asked: int = 0
    prefix: str = ""
    requests: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    report: wire.Report | None = None
    silent: bool = False


def talk(trial: Trial, replies: Callable[[int], Reply]) -> Seen:
    """`replies` gives the n-th reply of the model, counted from 1."""
    seen, messages, ids = Seen(), list[Message](), set[int]()
    while seen.report is None and not seen.wrong:
        try:
            message = trial.hear(SECONDS)
        except Silent:
            seen.silent = True
            break
        if message is None:
            break
        if (message.task, message.attempt) != (trial.assignment.task, trial.assignment.attempt):
            seen.wrong.append(f"{message.type} in the name of task {shown(message.task)}, attempt {message.attempt}")
            break
        if isinstance(message, wire.ModelRequested | wire.ToolRequested):
            if message.id in ids:
                seen.wrong.append(f"two requests have the id {message.id}")
            ids.add(message.id)
        match message:
            case wire.HelloBack():
                seen.hello = True
            case wire.Report():
                seen.report = message
            case wire.ToolRequested(name=name):
                seen.requests.append((name, message.input))
                known = name == "search"
                said = SEARCHED if known else f"{name}: the orchestrator has no such tool; it answers search"
                trial.say(wire.ToolReplied(**_to(trial), id=message.id, content=said, is_error=not known))
            case wire.ModelRequested():
                seen.asked, seen.prefix = seen.asked + 1, message.prefix_sha
                reason = not_an_extension(messages, message.delta)
                if reason is not None:
                    seen.wrong.append(f"model_request {seen.asked}: {reason}")
                    break
                reply = replies(seen.asked)
                if reply is None:
                    break
                if isinstance(reply, str):
                    trial.say(wire.ModelReplied(**_to(trial), id=message.id, error=reply))
                    break
                stop = "tool_use" if any(block.type == "tool_use" for block in reply) else "end_turn"
                blocks = tuple(reply)
                messages += [*message.delta, assistant(*blocks)]
                trial.say(wire.ModelReplied(**_to(trial), id=message.id, content=blocks, stop_reason=stop))
    return seen


def cancel(trial: Trial) -> None:
    trial.say(wire.Cancel(**_to(trial)))


def _to(trial: Trial) -> Any:
    return {"task": trial.assignment.task, "attempt": trial.assignment.attempt}
