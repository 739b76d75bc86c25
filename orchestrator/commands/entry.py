"""Where the messages of a chat come from: a line that is edited on the screen, a plain one, or the lines of a pipe."""

import sys
from typing import Protocol

from . import streams
from .shell import MOST_TASK, Shell

PROMPT = "> "
_MORE = ". "


class Entry(Protocol):
    """Gives one message after the other."""

    def read(self, status: str) -> str:
        """The next message, as it was typed; `status` is a line that may be shown below it.

        Raises EOFError at the end of input, and KeyboardInterrupt for Ctrl-C where nothing was typed.
        """


class Lines:
    """Lines of stdin. On a terminal each has a prompt, and a `\\` at its end begins a new line of the same message."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._asks = shell.terminal.can_ask

    def read(self, status: str) -> str:
        """The next message; raises TooLong, too."""
        text = self._line(PROMPT)
        while self._asks and goes_on(text):
            text = f"{text[:-1]}\n{self._line(_MORE)}"
        return text

    def _line(self, prompt: str) -> str:
        while True:
            if self._asks:
                streams.tell(prompt)
            line = sys.stdin.buffer.readline(MOST_TASK + 1) if sys.stdin is not None else b""
            if not line:
                if self._asks:
                    streams.tell("\n")
                raise EOFError
            if len(line) > MOST_TASK:
                raise streams.TooLong("a line of stdin", MOST_TASK)
            try:
                return line.decode().rstrip("\r\n")
            except UnicodeDecodeError as e:
                self._shell.note(f"that is not UTF-8 text ({e.reason} at byte {e.start + 1}), so it was not sent")


def goes_on(text: str) -> bool:
    """Whether a line ends with a single backslash, so that the message goes on with the next."""
    return text.endswith("\\") and not text.endswith("\\\\")
