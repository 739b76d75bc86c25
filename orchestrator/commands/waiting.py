"""One line that shows that something goes on, until there is something to show; drawn by rich, on a terminal only."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status


class Waiting:
    """Shows nothing unless it is `live`; `clear` it before anything else is written."""

    def __init__(self, *, live: bool) -> None:
        self._live = live
        self._status: Status | None = None

    def show(self, text: str) -> None:
        if not self._live or self._status is not None:
            return
        from rich.console import Console

        self._status = Console(stderr=True).status(text)
        self._status.start()

    def clear(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None
