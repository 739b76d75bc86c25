"""`onepen status --watch`: who is at work, again and again, until Ctrl-C.

On a terminal it is one screen that is redrawn. Elsewhere each change is a line, so that a log shows what happened when;
with --json each change is a document of its own, on a line of its own.
"""

import sys
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from ..amounts import money
from . import streams
from .ink import ink
from .shell import Shell, json_text
from .terminal import Terminal, look
from .text import because, count, cut, one_line, table

if TYPE_CHECKING:
    from ..results import StatusResult
    from ..watched import LeftView, WorkersView, WorkerView

_AGAIN_SECONDS = 1.0
_FRESH_SECONDS = 2.0
_LATELY = 5
_NARROW = 60


class Screen(Protocol):
    """Shows one moment after the other; `seen` is None while no orchestrator runs."""

    def show(self, status: "StatusResult", seen: "WorkersView | None") -> None: ...


class ReaderGone(Exception):
    """Raised inside when nobody reads stdout any more."""


def watch(shell: Shell, *, all_clients: bool) -> int:
    """Shows who is at work until the person leaves by Ctrl-C, which is no failure."""
    try:
        _follow(shell, _screen(shell), all_clients)
    except (KeyboardInterrupt, ReaderGone):
        pass
    return 0


def _screen(shell: Shell) -> Screen:
    if shell.common.json:
        return Documents()
    return Redrawn() if shell.terminal.colour else Lines()


def _follow(shell: Shell, screen: Screen, all_clients: bool) -> None:
    from ..process.remote import Remote

    client = None if all_clients else shell.client
    state = _Status(shell, client, all_clients)

    def show(seen: "WorkersView | None") -> None:
        screen.show(state.now(seen), seen and only(seen, client, all_clients=all_clients))
        if sys.stdout is None:
            raise ReaderGone

    while True:
        link = shell.finder.running()
        if link is not None:
            Remote(link, shell.scope).watch(show)
        else:
            show(None)
            time.sleep(_AGAIN_SECONDS)


class _Status:
    """What the files say: read anew when a task has ended, while no orchestrator runs, and every other second."""

    def __init__(self, shell: Shell, client: str | None, all_clients: bool) -> None:
        self._read: Callable[[], StatusResult] = lambda: shell.service.afresh().status(client, all_clients=all_clients)
        self._status: StatusResult | None = None
        self._at = 0.0
        self._left = 0

    def now(self, seen: "WorkersView | None") -> "StatusResult":
        left = seen.left[-1].number if seen is not None and seen.left else 0
        if seen is None or self._status is None or left != self._left or time.monotonic() - self._at > _FRESH_SECONDS:
            self._status, self._at, self._left = self._read(), time.monotonic(), left
        return self._status


def only(seen: "WorkersView", client: str | None, *, all_clients: bool) -> "WorkersView":
    """Those of one space, unless all are wanted."""
    from dataclasses import replace

    if all_clients:
        return seen
    workers = tuple(worker for worker in seen.workers if worker.client == client)
    return replace(seen, workers=workers, left=tuple(one for one in seen.left if one.client == client))


# -- a screen ----------------------------------------------------------------------------------------------------------


class Redrawn:
    """One screen that is drawn over; what stood there before it stays above."""

    def __init__(self) -> None:
        self._lines = 0

    def show(self, status: "StatusResult", seen: "WorkersView | None") -> None:
        text = frame(status, seen, look(), datetime.now().astimezone())
        back = f"\x1b[{self._lines}A\r\x1b[J" if self._lines else ""
        self._lines = text.count("\n")
        streams.answer(back + text)


def frame(status: "StatusResult", seen: "WorkersView | None", terminal: Terminal, now: datetime) -> str:
    """What fits on one screen: a line that counts, each worker with what it does, and what ended last."""
    columns, room = terminal.columns - 1, max(terminal.rows - 3, 1)
    workers = seen.workers if seen is not None else ()
    rows = [_row(worker, now) for worker in workers]
    shown = rows if len(rows) <= room else rows[: max(room - 1, 1)]
    lines = [cut(f"{now:%H:%M:%S}  {headline(status, seen)}", columns) + "\n"]
    if columns < _NARROW:  # two columns and what it does: more would not stay on one line
        lines += [cut(f"{row[0]}  {row[2]}  {row[-1]}", columns) + "\n" for row in shown]
    elif shown:
        head, _, rest = table([("task", "agent", "since", "cost", "does"), *shown], columns).partition("\n")
        lines += [ink(head, "dim", terminal) + "\n", rest]
    if len(shown) < len(rows):
        lines.append(f"and {len(rows) - len(shown):,} more\n")
    if seen is not None and room > len(rows):
        left = _left(status, seen)[-min(_LATELY, room - len(rows)) :]
        lines += [cut(f"{one.task}  {one.agent}  {ended(one.status, one.reason)}", columns) + "\n" for one in left]
    return "".join(lines)


