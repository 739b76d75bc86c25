"""The orchestrator of a workspace: start it, look whether it runs, end it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from .shell import Shell

if TYPE_CHECKING:
    from ...memory.holder import Holder


_Foreground = Annotated[bool, typer.Option("--foreground", help="Be the orchestrator, until Ctrl-C or `onepen down`.")]
_Idle = Annotated[
    float | None,
    typer.Option("--idle", metavar="SECONDS", min=0, help="End after so long with nothing to do; 0: never. [600]"),
]
_Ready = Annotated[int | None, typer.Option("--ready-fd", hidden=True)]
_Now = Annotated[bool, typer.Option("--now", help="End what runs, too; it keeps what it has and can be resumed.")]


@dataclass(frozen=True)
class Running:
    """The answer of `up` and `down`: the orchestrator, None where none runs, and what it was at work on."""

    pid: int | None
    since: str = ""
    version: str = ""
    started: bool = False
    ended: bool = False
    ran: tuple[str, ...] = ()

    def as_json(self) -> Mapping[str, object]:
        told = None if self.pid is None else {"pid": self.pid, "since": self.since, "version": self.version}
        return {"orchestrator": told, "started": self.started, "ended": self.ended, "ran": list(self.ran)}


def up(shell: Shell, foreground: _Foreground = False, idle: _Idle = None, ready_fd: _Ready = None) -> int:
    if foreground:
        return _be(shell, idle, ready_fd)
    link, started = shell.finder.at_work(None, idle_seconds=shell.setup.idle_seconds if idle is None else idle)
    link.close()
    hello = link.hello
    result = Running(hello.pid, hello.since, hello.version, started=started)
    word = "runs now" if started else "runs already"
    shell.answer(result, lambda: f"The orchestrator {word}: process {hello.pid} since {hello.since}\n")
    return 0


def down(shell: Shell, now: _Now = False) -> int:
    from ..process.ending import end

    ended = end(shell.finder, now=now, note=shell.note)
    result = Running(ended.pid, ended.since, ended.version, ended=ended.ended, ran=ended.ran)
    shell.answer(result, lambda: _ended(result))
    return 0 if ended.ended or ended.pid is None else 5


def _ended(result: Running) -> str:
    if result.pid is None:
        return "No orchestrator runs.\n"
    if not result.ended:
        return f"The orchestrator (process {result.pid}) was told to end and still runs\nNext: onepen down --now\n"
    ran = "".join(f"  was at work on: {one}\n" for one in result.ran)
    return f"The orchestrator (process {result.pid}) has ended\n{ran}"


def _be(shell: Shell, idle: float | None, ready_fd: int | None) -> int:
    """This process is the orchestrator; a person is told on stderr, a process that started it over its pipe."""
    from ..process import spawn
    from .failure import told

    in_background = ready_fd is not None

    def ready(holder: "Holder") -> None:
        if ready_fd is not None:
            spawn.say_ready(ready_fd)
        else:
            shell.note(f"the orchestrator runs: process {holder.pid} since {holder.since}; Ctrl-C ends it")

    try:
        shell.check_free()  # before anything large is imported: of fifty that start at once, one goes on
        from ..process.life import Life

        life = Life(
            shell.root, shell.env, told, idle_seconds=idle, on_ready=ready, streams=(1, 2) if in_background else ()
        )
        reason = life.run()
    except BaseException as e:
        if ready_fd is not None:
            _report(ready_fd, e)
        raise
    if not in_background:
        shell.note(f"the orchestrator has ended: {reason}")
    return 0


def _report(fd: int, error: BaseException) -> None:
    from ...memory.holder import PenHeld
    from ..process import spawn
    from .failure import sole, told

    error = sole(error)
    if isinstance(error, PenHeld) and error.holder.socket:
        spawn.say_held(fd)
    else:
        failure = told(error)
        spawn.say_failed(fd, type(error).__name__, failure.message, failure.hint, failure.exit_code)
