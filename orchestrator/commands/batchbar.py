"""What a person sees of a batch while it runs, on stderr.

On a terminal a few lines that are redrawn, with a bar; elsewhere a line each thirty seconds or five percent, so that a
log stays short and yet shows life. Each failure is told as it comes, with the row of the input that it is about.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ..amounts import percent
from . import batchtext
from .streams import tell
from .terminal import Terminal, look
from .text import because, cut, one_line, width, wrap

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..batch.answer import BatchView
    from ..batch.happening import Happening, Over

Span = tuple[str, str]
"""Text and the style in which it is drawn."""

_QUIET_SECONDS = 30.0
_STEP = 20  # a line at each twentieth of all tasks
_WIDEST, _NARROWEST = 40, 10  # columns of the bar
_A_SECOND = 4  # how often it is redrawn


class Shown(Protocol):
    """Who is told what happens to a batch; `note` says something in between, `end` how it ended."""

    def happened(self, event: "Happening") -> None: ...

    def note(self, text: str) -> None: ...

    def end(self, view: "BatchView", code: int) -> None: ...


class Paced:
    """Says when a line is due: at first, after thirty seconds, after five percent. `seconds` only goes forward."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._at: float | None = None
        self._step = 0

    def due(self, view: "BatchView") -> bool:
        now, step = self._seconds(), _step(view)
        due = self._at is None or step > self._step or now - self._at >= _QUIET_SECONDS
        if due:
            self._at, self._step = now, step
        return due


class PlainBar:
    """Whole lines, for logs and plain terminals. `seconds` is a clock that only goes forward."""

    def __init__(
        self,
        tell: Callable[[str], None] = tell,
        seconds: Callable[[], float] = time.monotonic,
        columns: int = 10_000,
    ) -> None:
        self._out = tell
        self._columns = columns
        self._paced = Paced(seconds)
        self._view: BatchView | None = None

    def happened(self, event: "Happening") -> None:
        from ..batch.happening import Launch, Over, Standing, Word

        match event:
            case Launch(view=view):
                self._view = view
                self._paced.due(view)
                self._tell(f"{batchtext.begun(view)}\n")
            case Standing(view=view):
                self._view = view
                if self._paced.due(view):
                    self._tell(f"{batchtext.line(view)}\n")
            case Over() if event.kind:
                self._tell(f"{failed(self._view, event)}\n")
            case Word(text=text):
                self._tell(f"{one_line(text)}\n")

    def note(self, text: str) -> None:
        self._tell(f"{one_line(text)}\n")

    def end(self, view: "BatchView", code: int) -> None:
        self._tell(f"{batchtext.line(view)}\n")

    def _tell(self, line: str) -> None:
        self._out(wrap(line, self._columns))


class LiveBar:
    """A few lines that are redrawn, by rich; they are gone when it is over, and what lasts stands above them."""

    def __init__(self, console: "Console", terminal: Terminal) -> None:
        from rich.live import Live

        self._console = console
        self._terminal = terminal
        self._view: BatchView | None = None
        self._at = 0.0
        self._live = Live(
            get_renderable=self._drawn, console=console, transient=True, refresh_per_second=_A_SECOND,
            vertical_overflow="crop",
        )  # fmt: skip

    def happened(self, event: "Happening") -> None:
        from ..batch.happening import Launch, Over, Standing, Word

        match event:
            case Launch(view=view):
                self._shows(view)
                self._live.start()
            case Standing(view=view):
                self._shows(view)
            case Over() if event.kind:
                self.note(failed(self._view, event))
            case Word(text=text):
                self.note(text)

    def note(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(one_line(text)), soft_wrap=False)

    def end(self, view: "BatchView", code: int) -> None:
        self.leave()

    def leave(self) -> None:
        self._live.stop()

    def _shows(self, view: "BatchView") -> None:
        self._view, self._at = view, time.monotonic()

    def _drawn(self) -> "Text":
        """The lines as they are now: the time that is left goes down between two events, too."""
        from rich.text import Text

        if self._view is None:
            return Text("")
        view, since = self._view, time.monotonic() - self._at
        if view.left_seconds is not None:
            view = replace(view, left_seconds=max(0.0, view.left_seconds - since))
        terminal = replace(self._terminal, columns=min(self._console.width, look().columns))
        lines = frame(view, terminal)
        return Text("\n").join(Text.assemble(*line, no_wrap=True) for line in lines)


@contextmanager
def display(terminal: Terminal) -> Iterator[PlainBar | LiveBar]:
    """What suits the terminal; rich is imported only where something is redrawn."""
    if not terminal.live:
        yield PlainBar(columns=terminal.columns)
        return
    from rich.console import Console

    bar = LiveBar(Console(stderr=True), terminal)
    try:
        yield bar
    finally:
        bar.leave()


def failed(view: "BatchView | None", event: "Over") -> str:
    """One failure: the row, the task, how and why."""
    row = f"line {event.line}" if view is None else batchtext.where(view, event.line)
    return f"{row} {event.task}: {event.status.replace('_', ' ')} ({event.kind}){because(event.status, event.reason)}"


def frame(view: "BatchView", terminal: Terminal) -> list[list[Span]]:
    """The lines of a screen, none of them as wide as it: the bar first, then as many figures as have room."""
    columns = max(terminal.columns - 1, 10)
    figures = [*batchtext.busy(view), *batchtext.costs(view)]
    if view.waits.requests:
        figures.append(batchtext.waits(view))
    rows = [_head(view, columns), *([(row, "")] for row in _packed(figures, columns))]
    return rows[: max(terminal.rows - 2, 2)]


def _head(view: "BatchView", columns: int) -> list[Span]:
    """Name, bar, how many of all, and how long it may still take: what has no room is left out from the end."""
    counts = view.counts
    over = counts.done + counts.failed
    told = [f"{over:,}/{counts.total:,}"]
    if counts.total:
        told.append(percent(over / counts.total))
    if view.left_seconds is not None:
        told.append(batchtext.left(view.left_seconds))
    while len(told) > 1 and width("  ".join(told)) + 10 > columns:
        told.pop()
    figures = "  ".join(told)
    name = batchtext.shortened(view.name, columns // 4)
    room = min(columns - width(name) - width(figures) - 4, _WIDEST)
    if room < _NARROWEST:
        return [(cut(f"{name}  {figures}", columns), "bold")]
    return [(f"{name}  ", "bold"), *bar(view, room), (f"  {figures}", "")]


def bar(view: "BatchView", columns: int) -> list[Span]:
    """Done, failed, running and left as parts of one bar; each part has a sign of its own beside its colour."""
    counts = view.counts
    parts = ((counts.done, "█", "green"), (counts.failed, "▓", "red"), (counts.running, "▒", "yellow"))
    spans, at, sum_ = [], 0, 0
    for number, sign, style in parts:
        sum_ += number
        end = sum_ * columns // counts.total if counts.total else 0
        spans.append((sign * (end - at), style))
        at = end
    return [*spans, ("░" * (columns - at), "dim")]


def _packed(figures: Sequence[str], columns: int) -> Iterator[str]:
    """As many figures on a line as have room."""
    line = ""
    for figure in figures:
        longer = f"{line} · {figure}" if line else f"  {figure}"
        if line and width(longer) > columns:
            yield line
            longer = f"  {figure}"
        line = longer if width(longer) <= columns else cut(longer, columns)
    if line:
        yield line


def _step(view: "BatchView") -> int:
    counts = view.counts
    return (counts.done + counts.failed) * _STEP // counts.total if counts.total else 0
