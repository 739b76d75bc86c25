"""Commands that talk to the main agent: one question, or a chat of several messages."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from .answering import Follower, rehearsed_line
from .failure import BadText
from .options import DryRun, Foreground, Profile
from .shell import MOST_TASK, Shell
from .working import resolved

if TYPE_CHECKING:
    from ..chat.answer import TurnResult
    from ..chat.store import Chats
    from ..requests import ChatRequest
    from ..service import Service
    from ..stop import StopSign
    from .asides import Asides
    from .entry import Entry

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
    from .asides import Asides

    shell.via = profile
    words = shell.text(text, "TEXT", MOST_TASK)
    request = ChatRequest(words, None, shell.client, resolved(model), budget)
    if dry_run:
        return _rehearsed(shell, request)
    follower = Follower(shell, live=shell.terminal.talks and not shell.common.json)
    try:
        follower.began()
        result = _turn(shell, request, follower, foreground=foreground)
    except BaseException:
        follower.broken()
        raise
    follower.end(result)
    Asides(shell, foreground).after(result, follower)
    return result.exit_code


def chat(
    shell: Shell,
    session: Annotated[
        str | None, typer.Argument(metavar="SESSION", help="The chat that goes on, with --resume. [the last one]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a chat.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the latest chats, and say nothing.")] = False,
    model: _Model = None,
    profile: Profile = None,
    budget: _Budget = None,
    foreground: Foreground = False,
) -> int:
    from ..requests import ChatRequest
    from .asides import Asides
    from .dialogue import Dialogue

    shell.via = profile
    if list_:
        return _listed(shell, alone=session is None and not resume)
    if session is not None and not resume:
        raise BadText(f"SESSION {session}: to go on with a chat, say --resume", hint=f"{_resume(shell)} {session}")
    going = _chats(shell).find(session or "last") if resume else None
    if shell.terminal.can_ask:
        shell.note("/help says what can be typed, /quit ends" if going else "a new chat; /help says more, /quit ends")

    def turn(words: str, known: str | None, follower: Follower) -> "TurnResult":
        request = ChatRequest(words, known, shell.client, resolved(model), budget)
        return _turn(shell, request, follower, foreground=foreground)

    asides = Asides(shell, foreground, resolved(model), budget)
    dialogue = Dialogue(shell, _entry(shell, asides), turn, asides, going)
    code = dialogue.run()
    if dialogue.session is not None:
        shell.note(f"the chat is kept (next: {_resume(shell)} {dialogue.session})")
    return code


def _resume(shell: Shell) -> str:
    """How to go on with a chat of this space from where one stands."""
    client = shell.common.client
    return f"onepen chat{f' --client {client}' if client is not None else ''} --resume"


def _entry(shell: Shell, asides: "Asides") -> "Entry":
    """The keyboard where a line can be edited on the screen, else lines as they come."""
    from .entry import Lines

    if not shell.terminal.edits:
        return Lines(shell)
    from ..settings.redact import Known
    from .keyboard import Keyboard
    from .typed import Typed, typed_file

    workspace = shell.service.workspace
    path = typed_file(workspace.settings.id, workspace.space(shell.client).client)
    return Keyboard(Typed(path, Known(shell.setup.secrets()).held), asides.ids)


def _listed(shell: Shell, *, alone: bool) -> int:
    from ..chat.overview import latest
    from .chats import listed

    if not alone:
        raise BadText("--list goes without SESSION and --resume")
    result = latest(_chats(shell))
    shell.notes(result.notices)
    shell.answer(result, lambda: listed(result, shell.terminal, _resume(shell)))
    return 0


def _rehearsed(shell: Shell, request: "ChatRequest") -> int:
    """Who would be asked, and with how much; nothing is sent."""
    import anyio

    async def work() -> "TurnResult":
        return await shell.service.turn(request, setup=shell.setup, dry_run=True)

    result = anyio.run(work)
    shell.notes(result.notices)
    shell.answer(result, lambda: rehearsed_line(result))
    return result.exit_code


def _chats(shell: Shell) -> "Chats":
    from ..chat.store import Chats

    return Chats(shell.service.workspace.space(shell.client))


def _turn(shell: Shell, request: "ChatRequest", follower: Follower, *, foreground: bool) -> "TurnResult":
    """One turn, over there in the orchestrator or here; Ctrl-C once stops it, twice its sub-agents at once, too."""
    from .running import handed_over, here, tell_press

    if not foreground:
        press = partial(tell_press, follower.note)
        return handed_over(
            shell,
            lambda remote, setup: remote.turn(request, setup, on_event=follower.happened, on_press=press),
        )

    async def work(service: "Service", stop: "StopSign") -> "TurnResult":
        return await service.turn(request, setup=shell.setup, on_event=follower.happened, stop=stop)

    return here(shell, work, note=follower.note)
