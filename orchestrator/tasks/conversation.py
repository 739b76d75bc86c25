"""The seam where a worker's model calls pass: only what extends the stored transcript is taken, and stored before use.

Model, tools, system blocks and limits are the orchestrator's own: a worker adds user messages only, and has to answer
each tool call of the last reply exactly once. A call that gave no whole reply is stored, too, with what it used.

A reply is synced before anybody sees it, and the lines before it with it; what stands there without a reply is worth
nothing after a power cut, and is not waited for. `keep` waits for the lines behind the last reply.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import anyio

from ...memory.clock import Clock
from ...subagents.host import RequestRefused
from ...subagents.messages import Message, ToolResult, block_dict, message_dict, parse_blocks, parse_message, told_apart
from ...subagents.model import LostCall, ModelReply, ModelRequest, OnLost, Shas, ToolSpec
from ..meter.worked import Talk
from ..premises import append_aside, append_line, sync_aside
from .transcript import REFUSAL, Spent, lost_dict, rendered, reply_dict

MAX_TOKENS = 8_192

Ask = Callable[[ModelRequest, OnLost], Awaitable[ModelReply]]
"""Makes a model call on somebody's account: the gateway, bound to a model and to who waits for the reply."""


@dataclass(frozen=True)
class Prefix:
    """What stands before a conversation: computed from the snapshot here and in the worker, compared by its hash.

    `tool_choice` names the one tool that each reply has to call; None: the model is free.
    """

    model: str
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    sha: str
    tool_choice: str | None = None


class Conversation:
    """One attempt's conversation with a model, asked through `ask`.

    `stored` maps the hash of a request to the reply that an earlier attempt of the task got for it: that reply is used
    again and not paid again. With a `clock` each reply is stored with its time; `kept` is told when one is. `refusal`
    is what the model said when it refused to go on ("" for nothing), None as long as it didn't.
    """

    def __init__(
        self,
        path: Path,
        ask: Ask,
        prefix: Prefix,
        *,
        agent: str,
        turns: int,
        max_tokens: int = MAX_TOKENS,
        stored: Mapping[str, ModelReply] | None = None,
        clock: Clock | None = None,
        kept: Callable[[], None] = lambda: None,
    ) -> None:
        self._kept = kept
        self._path = path
        self._ask = ask
        self._prefix = prefix
        self._agent = agent
        self._turns = turns
        self._max_tokens = max_tokens
        self._stored = stored or {}
        self._clock = clock
        self._messages: list[Message] = []
        self._shas: Shas | None = None
        self.last = ""
        """The hash of the request that was answered last."""
        self.replies = 0
        self.reused = 0
        self.refusal: str | None = None
        self._spent = Spent()
        first, text = _first_line(prefix, agent, max_tokens, turns)
        self._talk = Talk(first)
        append_line(self._path, text, sync=False)
        self._open = True  # lines are on their way to the disk

    @property
    def spent(self) -> Spent:
        """What was asked in this attempt only, lost calls included, as its transcript tells it."""
        return replace(self._spent, responses=tuple(self._talk.responses))

    async def reply(self, delta: Sequence[Message], prefix_sha: str) -> ModelReply:
        """The model's next words; raises RequestRefused for anything but the continuation of this conversation."""
        if prefix_sha and prefix_sha != self._prefix.sha:
            raise RequestRefused("the prefix is not the one that this attempt started with")
        if self.refusal is not None:
            raise RequestRefused("the model refused to go on, and is not asked again")
        if self.replies >= self._turns:
            raise RequestRefused(f"the limit of {self._turns} model calls is reached")
        reason = not_an_extension(self._messages, delta)
        if reason is not None:
            raise RequestRefused(reason)
        delta = tuple(map(_well_formed, delta))
        request = self._request((*self._messages, *delta))
        if self._shas is None:
            self._shas = Shas(request)
        self._shas.add(*delta)
        sha = self._shas.sha()
        self._write({"kind": "request", "sha": sha, "messages": [message_dict(m) for m in delta]})
        self._messages = list(request.messages)
        for message in delta:
            self._talk.add(message)
        known = self._stored.get(sha)
        answer = known if known is not None else _whole(await self._ask(request, self._lost), self._messages)
        at = {} if self._clock is None else {"at": self._clock.now().isoformat(timespec="seconds")}
        line = {"kind": "reply", "request": sha, "reused": known is not None, **reply_dict(answer), **at}
        with anyio.CancelScope(shield=True):  # it is paid: whoever gives up now finds it stored
            await append_aside(self._path, rendered(line))
        self._kept()
        self._open = False
        self._talk.replied(answer, at.get("at", ""), reused=known is not None)
        if known is None:
            self._spent = self._spent.with_reply(answer)
        else:
            self.reused += 1
        self.replies += 1
        self.last = sha
        if answer.stop_reason == REFUSAL:
            self.refusal = "; ".join(filter(str.strip, (answer.message.text, answer.details)))
        self._messages.append(answer.message)
        self._shas.add(answer.message)
        return answer

    def first(self, message: Message) -> ModelRequest:
        """The request that a conversation which begins with `message` begins with."""
        return self._request((_well_formed(message),))

    def begin_afresh(self, why: str) -> None:
        """Have nothing that was said until now be used again, by this attempt or a later one."""
        self._stored = {}
        self._write({"kind": "afresh", "reason": why}, sync=True)

    def _request(self, messages: tuple[Message, ...]) -> ModelRequest:
        return ModelRequest(
            model=self._prefix.model,
            system=self._prefix.system,
            tools=self._prefix.tools,
            messages=messages,
            max_tokens=self._max_tokens,
            agent=self._agent,
            tool_choice=self._prefix.tool_choice,
        )

    async def keep(self) -> None:
        """Waits until all lines are on the disk."""
        if self._open:
            await sync_aside((self._path,))
            self._open = False

    def _lost(self, lost: LostCall) -> None:
        self._write({"kind": "lost", **lost_dict(lost)}, sync=True)
        self._talk.lost(lost)
        self._spent = self._spent.with_lost(lost)

    def note_tool(
        self, name: str, given: Mapping[str, object], content: str, shown: Iterable[str], *, is_error: bool = False
    ) -> None:
        """Stores what the orchestrator itself answered, and which files the answer showed."""
        line = {"kind": "tool", "name": name, "input": dict(given), "content": content, "shown": sorted(shown)}
        self._write({**line, "is_error": True} if is_error else line)

    def _write(self, line: Mapping[str, object], *, sync: bool = False) -> None:
        append_line(self._path, rendered(line), sync=sync)
        self._open = not sync


