"""What a worker may run: commands in its attempt's work folder, once its person has allowed its agent to.

The worker is in a sandbox, and what it starts is in it, too. A command's result says what it printed, and what lies in
the work folder afterwards with the name of that state: an attempt that goes on takes results from the transcript, and
the state says whether the files are still those that the result speaks of.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from signal import Signals

from ...memory.fence import inside
from ...memory.guard import UnsafeFile
from ..environment import command_environment
from .command import MOST_PRINTED, Ran, run_command
from .printed import Printed
from .toolinput import RunCommand, ToolRefused
from .workfolder import Contents, WorkFolder

SECONDS, MOST_SECONDS = 60, 600
"""How long a command may take where the model says nothing, and whatever it says."""

_SIGN_OF_LIFE = 20  # looks, of half a second each
_STATE = re.compile(r"\nwork folder: [^\n]* \[state ([0-9a-f]{16}|unknown)\]\Z")


class Running:
    """Runs commands in `folder`; `alive` is told now and then that one goes on. `most` seconds are the attempt's.

    `unconfined` says that there may be no sandbox around them.
    """

    def __init__(
        self,
        folder: WorkFolder,
        parent: Mapping[str, str],
        inputs: Path,
        space: Path,
        alive: Callable[[str], None],
        most: float = MOST_SECONDS,
        *,
        unconfined: bool = False,
    ) -> None:
        self.folder = folder
        self.unconfined = unconfined
        self._environment = command_environment(parent, tmp=folder.tmp, inputs=inputs, space=space)
        self._alive = alive
        self._most = min(most, MOST_SECONDS)
        self._seen: Contents | None = None

    def run(self, given: RunCommand) -> tuple[str, bool]:
        """Run a command; what came of it, for the model, and whether it was cut short. Raises ToolRefused."""
        if not given.command.strip() or "\0" in given.command:
            raise ToolRefused("run_command: command is empty, or holds a NUL; give a line of shell")
        self.folder.make()
        before = self._seen or self._contents() or Contents()
        seconds = min(given.seconds or SECONDS, self._most)
        try:
            ran = run_command(
                given.command,
                self.folder.path,
                self._environment,
                seconds=seconds,
                overfull=self.folder.overfull,
                alive=_now_and_then(lambda: self._alive("run_command: it goes on")),
            )
        except OSError as e:
            raise ToolRefused(f"run_command: it could not be started: {e.strerror or e}") from e
        self._seen = self._contents()
        unread = "it can't be told what lies there, remove what is not needed [state unknown]"
        left = unread if self._seen is None else f"{self._seen.told(before)} [state {self._seen.state}]"
        told = f"{_ended(ran, seconds)}\n{_printed(ran)}\nwork folder: {left}"
        return told, bool(ran.cut) or self._seen is None

    def _contents(self) -> Contents | None:
        """What lies in the folder; None if it is too much, or no folder."""
        try:
            return self.folder.contents()
        except (UnsafeFile, OSError):
            return None


def state_after(result: str) -> str | None:
    """The state of the work folder that a result of `run_command` names; None if it names none: nothing was run."""
    found = _STATE.search(inside(result))
    return None if found is None else found[1]


def _now_and_then(say: Callable[[], None]) -> Callable[[], None]:
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks % _SIGN_OF_LIFE == 0:
            say()

    return look


def _ended(ran: Ran, seconds: float) -> str:
    how = {
        "time": f"ended after {seconds:g} s, its time was up",
        "output": f"ended, it printed more than {MOST_PRINTED >> 20} MiB",
        "space": f"ended, the work folder holds {ran.full}; remove what is not needed",
    }
    if ran.cut:
        return how[ran.cut]
    held = "; what it had started in the background was ended with it" if ran.held else ""
    return (f"ended by {_signal(-ran.status)}" if ran.status < 0 else f"exit code {ran.status}") + held


def _signal(number: int) -> str:
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"


def _printed(ran: Ran) -> str:
    parts = [
        f"{name}:\n{_text(stream)}" for name, stream in (("stdout", ran.stdout), ("stderr", ran.stderr)) if stream.size
    ]
    return "\n".join(parts) or "(it printed nothing)"


def _text(stream: Printed) -> str:
    return stream.text().removesuffix("\n")
