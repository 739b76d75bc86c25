"""The three standard streams, made safe to use whatever the shell did to them.

A closed descriptor 0, 1 or 2 would be handed to the next file that is opened, and whatever a library or a child prints
would then land in that file: so all three are taken by /dev/null first. A reader that went away (`| head -1`) ends
output quietly. A character that the stream's encoding can't show is written as plain ASCII.
"""

import codecs
import os
import sys
from io import TextIOWrapper
from typing import BinaryIO, TextIO

from ...memory.errors import OnepenError

_ERRORS = "onepen-plain"
_PLAIN = {
    "→": "->",
    "—": "-",
    "–": "-",
    "·": "-",
    "…": "...",
    "≈": "~",
    "≤": "<=",
    "“": '"',
    "”": '"',
    "„": '"',
    "‘": "'",
    "’": "'",
}


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in text), error.end


def open_streams() -> None:
    """Open closed descriptors on /dev/null and let no character make a write fail; call it before anything else."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    codecs.register_error(_ERRORS, _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


class ResultUnwritten(OnepenError):
    """Raised when stdout takes no more: a full disk, say. What the command did is done."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the result can't be written to stdout: {reason}; what the command did is done")


def tell(text: str) -> None:
    """Write to stderr; that nobody can read it is no error."""
    try:
        _write(sys.stderr, text)
    except OSError:
        sys.stderr = None  # as the interpreter itself does for a closed descriptor


def answer(text: str) -> None:
    """Write to stdout; a reader that is gone is no error, and what comes after it is not written.

    Raises ResultUnwritten.
    """
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:
        sys.stdout = None
    except OSError as e:
        sys.stdout = None
        raise ResultUnwritten(e.strerror or str(e)) from e


def _write(stream: TextIO | None, text: str) -> None:
    """Write and flush. What stays in the buffer of a stream that raised would be flushed, and complained about, at
    exit: such a stream is to be forgotten.
    """
    if stream is not None:
        stream.write(text)
        stream.flush()


class TooLong(OnepenError):
    """Raised when a text from outside has more bytes than its place takes; the rest was not read."""

    exit_code = 2

    def __init__(self, what: str, limit: int) -> None:
        size = f"{limit >> 20} MiB" if limit >= 1 << 20 else f"{limit >> 10} KiB"
        super().__init__(f"{what}: longer than {size}, which is the most it may be")


def read_all(stream: TextIO | None, what: str, limit: int) -> str:
    """Everything on stdin as UTF-8 text, line ends as they are; raises TooLong or UnicodeDecodeError."""
    return "" if stream is None else bounded(stream.buffer, what, limit).decode()


def bounded(source: BinaryIO, what: str, limit: int) -> bytes:
    """All bytes of `source`, which may be endless; raises TooLong where there are more than `limit`."""
    data = source.read(limit + 1)
    if len(data) > limit:
        raise TooLong(what, limit)
    return data
