"""`onepen batch status --watch`: one batch again and again, until it ends or Ctrl-C.

On a terminal it is redrawn; elsewhere it is a line each thirty seconds or five percent, and with --json a document for
each change, on a line of its own.
"""

import sys
import time
from typing import TYPE_CHECKING, Protocol

from . import batchtext, streams
from .batchbar import Paced, frame
from .shell import Shell, json_text
from .terminal import look

if TYPE_CHECKING:
    from ..batch.answer import BatchView

_AGAIN_SECONDS = 1.0


class Screen(Protocol):
    """Shows one moment after the other."""

    def show(self, view: "BatchView") -> None: ...


def watch(shell: Shell, batch: str | None) -> int:
    """Shows a batch until it no longer runs, then how it stands; that the person leaves by Ctrl-C is no failure."""
    view = shell.service.batch_status(batch)
    screen: Screen = Documents() if shell.common.json else Redrawn() if shell.terminal.colour else Lines()
    try:
        while view.state == "running" and sys.stdout is not None:
            screen.show(view)
            time.sleep(_AGAIN_SECONDS)
            view = shell.service.afresh().batch_status(view.batch)
    except KeyboardInterrupt:
        return 0
    shell.notes(view.told)
    if shell.common.json:
        screen.show(view)
    else:
        streams.answer(batchtext.standing(view, shell.terminal))
    return 0


class Redrawn:
    """A few lines that are drawn over."""

    def __init__(self) -> None:
        self._lines = 0

    def show(self, view: "BatchView") -> None:
        rows = ["".join(text for text, _ in row) for row in frame(view, look())]
        back = f"\x1b[{self._lines}A\r\x1b[J" if self._lines else ""
        self._lines = len(rows)
        streams.answer(back + "".join(f"{row}\n" for row in rows))


class Lines:
    """A line now and then."""

    def __init__(self) -> None:
        self._paced = Paced()

    def show(self, view: "BatchView") -> None:
        if self._paced.due(view):
            streams.answer(f"{batchtext.line(view)}\n")


class Documents:
    """A document for each change."""

    def __init__(self) -> None:
        self._before = ""

    def show(self, view: "BatchView") -> None:
        text = json_text(view.as_json())
        if text != self._before:
            streams.answer(text)
        self._before = text
