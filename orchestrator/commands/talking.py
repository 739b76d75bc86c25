"""Commands that talk to the main agent: one question, or a chat of several messages."""

import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ...memory.errors import OnepenError
from . import streams
from .answering import Follower
from .failure import BadText, Interrupted, told
from .shell import MOST_TASK, Shell
from .working import resolved

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ..answer import TurnResult
    from ..requests import ChatRequest
    from ..stop import StopSign

_STOPPING = "stopping: a tool that runs may finish; Ctrl-C again ends it now"
_ENDING = "stopping now: what was written is kept"
_PROMPT = "> "

_Model = Annotated[
    str | None, typer.Option("--model", metavar="ID", help="The model: a name, offline, or scripted:FILE in tests.")
]
_Budget = Annotated[
    float | None, typer.Option("--budget", metavar="USD", min=0, help="At most so many US dollars for this chat.")
]


def ask(
    shell: Shell,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you want to know; '-' reads it from stdin.")],
    model: _Model = None,
    budget: _Budget = None,
) -> int:
    from ..requests import ChatRequest

    words = shell.text(text, "TEXT", MOST_TASK)
    request = ChatRequest(words, None, shell.client, resolved(model), budget)
    follower = Follower(shell, live=shell.terminal.talks and not shell.common.json)
    result = _turn(shell, request, follower)
    follower.end(result)
    return result.exit_code


def chat(
    shell: Shell,
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="The chat that goes on, with --resume. [the last one]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a chat.")] = False,
    model: _Model = None,
    budget: _Budget = None,
) -> int:
    from ..requests import ChatRequest

    if session is not None and not resume:
        raise BadText(f"SESSION {session}: to go on with a chat, say --resume", hint=f"onepen chat --resume {session}")
    going = _found(shell, session or "last") if resume else None
    if shell.terminal.can_ask:
        begun = "a new chat" if going is None else f"chat {going}"
        shell.note(f"{begun}; /quit ends it, /drafts lists drafts, /usage what it cost")
    talk = _Chat(shell, going, lambda words, known: ChatRequest(words, known, shell.client, resolved(model), budget))
    code = talk.run()
    if talk.session is not None:
        shell.note(f"the chat is kept (next: onepen chat --resume {talk.session})")
    return code


class _Chat:
    """The loop of a chat at a terminal, or over the lines of stdin."""

    def __init__(self, shell: Shell, session: str | None, request: "Callable[[str, str | None], ChatRequest]") -> None:
        self._shell = shell
        self._request = request
        self._spent: list[TurnResult] = []
        self.session = session

    def run(self) -> int:
        """Until the end of input or /quit; the code is that of the last turn that went wrong."""
        code = 0
        for words in _lines(self._shell):
            match words.strip():
                case "":
                    continue
                case "/quit" | "/exit":
                    break
                case "/drafts":
                    self._drafts()
                case "/usage":
                    self._usage()
                case command if command.startswith("/") and " " not in command:
                    self._shell.note(f"{command}: no such command; there are /quit, /drafts and /usage")
                case _:
                    code = self._turn(words) or code
        return code

    def _turn(self, words: str) -> int:
        follower = Follower(self._shell, live=self._shell.terminal.talks and not self._shell.common.json)
        try:
            result = _turn(self._shell, self._request(words, self.session), follower)
        except (OnepenError, OSError) as e:  # told, and the chat goes on
            follower.broken()
            self.session = follower.session or self.session
            failure = told(e)
            streams.tell(failure.line())
            return failure.exit_code
        self.session = result.session
        self._spent.append(result)
        follower.end(result)
        return 0 if result.stop_reason == "interrupted" else result.exit_code

    def _drafts(self) -> None:
        from .drafting import listed

        self._shell.tell(listed(self._shell.service.drafts(self._shell.client), self._shell.terminal))

    def _usage(self) -> None:
        usages = [one.usage for one in self._spent]
        known = [one.cost_usd for one in self._spent if one.cost_usd is not None]
        cost = f"${sum(known):.4f}" + (" and what has no known price" if len(known) < len(usages) else "")
        total = f"in {sum(u.input for u in usages):,}, cache write {sum(u.cache_write for u in usages):,}, "
        total += f"cache read {sum(u.cache_read for u in usages):,}, out {sum(u.output for u in usages):,}"
        self._shell.note(f"{len(usages)} answers since you began: {total} · {cost}")


def _lines(shell: Shell) -> Iterator[str]:
    """The person's messages: lines of the terminal after a prompt, or of stdin."""
    asked = shell.terminal.can_ask
    pressed = False
    while True:
        if asked:
            streams.tell(_PROMPT)
        try:
            line = sys.stdin.buffer.readline(MOST_TASK + 1) if sys.stdin is not None else b""
        except KeyboardInterrupt:
            streams.tell("\n")
            if pressed or not asked:
                return
            pressed = True
            shell.note("Ctrl-C again, or /quit, ends the chat")
            continue
        pressed = False
        if not line:
            if asked:
                streams.tell("\n")
            return
        if len(line) > MOST_TASK:
            raise streams.TooLong("a line of stdin", MOST_TASK)
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError as e:
            shell.note(f"that is not UTF-8 text ({e.reason} at byte {e.start + 1}), so it was not sent")


def _found(shell: Shell, session: str) -> str:
    from ..chat.store import Chats

    return Chats(shell.service.workspace.space(shell.client)).find(session)


def _turn(shell: Shell, request: "ChatRequest", follower: Follower) -> "TurnResult":
    """One turn, with Ctrl-C once to stop it and twice to stop its sub-agents, too; raises Interrupted for a third."""
    import anyio

    from ..service import StopSign

    stop = StopSign()

    async def whole() -> "TurnResult | None":
        result = None
        async with anyio.create_task_group() as group:
            group.start_soon(_heed, stop, shell, group)
            result = await shell.service.turn(request, on_event=follower.happened, stop=stop)
            group.cancel_scope.cancel()
        return result

    result = anyio.run(whole)
    if result is None:
        raise Interrupted
    return result


async def _heed(stop: "StopSign", shell: Shell, group: "TaskGroup") -> None:
    """Hands signals to the turn; one that the shell told us to ignore stays ignored."""
    import anyio

    wanted = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    heard = [s for s in wanted if signal.getsignal(s) is not signal.SIG_IGN]
    if not heard:
        return
    with anyio.open_signal_receiver(*heard) as signals:
        async for number in signals:
            if stop.presses >= 2:
                group.cancel_scope.cancel()
                return
            if number == signal.SIGINT and stop.presses == 0:
                shell.note(_STOPPING)
                stop.press()
            else:
                shell.note(_ENDING)
                while stop.presses < 2:
                    stop.press()
