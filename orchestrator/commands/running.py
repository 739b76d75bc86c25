"""Run work to its end: progress on stderr, Ctrl-C once to start nothing new and twice to stop now."""

import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

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

Work = Callable[["Progress", StopSign], Awaitable["DelegateResult"]]

_STOPPING = "stopping: what runs may finish, nothing new starts; Ctrl-C again ends it now"
_ENDING = "stopping now: what was written is kept"


def run(shell: Shell, work: Work) -> int:
    """Carry out `work`, show its progress and answer with its result; the exit code is the result's."""
    stop = StopSign()
    with display(shell.terminal) as progress:
        result = anyio.run(_until_done, lambda: work(progress.line, stop), stop, shell.note)
        if result is None:
            raise Interrupted
        progress.end(result.tasks)
    shell.notes(result.notices)
    shell.answer(result, lambda: done(result, shell.terminal))
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
