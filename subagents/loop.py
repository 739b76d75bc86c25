"""The loop of an agent: ask the model, run the tools it asks for, tell it what came of them, until it reports.

Tools run only when the model stopped to have them run: a call that was cut at the output limit looks whole and isn't.
Small models never end a loop by themselves, so it ends on the tool `report`; one that just stops talking is reminded
once, then its words are the report.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from .messages import Block, Message, Text, ToolResult, ToolUse, user
from .toolbox.toolinput import ReportInput

EQUAL_FAILURES = 4
"""How many times in a row the same calls may fail in the same way before the attempt ends."""

MOST_CALLS = 64
"""How many calls of one reply are carried out: a model that goes round in circles writes hundreds."""

REMINDER = (
    "Nobody reads text outside of tools. If the drafts are written, call report now; if the task asked for words only, "
    "put them into its answer. If you can't go on, call report with complete=false and say why."
)
CUT = (
    "Your reply was cut at the output limit, so nothing of it was done. Say it again in smaller pieces: "
    "a shorter text, or several drafts."
)

EQUAL_CALLS = 6
"""How many times in a row the same calls may be made, and be answered, before the attempt ends."""

AGAIN = (
    "You made exactly this call before and have its answer above; the answer stays the same. Go on with the next step: "
    "another tool, or write_draft with what you know, or report."
)

TOO_MANY = f"not done: of one reply at most {MOST_CALLS} calls are carried out; call it again if it is still needed"
UNTRUE = "not taken: another call of the same reply failed; see what it says, put it right, then report again"

Failing = tuple[tuple[str, str], ...]
"""Names and messages of the calls of one reply that failed."""


@dataclass(frozen=True)
class Said:
    """What the model said, and why it stopped; `done` are results that an earlier attempt had for calls of it."""

    content: tuple[Block, ...]
    stop_reason: str
    done: tuple[ToolResult, ...] = ()

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @property
    def text(self) -> str:
        return "\n".join(block.text for block in self.content if isinstance(block, Text)).strip()


class Tools(Protocol):
    """Runs calls; `report` is set once the model has called that tool rightly."""

    report: ReportInput | None

    @property
    def drafts(self) -> tuple[str, ...]: ...
    def run(self, use: ToolUse) -> ToolResult: ...
    def remember(self, done: Iterable[ToolResult]) -> None: ...


def work(first: Message, ask: Callable[[tuple[Message, ...]], Said], tools: Tools, turns: int) -> ReportInput:
    """The report that a task ends with, after at most `turns` replies of the model.

    `ask` takes the messages since the last reply and gives the next one.
    """
    delta = first
    words: list[str] = []
    failed, called = InARow(), InARow()
    for _ in range(turns):
        said = ask((delta,))
        tools.remember(said.done)
        failing: Failing = ()
        if said.stop_reason == "refusal":
            return _unfinished(f"the model refused to go on{_quoted(said.text)}", tools)
        if said.calls:
            results = _results(said, tools)
            if tools.report is not None:
                return tools.report
            again = called.count([(call.name, call.input) for call in said.calls])
            if again >= EQUAL_CALLS:
                return _unfinished(f"it called {said.calls[0].name} in the same way {again} times", tools)
            delta = user(*results, Text(AGAIN)) if again > 1 else user(*results)
            failing = tuple((call.name, r.content) for call, r in zip(said.calls, results, strict=True) if r.is_error)
        elif said.stop_reason == "max_tokens":
            delta, failing = user(Text(CUT)), (("", CUT),)
        elif words:
            return _talked([*words, said.text], tools)
        else:
            words.append(said.text)
            delta = user(Text(REMINDER))
        alike = failed.count(failing)
        if failing and alike >= EQUAL_FAILURES:
            return _unfinished(f"the same failed {alike} times: {failing[0][1]}", tools)
    return _unfinished(f"all {turns} turns are used up", tools)


@dataclass
class InARow:
    """Counts how often in a row the same came."""

    last: object = None
    times: int = 0

    def count(self, value: object) -> int:
        self.times = self.times + 1 if value == self.last else 1
        self.last = value
        return self.times


def _results(said: Said, tools: Tools) -> tuple[ToolResult, ...]:
    """The result of each call; a report is taken back if another call failed: it was written without knowing that."""
    results = (
        *(_result(call, said, tools) for call in said.calls[:MOST_CALLS]),
        *(ToolResult(call.id, TOO_MANY, is_error=True) for call in said.calls[MOST_CALLS:]),
    )
    if tools.report is None or not any(result.is_error for result in results):
        return results
    tools.report = None
    return tuple(
        replace(result, content=UNTRUE, is_error=True) if call.name == "report" else result
        for call, result in zip(said.calls, results, strict=True)
    )


def _result(call: ToolUse, said: Said, tools: Tools) -> ToolResult:
    if said.stop_reason == "tool_use":
        return tools.run(call)
    if said.stop_reason == "max_tokens":
        return ToolResult(call.id, CUT, is_error=True)
    return ToolResult(call.id, f"not done: your turn ended with {said.stop_reason!r}; call it again", is_error=True)


def _talked(words: list[str], tools: Tools) -> ReportInput:
    """The report of a model that only talks: the most that it said is the answer."""
    answer = max(words, key=len)
    if not answer:
        return _unfinished("the model stopped without a word", tools)
    return ReportInput(summary="It ended without a report; what it said is the answer.", answer=answer)


def _unfinished(why: str, tools: Tools) -> ReportInput:
    drafts = ", ".join(tools.drafts) or "none"
    return ReportInput(summary=f"Not finished: {why}. Drafts left: {drafts}.", complete=False)


def _quoted(text: str) -> str:
    return f": {text[:300]}" if text else ""