def _left(status: "StatusResult", seen: "WorkersView") -> list["LeftView"]:
    """What ended and still stands so: each task once, none that is at work again or was decided on since."""
    last = {one.task: one for one in sorted(seen.left, key=lambda one: one.number)}
    for worker in seen.workers:
        last.pop(worker.task, None)
    open_ = {task.task for task in status.tasks}
    return sorted((one for one in last.values() if _over(one) or one.task in open_), key=lambda one: one.number)


def _over(one: "LeftView") -> bool:
    """Whether nothing was left to be done about a task where its work ended."""
    return one.status in ("committed", "answered", "refused", "cancelled")


def headline(status: "StatusResult", seen: "WorkersView | None") -> str:
    """How many are at work, wait for a place and wait for the person, and what the day has cost."""
    if seen is None:
        working = ["no orchestrator runs"]
    else:
        working = [f"{len(seen.workers):,} at work"] + ([f"{seen.waiting:,} wait for a place"] if seen.waiting else [])
    drafts = [count(status.drafts_waiting, "draft waits", "drafts wait") + " for you"] if status.drafts_waiting else []
    return ", ".join([*working, *drafts, f"{money(status.spend_today_usd)} today"])


def _row(worker: "WorkerView", now: datetime) -> tuple[str, ...]:
    does = f"{worker.attempt}: " if worker.attempt > 1 else ""
    does += one_line(worker.doing)
    return (worker.task, worker.agent, _elapsed(worker.since, now), money(worker.cost_usd), does)


def _elapsed(since: str, now: datetime) -> str:
    """Minutes and seconds, such as 0:42, and hours where there are some."""
    seconds = max(int((now - datetime.fromisoformat(since)).total_seconds()), 0)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def ended(status: str, reason: str) -> str:
    return status.replace("_", " ") + because(status, reason)


# -- lines -------------------------------------------------------------------------------------------------------------


class Lines:
    """A line for each change: who begins, what they do, where it left their task."""

    def __init__(self, clock: Callable[[], datetime] = lambda: datetime.now().astimezone()) -> None:
        self._clock = clock
        self._known: dict[str, tuple[int, str]] = {}
        self._headline = ""
        self._left: int | None = None

    def show(self, status: "StatusResult", seen: "WorkersView | None") -> None:
        said = headline(status, seen)
        if self._headline == "" or (seen is None) != self._headline.startswith("no orchestrator"):
            self._say(said)
        self._headline = said
        if seen is None:
            self._known, self._left = {}, 0  # the next orchestrator counts anew
            return
        for one in seen.left:
            if self._left is not None and one.number > self._left:
                self._say(f"{one.task} {one.agent}: {ended(one.status, one.reason)}")
        self._left = seen.left[-1].number if seen.left else 0
        known = {worker.task: (worker.attempt, worker.doing) for worker in seen.workers}
        for worker in seen.workers:
            if known[worker.task] != self._known.get(worker.task) and worker.doing:
                self._say(f"{worker.task} {worker.agent}: {one_line(worker.doing)}")
        self._known = known

    def _say(self, text: str) -> None:
        streams.answer(f"{self._clock():%H:%M:%S} {text}\n")


class Documents:
    """A document for each change, on one line; `left` has those that ended since the one before."""

    def __init__(self) -> None:
        self._before: Mapping[str, object] = {}
        self._left: int | None = None

    def show(self, status: "StatusResult", seen: "WorkersView | None") -> None:
        from ..watched import WorkersView

        now = seen or WorkersView()
        number = now.left[-1].number if now.left else 0
        left = [] if self._left is None else [one.as_json() for one in now.left if one.number > self._left]
        self._left = number
        document = {
            **status.as_json(),
            "workers": [worker.as_json() for worker in now.workers],
            "waiting": now.waiting,
            "left": left,
        }
        if document != self._before:
            self._before = {**document, "left": []}
            streams.answer(json_text(document))
