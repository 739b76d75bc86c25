"""The three standard streams, made safe to use whatever the shell did to them.

A closed descriptor 0, 1 or 2 would be handed to the next file that is opened, and whatever a library or a child prints
would then land in that file: so all three are taken by /dev/null first. A reader that went away (`| head -1`) ends
output quietly. A character that the stream's encoding can't show is written as plain ASCII.
"""

import codecs
import os
import sys
from io import TextIOWrapper
from typing import TextIO

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


def tell(text: str) -> None:
    """Write to stderr; a reader that is gone is no error."""
    if not _written(sys.stderr, text):
        sys.stderr = None  # as the interpreter itself does for a closed descriptor


def answer(text: str) -> None:
    """Write to stdout; a reader that is gone is no error, and what comes after it is not written."""
    if not _written(sys.stdout, text):
        sys.stdout = None


def _written(stream: TextIO | None, text: str) -> bool:
    """Whether `text` reached the stream.

    What stays in the buffer of a broken pipe would be flushed, and complained about, at exit: a stream for which this
    is False is to be forgotten.
    """
    if stream is None:
        return False
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        return False
    return True


def read_all(stream: TextIO | None) -> str:
    """Everything on stdin as UTF-8 text, line ends as they are; raises UnicodeDecodeError."""
    if stream is None:
        return ""
    data: bytes = stream.buffer.read()
    return data.decode()
