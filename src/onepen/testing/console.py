"""A person at a terminal: a program of ours on a terminal of its own, which keys are typed at and whose screen is read.

Unlike `Program.terminal` it is the program's controlling terminal: Ctrl-C is a key here, and a new size is a signal.
"""

import codecs
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from .program import LIMIT, PROGRAM
from .screen import Screen

ENTER, TAB, UP, ESCAPE = "\r", "\t", "\x1b[A", "\x1b"
CTRL_C, CTRL_D, CTRL_J, CTRL_R = "\x03", "\x04", "\n", "\x12"
_OPEN = 'exec <>"$0" >&0 2>&0; exec "$@"'  # who leads a session and opens a terminal is controlled by it


def pasted(text: str) -> str:
    """Text as a terminal sends what was pasted."""
    return f"\x1b[200~{text}\x1b[201~"


class Console:
    """`onepen` with `args` on a terminal; close it, or use it as a context manager."""

    def __init__(
        self,
        *args: str | Path,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self.screen = Screen(columns, rows)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ours, theirs = pty.openpty()
        self.resize(columns, rows)
        base = {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": str(cwd), "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(
            ["sh", "-c", _OPEN, os.ttyname(theirs), str(PROGRAM), *map(str, args)],
            cwd=cwd, env={**base, "TERM": "xterm-256color", **(env or {})}, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._theirs: int | None = theirs  # kept until the program has opened it

    def type(self, keys: str) -> None:
        """Types keys, whatever is on the screen."""
        os.write(self._ours, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        self.screen.resize(columns, rows)
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def until(self, shown: "str | Callable[[Screen], bool]", seconds: float = LIMIT) -> None:
        """Reads until a text was shown (also if it scrolled off since), or until something is true of the screen."""
        holds = (lambda screen: shown in screen.text) if isinstance(shown, str) else shown
        deadline = time.monotonic() + seconds
        while not holds(self.screen):
            assert time.monotonic() < deadline, f"{shown!r} is not there after {seconds} s:\n{self.screen.text}"
            assert self._read(0.2), f"it ended before {shown!r} was there:\n{self.screen.text}"

    def ended(self, seconds: float = LIMIT) -> int:
        """Reads until the program has ended; its exit code."""
        deadline = time.monotonic() + seconds
        while self._read(0.2):
            assert time.monotonic() < deadline, f"it still runs after {seconds} s:\n{self.screen.text}"
        return self.process.wait(LIMIT)

    def echoes(self) -> bool:
        """Whether the terminal itself shows what is typed."""
        return bool(termios.tcgetattr(self._ours)[3] & termios.ECHO)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
        if self._theirs is not None:
            os.close(self._theirs)

    def __enter__(self) -> "Console":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self, seconds: float) -> bool:
        """Shows what comes within so many seconds; False when the program has closed the terminal."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return self.process.poll() is None or self._theirs is None
        try:
            part = os.read(self._ours, 1 << 16)
        except OSError:  # the other end is closed
            return False
        if self._theirs is not None:
            os.close(self._theirs)
            self._theirs = None
        if answer := self.screen.feed(self._decoder.decode(part)):
            os.write(self._ours, answer.encode())
        return bool(part)
