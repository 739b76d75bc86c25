"""End the orchestrator that runs, also one that doesn't answer."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from .errors import Gone, Silent
from .find import Finder
from .link import Link

_NOW_SECONDS = 15.0
_MORE_SECONDS = 5.0


@dataclass(frozen=True)
class Ended:
    """What came of it; `pid` None: none ran. `ran` is what it was at work on."""

    pid: int | None
    since: str = ""
    version: str = ""
    ended: bool = False
    ran: tuple[str, ...] = ()


def end(finder: Finder, *, now: bool, note: Callable[[str], None]) -> Ended:
    """Tell the orchestrator to end and wait until it is gone; `now` ends what runs, and one that doesn't answer, too.

    Raises Silent or Garbled.
    """
    try:
        link = finder.running(any_version=True)
        if link is None:
            return Ended(None)
        return _told(finder, link, now=now, note=note)
    except Silent as e:
        if not now:
            raise
        # The kernel said whose socket it is, so this is an orchestrator of ours, and no other process.
        note(f"the orchestrator (process {e.pid}) doesn't answer: it is killed")
        os.kill(e.pid, signal.SIGKILL)
        return Ended(e.pid, ended=finder.wait_gone(e.pid, _MORE_SECONDS))


def _told(finder: Finder, link: Link, *, now: bool, note: Callable[[str], None]) -> Ended:
    hello, seconds = link.hello, _NOW_SECONDS
    ran: tuple[str, ...] = ()
    try:
        answer = link.ask("down", "0" * 8, {"now": now})
    except Gone:
        answer = {}
    if isinstance(answer, dict):
        ran = tuple(map(str, answer.get("ran", ())))
        seconds = float(answer.get("seconds", seconds))
    if ran and not now:
        note(f"waiting for what runs: {'; '.join(ran)} (at most {seconds:.0f} s; onepen down --now ends it)")
    gone = finder.wait_gone(hello.pid, _NOW_SECONDS if now else seconds + _NOW_SECONDS)
    if gone:
        finder.wait_ended(hello.pid)
    return Ended(hello.pid, hello.since, hello.version, gone, ran)
