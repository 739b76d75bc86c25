"""`--events`: what happens to a batch as lines of JSON on stdout, for programs that follow it; nothing else is there.

One `launch` once it is on the disk, a `task` for each that is over, `progress` at most once a second, `notice` for what
a person should know, and as the last line one `result`: the batch as it stands with the command's exit code, or the
error for which the command ended.
"""

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from . import streams
from .shell import json_text

if TYPE_CHECKING:
    from ..batch.answer import BatchView
    from ..batch.happening import Happening
    from .failure import Failure

_APART_SECONDS = 1.0


class Events:
    """Writes each event on a line; `seconds` is a clock that only goes forward."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._at: float | None = None
        self._launched = self._ended = False

    def happened(self, event: "Happening") -> None:
        from ..batch.happening import Launch, Standing

        match event:
            case Launch() if self._launched:
                return
            case Launch():
                self._launched = True
            case Standing():
                now = self._seconds()
                if self._at is not None and now - self._at < _APART_SECONDS:
                    return
                self._at = now
        self._say(event.as_json())

    def note(self, text: str) -> None:
        self._say({"event": "notice", "text": text})

    def end(self, view: "BatchView", code: int) -> None:
        self._last({**view.as_json(), "exit_code": code})

    def broken(self, failure: "Failure") -> None:
        """The command ends by an error; what was begun may go on without it."""
        self._last(failure.as_json())

    def _last(self, document: Mapping[str, object]) -> None:
        self._say({"event": "result", **document})
        self._ended = True

    def _say(self, document: Mapping[str, object]) -> None:
        if not self._ended:
            streams.answer(json_text(document))
