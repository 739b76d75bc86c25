"""Run work to its end: progress on stderr, Ctrl-C once to start nothing new and twice to stop now."""

import signal
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio.abc import TaskGroup

from ..service import StopSign
from .failure import Interrupted
from .progress import display
from .shell import Shell
from .tasks import done

if TYPE_CHECKING:
    from ..results import DelegateResult
    from ..service import Progress


class Work(Protocol):
    """A method of the service that runs work, with its own arguments already given."""

    def __call__(
        self, *, on_progress: "Progress", stop: StopSign, dry_run: bool
    ) -> Coroutine[object, object, "DelegateResult"]: ...


_STOPPING = "stopping: what runs may finish, nothing new starts; Ctrl-C again ends it now"
_ENDING = "stopping now: what was written is kept"


def run(shell: Shell, work: Work, dry_run: bool) -> int:
    """Carry out `work`, show its progress and answer with its result; the exit code is the result's."""
    stop = StopSign()
    with display(shell.terminal) as progress:
        call = partial(work, on_progress=progress.line, stop=stop, dry_run=dry_run)
        result = anyio.run(_until_done, call, stop, shell.note)
        if result is None:
            raise Interrupted
        progress.end(() if dry_run else result.tasks)
    shell.notes(result.notices)
    shell.answer(result, lambda: done(result, shell.terminal))
    if dry_run:
        return result.exit_code
    for task in result.tasks:
        if task.status == "interrupted":
            shell.note(f"{task.task} was interrupted and keeps what it has (next: onepen resume {task.task})")
    return result.exit_code


async def _until_done(
    work: Callable[[], Awaitable["DelegateResult"]], stop: StopSign, note: Callable[[str], None]
) -> "DelegateResult | None":
    """What the work came to; None when the person pressed Ctrl-C once more after everything was told to stop."""
    result = None
    async with anyio.create_task_group() as group:
        group.start_soon(_heed, stop, note, group)
        result = await work()
        group.cancel_scope.cancel()
    return result


async def _heed(stop: StopSign, note: Callable[[str], None], group: TaskGroup) -> None:
    """Hand signals to the work; a signal that the shell told us to ignore (nohup, a background job) stays ignored."""
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
