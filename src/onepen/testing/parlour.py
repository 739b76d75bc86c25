"""Chats of a workspace whose model plays replies: turns with their tools and files, without a process of their own."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from onepen.memory.clock import Clock
from onepen.memory.fence import inside
from onepen.memory.follow import Followed
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.answer import RenewalResult, TurnResult
from onepen.orchestrator.chat.booking import Booked
from onepen.orchestrator.chat.house import House, OnMade
from onepen.orchestrator.chat.lines import Line as FileLine
from onepen.orchestrator.chat.lines import parse_line
from onepen.orchestrator.chat.session import Session
from onepen.orchestrator.chat.talk import Line, Talk
from onepen.orchestrator.gateway.request import body
from onepen.orchestrator.pens import Pens
from onepen.orchestrator.requests import ChatRequest, DelegateRequest, TurnEvent, Words
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.stop import StopSign
from onepen.orchestrator.tasks.desk import Desk
from onepen.subagents.messages import Text, ToolUse
from onepen.subagents.model import Listener, Model, ModelReply, ModelRequest, OnLost, Usage
from onepen.testing.ids import CountedIds
from onepen.testing.messages_api.dialogue import dialogue_fault

Said = str | tuple[str, Mapping[str, Any]]
Step = ModelReply | Exception | Callable[[ModelRequest, Listener, OnLost], ModelReply]


USED = Usage(10, 0, 0, 5)


def says(*parts: Said, stop: str | None = None, ids: Sequence[str] = (), usage: Usage = USED) -> ModelReply:
    """A reply of words and tool calls."""
    blocks: list[Text | ToolUse] = []
    for k, part in enumerate(parts):
        if isinstance(part, str):
            blocks.append(Text(part))
        else:
            blocks.append(ToolUse(ids[k] if k < len(ids) else f"toolu_{part[0]}_{k}", part[0], part[1]))
    calls = any(isinstance(block, ToolUse) for block in blocks)
    return ModelReply(tuple(blocks), stop or ("tool_use" if calls else "end_turn"), usage, "played")


@dataclass
class Played:
    """A model that plays replies in order, and takes only what the Messages API takes; `requests` are the asked."""

    steps: list[Step]
    requests: list[ModelRequest] = field(default_factory=list)

    async def ask(self, request: ModelRequest, on_lost: OnLost, listener: Listener) -> ModelReply:
        fault = dialogue_fault(body(request, "played"), paused=(), said=())
        assert fault is None, f"the Messages API would refuse this: {fault}"
        self.requests.append(request)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        if callable(step):
            return step(request, listener, on_lost)
        for block in step.content:
            if isinstance(block, Text):
                listener.text(block.text)
        return step


@dataclass
class Parlour:
    """A workspace's chats; each `turn` is one message."""

    root: Path
    clock: Clock
    service: Service
    model: Played = field(default_factory=lambda: Played([]))
    events: list[TurnEvent] = field(default_factory=list)
    booked: list[Booked] = field(default_factory=list)
    stop: StopSign = field(default_factory=StopSign)
    busy: set[str] = field(default_factory=set)
    ids: CountedIds = field(default_factory=lambda: CountedIds("m"))
    client: str | None = None
    offline: Model | None = None
    pens: Pens | None = None
    model_name: str = "played"
    renewing: set[str] = field(default_factory=set)

    @property
    def view(self) -> View:
        return View(open_workspace(self.root))

    def talk(self) -> Talk:
        view = self.view
        space = view.workspace.space(self.client)
        desk = Desk(view, self.clock, pens=self.pens)
        house = House(
            view=view,
            space=space,
            desk=desk,
            clock=self.clock,
            history=Followed(space),
            new_task=self.ids.task,
            drafts=lambda: self.service.drafts(self.client),
            look=lambda id_: self.service.look(id_, note=False),
            delegate=self._delegate,
            resume=self.service.resume,
            renewing=self.renewing,
        )
        return Talk(house, self.busy, self._connect, self.booked.append, CountedIds("s").task)

    async def _delegate(self, request: DelegateRequest, on_made: OnMade) -> DelegateResult:
        result = await self.service.delegate(request)
        on_made(tuple(task.task for task in result.tasks))
        return result

    def _connect(self, session: Session | None, model: str | None) -> Line:
        if self.offline is not None:
            offline = self.offline

            async def ask(request: ModelRequest, on_lost: OnLost, listener: Listener) -> ModelReply:
                return await offline.reply(request, listener)

            return Line("offline", lambda _: ask)
        return Line(self.model_name, lambda _: self.model.ask)

    def turn(self, text: str, *steps: Step, session: str | None = None) -> TurnResult:
        """The answer to a message, by a model that plays these replies."""
        self.model.steps += steps
        talk = self.talk()

        async def whole() -> TurnResult:
            with anyio.fail_after(20):
                return await talk.turn(self.request(text, session), self.happened, self.stop)

        return anyio.run(whole)

    def request(self, text: str, session: str | None = None) -> ChatRequest:
        """A message of the person."""
        return ChatRequest(text, session, self.client)

    def renew(self, session: str | None = None, *, why: str | None = None) -> RenewalResult:
        """The synthesis renewed, as a person asks for it; with `why` as a turn does that found it due."""
        talk = self.talk()

        async def whole() -> RenewalResult:
            with anyio.fail_after(20):
                return await talk.renew(session, why, anew=why is None)

        return anyio.run(whole)

    def happened(self, event: TurnEvent) -> None:
        """What a person who waits would be told."""
        self.events.append(event)

    @property
    def words(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, Words))

    def lines(self, session: str) -> list[FileLine]:
        """The chat's file as it lies there."""
        rows = (self.root / f"chats/{session}.jsonl").read_text().splitlines()
        found = [parse_line(row) for row in rows]
        assert all(line is not None for line in found), rows
        return [line for line in found if line is not None]

    def results(self) -> list[tuple[str, bool]]:
        """What the last request told the model of its calls, without fences."""
        blocks = [b for m in self.model.requests[-1].messages for b in m.content if b.type == "tool_result"]
        return [(inside(b.content), b.is_error) for b in blocks]

    def cut_after(self, session: str, kind: str) -> None:
        """The chat's file as it is when the process dies right after the last line of this kind was written."""
        path = self.root / f"chats/{session}.jsonl"
        rows = path.read_text().splitlines(keepends=True)
        last = max(k for k, row in enumerate(rows) if (line := parse_line(row)) is not None and line.kind == kind)
        path.write_text("".join(rows[: last + 1]))

    def text(self, path: str) -> str:
        return (self.root / path).read_text()
