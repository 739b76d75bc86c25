"""One turn of a chat: the model is asked and its tools are run until it has answered.

Each line of the chat's file is written before it is acted upon: a reply before its tools run, a result before the next
reply is asked for. So whatever ends the process, the file tells what was said and done, and what may have been.

Tools run only when the model stopped to have them run. A reply that was cut at the output limit looks whole and isn't;
a refusal is an answer, and is not asked for again.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import anyio

from ...memory.clock import Clock
from ...memory.text.clip import clip
from ...staging.secret import mask
from ...subagents.loop import EQUAL_CALLS, EQUAL_FAILURES, TOO_MANY, Failing, InARow
from ...subagents.loop import MOST_CALLS as MOST_AT_ONCE
from ...subagents.messages import Text, ToolUse
from ...subagents.model import Listener, LostCall, ModelReply, ModelRequest, OnLost
from ..requests import BrokeOff, Notice, OnEvent, ToolCalled, Words
from ..stop import StopSign
from .lines import Asked, Ended, Lost, Made, Partial, Replied, Resulted
from .marking import caching, pace_of
from .prompt import MAIN
from .session import Session, messages, unlike
from .store import Chats
from .tools import Outcome

MOST_CALLS = 40
"""How many model calls one turn may make."""
CUT = (
    "Your reply was cut at the output limit, so nothing of it was done. Say it again in smaller pieces: a shorter "
    "text, or one call at a time."
)
AGAIN = "You made exactly this call before, and the answer is the same. Go on with the next step, or answer the person."
STOPPED = "not done: the person stopped this turn before it began"

Ask = Callable[[ModelRequest, OnLost, Listener], Awaitable[ModelReply]]
"""Makes a model call on the chat's account, tried again where that can help."""
RunTool = Callable[[ToolUse, Callable[[Sequence[str]], None]], Awaitable[Outcome]]


@dataclass(frozen=True)
class Over:
    """How a turn ended: the API's word or ours, and what a person should know."""

    stop_reason: str
    notice: str = ""


