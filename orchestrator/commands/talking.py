"""Commands that talk to the main agent: one question, or a chat of several messages."""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ...memory.errors import OnepenError
from . import streams
from .answering import Follower, rehearsed_line
from .failure import BadText, told
from .options import DryRun, Foreground, Profile
from .shell import MOST_TASK, Shell
from .text import count
from .working import resolved

if TYPE_CHECKING:
    from ..chat.answer import TurnResult
    from ..requests import ChatRequest
    from ..service import Service
    from ..stop import StopSign

_PROMPT = "> "
_HELP = "/quit ends the chat, /drafts lists drafts, /usage tells what it cost; all else is said to the agent"

_Model = Annotated[
    str | None, typer.Option("--model", metavar="ID", help="The model: a name, offline, or scripted:FILE in tests.")
]
_Budget = Annotated[
    float | None,
    typer.Option("--budget", metavar="USD", min=0, help="At most so many US dollars for this chat, and for each task."),
]


def ask(
    shell: Shell,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What you want to know; '-' reads it from stdin.")],
    model: _Model = None,
    profile: Profile = None,
    budget: _Budget = None,
    foreground: Foreground = False,
    dry_run: DryRun = False,
) -> int:
    from ..requests import ChatRequest

    shell.via = profile
    words = shell.text(text, "TEXT", MOST_TASK)
    request = ChatRequest(words, None, shell.client, resolved(model), budget)
    if dry_run:
        return _rehearsed(shell, request)
    follower = Follower(shell, live=shell.terminal.talks and not shell.common.json)
    result = _turn(shell, request, follower, foreground=foreground)
    follower.end(result)
    return result.exit_code


def chat(
    shell: Shell,
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="The chat that goes on, with --resume. [the last one]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a chat.")] = False,
    model: _Model = None,
    profile: Profile = None,
    budget: _Budget = None,
    foreground: Foreground = False,
) -> int:
    from ..requests import ChatRequest

    shell.via = profile
    if session is not None and not resume:
        raise BadText(f"SESSION {session}: to go on with a chat, say --resume", hint=f"onepen chat --resume {session}")
    going = _found(shell, session or "last") if resume else None
    if shell.terminal.can_ask:
        begun = "a new chat" if going is None else f"chat {going}"
        shell.note(f"{begun}; /quit ends it, /drafts lists drafts, /usage what it cost")

    def message(words: str, known: str | None) -> ChatRequest:
        return ChatRequest(words, known, shell.client, resolved(model), budget)

    talk = _Chat(shell, going, message, foreground=foreground)
    code = talk.run()
    if talk.session is not None:
        shell.note(f"the chat is kept (next: onepen chat --resume {talk.session})")
    return code


class _Chat:
    """The loop of a chat at a terminal, or over the lines of stdin."""

    def __init__(
        self,
        shell: Shell,
        session: str | None,
        request: "Callable[[str, str | None], ChatRequest]",
        *,
        foreground: bool,
    ) -> None:
        self._foreground = foreground
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
                case "/help" | "/?":
                    self._shell.note(_HELP)
                case command if command.startswith("/") and " " not in command:
                    self._shell.note(f"{command}: no such command; there are /quit, /drafts, /usage and /help")
                case _:
                    code = self._turn(words) or code
        return code

    def _turn(self, words: str) -> int:
        follower = Follower(self._shell, live=self._shell.terminal.talks and not self._shell.common.json)
        try:
            message = self._request(words, self.session)
            result = _turn(self._shell, message, follower, foreground=self._foreground)
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
        self._shell.note(f"{count(len(usages), 'answer')} since you began: {total} · {cost}")


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


def _rehearsed(shell: Shell, request: "ChatRequest") -> int:
    """Who would be asked, and with how much; nothing is sent."""
    import anyio

    async def work() -> "TurnResult":
        return await shell.service.turn(request, setup=shell.setup, dry_run=True)

    result = anyio.run(work)
    shell.notes(result.notices)
    shell.answer(result, lambda: rehearsed_line(result))
    return result.exit_code


def _found(shell: Shell, session: str) -> str:
    from ..chat.store import Chats

    return Chats(shell.service.workspace.space(shell.client)).find(session)


def _turn(shell: Shell, request: "ChatRequest", follower: Follower, *, foreground: bool) -> "TurnResult":
    """One turn, over there in the orchestrator or here; Ctrl-C once stops it, twice its sub-agents at once, too."""
    from .running import handed_over, here, tell_press

    if not foreground:
        press = partial(tell_press, shell)
        return handed_over(
            shell,
            lambda remote, setup: remote.turn(request, setup, on_event=follower.happened, on_press=press),
        )

    async def work(service: "Service", stop: "StopSign") -> "TurnResult":
        return await service.turn(request, setup=shell.setup, on_event=follower.happened, stop=stop)

    return here(shell, work)
