"""What becomes of keys that are pressed while no line is being edited: they stay off the screen and stand in the next.

Their Enter sends that line, unless they were pressed while an answer came in: then it could be a paste, and each line
of it would be paid for. Ctrl-C works as ever.
"""

import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

Keys = Literal["sent", "held", "shown"]
"""Kept for the next line, with Enter or without; or as a question needs them."""


@contextmanager
def keys(how: Keys, *, on: bool = True) -> Iterator[None]:
    """While this lasts the terminal of stdin treats keys so; without `on`, or without a terminal, nothing changes."""
    try:
        fd = sys.stdin.fileno()
        before = termios.tcgetattr(fd) if on else None
    except (OSError, ValueError, AttributeError, termios.error):  # no terminal, or none any more
        before = None
    if before is None:
        yield
        return
    _set(fd, _mode(before, how))
    try:
        yield
    finally:
        _set(fd, before)


def _mode(before: list[int | list[bytes | int]], how: Keys) -> list[int | list[bytes | int]]:
    iflag, oflag, cflag, lflag, *rest = before
    assert isinstance(iflag, int) and isinstance(lflag, int)
    line = termios.ECHO | termios.ICANON
    lflag = lflag | line if how == "shown" else lflag & ~line
    iflag = iflag & ~termios.ICRNL if how == "sent" else iflag | termios.ICRNL
    return [iflag, oflag, cflag, lflag, *rest]


def _set(fd: int, mode: list[int | list[bytes | int]]) -> None:
    with suppress(termios.error):  # the terminal was closed
        termios.tcsetattr(fd, termios.TCSADRAIN, mode)
