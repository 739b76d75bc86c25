"""Who is at the other end: a person at a terminal or a program, and what the screen can show.

Decided by our own `isatty()`, never by FORCE_COLOR: that variable, set in CI, would fill logs with escape codes.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

_NARROWEST = 20
_WIDEST = 160
_UNCUT = 10_000


@dataclass(frozen=True)
class Terminal:
    """What the three standard streams are.

    `columns` is the width for people's output: 20 to 160 on a terminal or as COLUMNS says, and so many in a file or
    pipe that nothing is cut. `rows` is how many lines the screen on which questions are asked shows at once.

    `colour` holds for stdout and `live` (a line that is redrawn) for stderr; each only on a terminal that can do it.
    `talks` says that stdout is a terminal, where an answer can be read while it comes in; `edits` that a line which is
    typed can be edited on the screen, in colour or not.
    """

    can_ask: bool
    colour: bool
    live: bool
    columns: int
    rows: int = 24
    talks: bool = False
    edits: bool = False


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # the stream was closed
        return False


def _is_utf8(stream: TextIO | None) -> bool:
    return (getattr(stream, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _columns(env: Mapping[str, str], stream: TextIO | None) -> int:
    try:
        columns = int(env.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns <= 0 and stream is not None and _is_terminal(stream):
        try:
            columns = os.get_terminal_size(stream.fileno()).columns or 80
        except OSError:
            columns = 80
    return min(max(columns, _NARROWEST), _WIDEST) if columns > 0 else _UNCUT


def _rows(stream: TextIO | None) -> int:
    try:
        return (os.get_terminal_size(stream.fileno()).lines if stream is not None else 0) or 24
    except (OSError, ValueError):
        return 24


def look(env: Mapping[str, str] = os.environ) -> Terminal:
    """The terminal as the standard streams and `env` (TERM, NO_COLOR, COLUMNS) say it is."""
    moves = env.get("TERM", "") not in ("", "dumb", "unknown")
    colours = moves and not env.get("NO_COLOR")
    return Terminal(
        can_ask=_is_terminal(sys.stdin) and _is_terminal(sys.stderr),
        colour=colours and _is_terminal(sys.stdout),
        live=colours and _is_terminal(sys.stderr) and _is_utf8(sys.stderr),
        columns=_columns(env, sys.stdout),
        rows=_rows(sys.stderr),
        talks=_is_terminal(sys.stdout),
        edits=moves and _is_terminal(sys.stdin) and _is_terminal(sys.stderr),
    )