class Turn:
    """One turn; `session` is the chat as it is now.

    `lately` says how many spaces talked lately, and how many seconds ago one last did.
    """

    def __init__(
        self,
        chats: Chats,
        session: Session,
        ask: Ask,
        run: RunTool,
        clock: Clock,
        on_event: OnEvent,
        stop: StopSign,
        lately: tuple[int, float] = (1, 0.0),
    ) -> None:
        self._chats = chats
        self.session = session
        self._ask = ask
        self._run = run
        self._clock = clock
        self._on_event = on_event
        self._stop = stop
        self._lately = lately
        self._again = 1  # how often in a row the calls of the latest reply were made

    async def run(self, model: str) -> Over:
        """Asks and acts until the turn is over; raises what a call raises that can't be made."""
        failed, called = InARow(), InARow()
        for _ in range(MOST_CALLS):
            if self._stop.presses:
                return Over("interrupted")
            reply = await self._reply(model)
            if reply is None:
                return Over("interrupted")
            uses = tuple(block for block in reply.content if isinstance(block, ToolUse))
            if reply.stop_reason == "refusal" or not uses:
                return _over(reply)
            self._again = called.count([(use.name, use.input) for use in uses])
            if self._again >= EQUAL_CALLS:
                told = f"not done: it was called in the same way {self._again} times"
                for use in uses:
                    self._note(use, Outcome(told, is_error=True))
                return Over("failures", f"stopped: {uses[0].name} was called in the same way {self._again} times")
            failing = await self._results(uses, reply.stop_reason)
            alike = failed.count(failing)
            if failing and alike >= EQUAL_FAILURES:
                return Over("failures", f"stopped: the same failed {alike} times: {failing[0][0]}: {failing[0][1]}")
        return Over("calls", f"stopped after {MOST_CALLS} model calls; say how to go on")

    # -- asking ----------------------------------------------------------------------------------------------------

    async def _reply(self, model: str) -> ModelReply | None:
        """The next reply, stored; None when the person stopped it. What was heard of a reply that was cut is kept."""
        session, prompt = self.session, self.session.prompt
        pace = pace_of(session.lines, sum(prompt.layers.values()), self._clock.now(), *self._lately)
        request = ModelRequest(
            model=model,
            system=prompt.system,
            tools=session.tools,
            messages=messages(session),
            max_tokens=prompt.max_tokens,
            agent=MAIN,
            caching=caching(prompt.parts, pace),
            after=session.after,
        )
        ear = _Ear(self._on_event, self._heard)
        reply = None
        with anyio.CancelScope() as scope:
            self._stop.listen(scope.cancel)
            reply = await self._ask(request, self._lost, ear)
        if reply is None:
            ear.broke_off("stopped by the person", told=False)
            return None
        reply = replace(reply, content=unlike(reply.content, session))
        self._add(Replied.of(session.turn, self._now(), reply, request.caching))
        return reply

    def _lost(self, lost: LostCall) -> None:
        self._add(Lost(self.session.turn, lost.reason, lost.usage, lost.cost_usd))

    def _heard(self, words: str, reason: str) -> None:
        self._add(Partial(self.session.turn, words, reason))

    # -- acting ----------------------------------------------------------------------------------------------------

    async def _results(self, uses: Sequence[ToolUse], stop_reason: str) -> Failing:
        """Runs the calls of a reply, several of `delegate` side by side; names and messages of those that failed."""
        if stop_reason != "tool_use":
            told = (
                CUT if stop_reason == "max_tokens" else f"not done: your turn ended with {stop_reason!r}; call it again"
            )
            for use in uses:
                self._note(use, Outcome(told, is_error=True))
            return tuple((use.name, told) for use in uses)
        for side_by_side, group in groupby(uses[:MOST_AT_ONCE], lambda use: use.name == "delegate"):
            if side_by_side:
                await self._at_once(tuple(group))
            else:
                for use in group:
                    await self._one(use)
        for use in uses[MOST_AT_ONCE:]:
            self._note(use, Outcome(TOO_MANY, is_error=True))
        found = {line.call: line for line in self.session.lines if isinstance(line, Resulted)}
        return tuple((use.name, found[use.id].content) for use in uses if found[use.id].is_error)

    async def _at_once(self, uses: Sequence[ToolUse]) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                for use in uses:
                    tasks.start_soon(self._one, use)
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from several

    async def _one(self, use: ToolUse) -> None:
        if self._stop.presses:
            self._note(use, Outcome(STOPPED, is_error=True))
            return
        self._on_event(ToolCalled(use.name, _in_words(use)))
        if (known := self._repeated(use)) is not None:
            self._note(use, known)
            return
        turn = self.session.turn
        outcome = await self._run(use, lambda tasks: self._add(Made(turn, use.id, tuple(tasks))))
        self._note(use, outcome)
        if outcome.secret:
            place = self._chats.shown(self.session.id)
            self._on_event(Notice(f"{use.name}: {outcome.content}; what was said stands in {place} all the same"))

    def _repeated(self, use: ToolUse) -> Outcome | None:
        """The answer to a call that was carried out in this turn already, word for word: small models repeat it."""
        turn = self.session.turn
        inputs = {
            block.id: (block.name, block.input)
            for line in self.session.lines
            if isinstance(line, Replied) and line.turn == turn
            for block in line.content
            if isinstance(block, ToolUse)
        }
        done = (
            line
            for line in self.session.lines
            if isinstance(line, Resulted) and line.turn == turn and (line.commit or line.drafts)
        )
        for line in done:
            if line.tool != "delegate" and inputs.get(line.call) == (use.name, use.input):
                return Outcome(f"already done, the same call was carried out before: {line.content}")
        return None

    def _note(self, use: ToolUse, outcome: Outcome) -> None:
        again = f"\n\n({AGAIN})" if self._again > 1 and not outcome.is_error else ""
        self._add(
            Resulted(
                turn=self.session.turn,
                call=use.id,
                tool=use.name[:64],
                content=outcome.content + again,
                is_error=outcome.is_error,
                shown=outcome.shown,
                external=outcome.external,
                commit=outcome.commit,
                drafts=outcome.drafts,
                seen=outcome.seen,
            )
        )

    def _add(self, line: Asked | Replied | Resulted | Made | Lost | Partial | Ended) -> None:
        self.session = self._chats.add(self.session, line)

    def _now(self) -> str:
        return self._clock.now().isoformat(timespec="seconds")


class _Ear:
    """Hears a reply while it comes in, and keeps what was heard of one that breaks off."""

    def __init__(self, on_event: OnEvent, keep: Callable[[str, str], None]) -> None:
        self._on_event = on_event
        self._keep = keep
        self._words = ""

    def text(self, words: str) -> None:
        self._words += words
        self._on_event(Words(words))

    def broke_off(self, reason: str, *, told: bool = True) -> None:
        if self._words:
            self._keep(self._words, reason)
            self._words = ""
        if told:
            self._on_event(BrokeOff(reason))


def _over(reply: ModelReply) -> Over:
    """The end of a turn by a reply that calls no tool."""
    said = any(isinstance(block, Text) and block.text.strip() for block in reply.content)
    match reply.stop_reason:
        case "end_turn" | "stop_sequence" if said:
            return Over(reply.stop_reason)
        case "end_turn" | "stop_sequence":
            return Over("silence", "the model ended without a word; say it in other words, or ask again")
        case "max_tokens":
            return Over("max_tokens", 'the answer was cut at the output limit; say "go on" for the rest')
        case "refusal":
            why = f" ({reply.details})" if reply.details else ""
            return Over("refusal", f"the model refused to answer{why}; it is not asked the same again")
        case other:
            return Over(other, f"the model stopped with {other[:40]!r}; what it said stands above")


def _in_words(use: ToolUse) -> str:
    """A call in one line for the person."""
    given = use.input if isinstance(use.input, dict) else {}
    keys = ("card", "section", "project", "query", "agent", "task", "id", "verdict", "status", "text")
    words = (str(given[key]) for key in keys if isinstance(given.get(key), str))
    return clip(mask(" ".join((use.name, *(" ".join(word.split()) for word in words)))), 120)
