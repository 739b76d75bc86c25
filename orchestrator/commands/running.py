"""Run work to its end: over there in the orchestrator, or here; progress on stderr, and Ctrl-C handed on.

Ctrl-C once starts nothing new and lets what runs finish, twice ends it now. What the orchestrator has accepted goes on
when the terminal is closed.
"""

import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from .failure import BadText, Interrupted
from .progress import display
from .shell import Shell
from .tasks import done, made

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from ..process.remote import Remote
    from ..results import DelegateResult
    from ..service import Progress, Service
    from ..settings.setup import Setup
    from ..stop import StopSign

R = TypeVar("R")

_PATIENCE = 10.0  # seconds for which orchestrators that end are followed by others
_POLL = 0.02
_STOPPING = "stopping: what runs may finish, nothing new starts; Ctrl-C again ends it now"
_ENDING = "stopping now: what was written is kept"


@dataclass(frozen=True)
class Place:
    """Where work is carried out, and how long the command waits for it."""

    dry_run: bool = False
    foreground: bool = False
    detach: bool = False


def run(shell: Shell, op: str, args: Mapping[str, object], place: Place) -> int:
    """Carry out the service's method `op`, show its progress and answer with its result; the exit code is the result's.

    Raises BadText where the places don't go together.
    """
    if place.detach and (place.dry_run or place.foreground):
        raise BadText("--detach goes without --foreground and --dry-run: there is nobody to leave it to")
    with display(shell.terminal) as progress:
        result = (_here if place.dry_run or place.foreground else _over_there)(shell, op, args, place, progress.line)
        progress.end(() if place.dry_run or place.detach else result.tasks)
    shell.notes(result.notices)
    shell.answer(result, lambda: (made if place.detach else done)(result, shell.terminal))
    if place.dry_run or place.detach:
        return 0 if place.detach else result.exit_code
    for task in result.tasks:
        if task.status == "interrupted":
            shell.note(f"{task.task} was interrupted and keeps what it has (next: onepen resume {task.task})")
    return result.exit_code


def _over_there(
    shell: Shell, op: str, args: Mapping[str, object], place: Place, on_progress: "Progress"
) -> "DelegateResult":
    def work(remote: "Remote", setup: "Setup") -> "DelegateResult":
        press = partial(tell_press, shell.note)
        return remote.work(op, args, setup, on_progress=on_progress, on_press=press, detach=place.detach)

    return handed_over(shell, work)


def handed_over(shell: Shell, ask: "Callable[[Remote, Setup], R]") -> R:
    """What `ask` gets of the orchestrator, with the settings for a request to it.

    One that ends before it has taken the request did nothing: the next one is asked. Raises what `ask` raises, and what
    `Finder.at_work` does.
    """
    from ..process.errors import Gone

    deadline = time.monotonic() + _PATIENCE
    while True:
        remote, setup = _reached(shell)
        try:
            return ask(remote, setup)
        except Gone as e:
            if e.accepted or time.monotonic() > deadline:
                raise
            time.sleep(_POLL)


def _reached(shell: Shell) -> "tuple[Remote, Setup]":
    """The orchestrator; one is started if none runs, and comes up while the settings are read."""
    from ..process.remote import Remote

    link = shell.finder.running()
    begun = shell.finder.begin() if link is None else None
    try:
        setup = shell.setup
    except BaseException:
        if begun is not None:
            begun.leave()
        raise
    if link is None:
        link, started = shell.finder.at_work(begun)
        if started:
            shell.note(
                f"note: the orchestrator runs in the background now (process {link.hello.pid}; onepen down ends it)"
            )
    return Remote(link, shell.scope), setup


def tell_press(note: Callable[[str], None], presses: int) -> None:
    """Says what a Ctrl-C that was handed on does."""
    note(_STOPPING if presses == 1 else _ENDING)


def _here(shell: Shell, op: str, args: Mapping[str, object], place: Place, on_progress: "Progress") -> "DelegateResult":
    """This process is the orchestrator for as long as it takes; a rehearsal needs none."""

    async def work(service: "Service", stop: "StopSign") -> "DelegateResult":
        method: Callable[..., Awaitable[DelegateResult]] = getattr(service, op)
        return await method(**args, setup=shell.setup, on_progress=on_progress, stop=stop, dry_run=place.dry_run)

    return here(shell, work, rehearsed=place.dry_run)


def here(
    shell: Shell,
    work: "Callable[[Service, StopSign], Awaitable[R]]",
    *,
    rehearsed: bool = False,
    note: Callable[[str], None] | None = None,
) -> R:
    """What `work` comes to in this process, which is the orchestrator for as long as it takes.

    `note` says what a Ctrl-C does.

    Raises Interrupted when the person pressed Ctrl-C once more after everything was told to stop.
    """
    import anyio

    if not rehearsed:
        shell.check_free()
    result = anyio.run(_until_done, shell, work, rehearsed, note or shell.note)
    if result is None:
        raise Interrupted
    return result


async def _until_done(
    shell: Shell,
    work: "Callable[[Service, StopSign], Awaitable[R]]",
    rehearsed: bool,
    note: Callable[[str], None],
) -> "R | None":
    """What the work came to; None when it was cut off."""
    import anyio

    from ..stop import StopSign

    stop, result = StopSign(), None
    async with anyio.create_task_group() as group:
        group.start_soon(_heed, stop, note, group)
        if rehearsed:
            result = await work(shell.service, stop)
        else:
            from ..compose import build_orchestrator

            async with build_orchestrator(shell.root) as orchestrator:
                result = await work(orchestrator.service.seen_from(**shell.scope), stop)
        group.cancel_scope.cancel()
    return result


async def _heed(stop: "StopSign", note: Callable[[str], None], group: "TaskGroup") -> None:
    """Hand signals to the work; a signal that the shell told us to ignore (nohup, a background job) stays ignored."""
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
                note(_STOPPING)
                stop.press()
            else:
                note(_ENDING)
                while stop.presses < 2:
                    stop.press()