@lru_cache(maxsize=16)
def _first_line(prefix: Prefix, agent: str, max_tokens: int, turns: int) -> tuple[Mapping[str, object], str]:
    """The prefix as the transcript tells it, and that as a text; many conversations have the same."""
    line = {
        "kind": "prefix",
        "model": prefix.model,
        "agent": agent,
        "system": list(prefix.system),
        "tools": [tool.as_dict() for tool in prefix.tools],
        "sha": prefix.sha,
        "max_tokens": max_tokens,
        "turns": turns,
        **({} if prefix.tool_choice is None else {"tool_choice": prefix.tool_choice}),
    }
    return line, rendered(line)


def _whole(reply: ModelReply, before: Sequence[Message]) -> ModelReply:
    """The reply as every file and each later request can hold it: no halves of characters, ids that are told apart."""
    plain = [block_dict(block) for block in reply.content]
    blocks = reply.content if _encodes(plain) else parse_blocks(plain)
    return replace(reply, content=told_apart(blocks, (use.id for message in before for use in message.tool_uses)))


def _well_formed(message: Message) -> Message:
    """The message without halves of characters, which nearly none has."""
    plain = message_dict(message)
    return message if _encodes(plain) else parse_message(plain)


def _encodes(plain: object) -> bool:
    try:
        json.dumps(plain, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def not_an_extension(messages: Sequence[Message], delta: Sequence[Message]) -> str | None:
    """Why `delta` doesn't continue the conversation; None when it does."""
    if not delta or not any(m.content for m in delta):
        return "a request brings at least one new message"
    if any(m.role != "user" for m in delta):
        return "a worker adds messages of the user's side only"
    results = [b for m in delta for b in m.content if isinstance(b, ToolResult)]
    if any(not isinstance(b, ToolResult) and b.type == "tool_use" for m in delta for b in m.content):
        return "a worker can't call tools in the model's name"
    wanted = [use.id for use in messages[-1].tool_uses] if messages else []
    given = [result.tool_use_id for result in results]
    if sorted(given) != sorted(wanted):
        return f"the last reply called {len(wanted)} tools; each has to be answered exactly once"
    return None
