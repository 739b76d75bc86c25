"""A story: lines of shell that a person types one after the other, in a shell that knows almost nothing.

Each line runs in a new shell, in a folder that is not the workspace, without a terminal and without a runtime folder;
what a line assigns to a variable is there in the next. The workspace's orchestrator runs in the background, as it does
for a person; `kill` says before which lines it is ended with kill -9.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .program import LIMIT, PROGRAM, Ran

FIELD = "import functools, json, sys; print(functools.reduce(lambda v, k: v[int(k) if isinstance(v, list) else k], sys.argv[1].split('.'), json.load(sys.stdin)))"  # noqa: E501
_PRELUDE = f"""
field() {{ {PROGRAM.parent}/python -I -c {json.dumps(FIELD)} "$1"; }}
[ -f "$STATE" ] && . "$STATE"
"""
_POSTLUDE = """
code=$?
set +e
for name in ${!STORY_@}; do declare -p "$name"; done >"$STATE"
exit $code
"""


@dataclass(frozen=True)
class Line:
    """One line: the exit code that is right, and what has to stand in what it prints."""

    text: str
    code: int = 0
    says: str = ""


class LineFailed(AssertionError):
    """Raised when a line ended otherwise than it should; the message holds all lines before it."""

    def __init__(self, number: int, lines: Sequence[Line], ran: Ran, killed: Sequence[int]) -> None:
        told = "\n".join(f"{'KILL ' if k in killed else ''}$ {line.text}" for k, line in enumerate(lines[: number + 1]))
        super().__init__(f"{told}\n=> exit {ran.code}\n{ran.out}\n{ran.err}")


class Story:
    """Lines about the workspace `ws` below `home`; variables that begin with STORY_ live from line to line.

    `limit` is how many seconds one line may take.
    """

    def __init__(
        self, home: Path, env: Mapping[str, str] | None = None, workspace: str = "ws", *, limit: float = LIMIT * 2
    ) -> None:
        self.home = home.resolve()
        self.workspace = self.home / workspace
        self._env = {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": str(self.home), **(env or {})}
        self._state = self.home / ".story"
        self._limit = limit

    def tell(self, *lines: Line | str, kill: Container[int] = ()) -> list[Ran]:
        """Run the lines in order; before those whose numbers `kill` holds, the orchestrator is killed.

        Raises LineFailed at the first that ends otherwise than it should.
        """
        wanted = [line if isinstance(line, Line) else Line(line) for line in lines]
        done: list[Ran] = []
        killed: list[int] = []
        for number, line in enumerate(wanted):
            if number in kill and self.kill():
                killed.append(number)
            ran = self.run(line.text)
            done.append(ran)
            if ran.code != line.code or line.says not in ran.out + ran.err:
                raise LineFailed(number, wanted, ran, killed)
        return done

    def run(self, text: str) -> Ran:
        """One line, whatever it ends with."""
        done = subprocess.run(
            ["bash", "-c", f"{_PRELUDE}\n{text}\n{_POSTLUDE}"],
            cwd=self.home, env={**self._env, "STATE": str(self._state)}, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=self._limit,
        )  # fmt: skip
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def orchestrator(self) -> int | None:
        """The process id of the workspace's orchestrator, by its note; None when none is alive."""
        try:
            pid = int(json.loads((self.workspace / ".onepen/pen.json").read_bytes())["pid"])
            os.kill(pid, 0)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return pid

    def kill(self) -> bool:
        """End the orchestrator as a crash would; whether there was one."""
        pid = self.orchestrator()
        if pid is None or not _is_ours(pid, self.workspace):
            return False
        os.kill(pid, signal.SIGKILL)
        return wait_until(lambda: not _alive(pid))

    def __enter__(self) -> "Story":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether `true` becomes true in time."""
    deadline = time.monotonic() + seconds
    while not (held := true()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return held


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # one that nobody has waited for yet is there by name only
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True


def _is_ours(pid: int, workspace: Path) -> bool:
    """Whether the process is an orchestrator of this workspace: who takes the pen for a moment is noted, too."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return True
    return "up" in command and str(workspace) in command
