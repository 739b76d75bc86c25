"""A batch carried out: over there in the orchestrator, or here; who is told what happens, and what stops it.

Ctrl-C once starts nothing new and lets what runs finish, twice ends it now; SIGTERM ends it now. A closed terminal
stops nothing that the orchestrator has accepted. Each says what it does and which command goes on.
"""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from ...memory.errors import OnepenError
from . import batchtext, running
from .batchbar import display
from .batchevents import Events
from .failure import BadText, Failure, told
from .shell import Shell

if TYPE_CHECKING:
    from ..batch.answer import BatchView
    from ..process.remote import Remote
    from ..service import Service
    from ..settings.setup import Setup
    from ..stop import StopSign
    from .batchbar import Shown


@dataclass(frozen=True)
class How:
    """Where a batch is carried out, and how it is told."""

    foreground: bool = False
    detach: bool = False
    events: bool = False
    dry_run: bool = False
    sample: int | None = None

    def checked(self, shell: Shell) -> "How":
        """Itself; raises BadText where the options don't go together."""
        if self.detach and (self.dry_run or self.foreground):
            raise BadText("--detach goes without --foreground and --dry-run: there is nobody to leave it to")
        if self.events and (self.dry_run or shell.common.json):
            raise BadText("--events goes without --json and --dry-run: each of them says what stands on stdout")
        return self


class LeftBehind(OnepenError):
    """Raised inside when the terminal is gone: the batch goes on in the orchestrator, and nobody waits for it here."""

    exit_code = 129

    def __init__(self, batch: str) -> None:
        super().__init__(
            f"the terminal is gone; the batch goes on in the background (onepen batch pause {batch} stops it)",
            hint=f"onepen batch status {batch} --watch",
        )


def carried_out(shell: Shell, batch: str, op: str, args: Mapping[str, object], how: How) -> int:
    """Carries out the service's method `op` for a batch, tells what happens, and answers; the exit code is its own."""
    with _shown(shell, how) as shown:
        note = partial(_stops, shown.note, batch)
        view = (
            _here(shell, op, args, shown, note)
            if how.foreground
            else _over_there(shell, batch, op, args, shown, note, how)
        )
        code = _code(view, how)
        shown.end(view, code)
    shell.notes(view.told)
    if how.events:
        return code
    if how.detach:
        shell.answer(view, lambda: batchtext.handed_over(view, shell.terminal))
        return code
    pilot = _piloted(shell, view) if how.sample is not None else None
    shell.answer(pilot or view, lambda: batchtext.standing(view, shell.terminal, pilot=pilot))
    return code


def _code(view: "BatchView", how: How) -> int:
    """The batch's own exit code; a pilot that did what it was asked for is no batch that was stopped."""
    if how.detach:
        return 0
    piloted = how.sample is not None and view.state == "stopped" and not view.interrupted
    return int(bool(view.counts.failed)) if piloted else view.exit_code


def _piloted(shell: Shell, view: "BatchView") -> "batchtext.Piloted | None":
    outlook = shell.service.afresh().batch_outlook(view.batch)
    return None if outlook is None else batchtext.Piloted(view, outlook)


@contextmanager
def _shown(shell: Shell, how: How) -> "Iterator[Shown]":
    """Who is told what happens; with --events an error is the last line, too."""
    if not how.events:
        with display(shell.terminal) as bar:
            yield bar
        return
    events = Events()
    try:
        yield events
    except BaseException as e:
        events.broken(masked(shell, told(e)))
        raise


def masked(shell: Shell, failure: Failure) -> Failure:
    from ..settings.redact import Known, held_in

    return failure.masked(Known(held_in(shell.env)).mask)


def _over_there(
    shell: Shell,
    batch: str,
    op: str,
    args: Mapping[str, object],
    shown: "Shown",
    note: Callable[[str], None],
    how: How,
) -> "BatchView":
    def work(remote: "Remote", setup: "Setup") -> "BatchView":
        press = partial(running.tell_press, note)
        return remote.batch(op, args, setup, on_happening=shown.happened, on_press=press, detach=how.detach)

    from ..process.errors import BatchCut

    try:
        with _heeding_a_closed_terminal(batch):
            return running.handed_over(shell, work)
    except BatchCut as e:
        e.hint = f"onepen batch resume {batch}"
        raise


def _here(
    shell: Shell, op: str, args: Mapping[str, object], shown: "Shown", note: Callable[[str], None]
) -> "BatchView":
    async def work(service: "Service", stop: "StopSign") -> "BatchView":
        method = getattr(service, op)
        view: BatchView = await method(**args, setup=shell.setup, on_happening=shown.happened, stop=stop)
        return view

    return running.here(shell, work, note=note)


def _stops(note: Callable[[str], None], batch: str, words: str) -> None:
    """Says what a signal does, and how the batch goes on later."""
    note(f"{words} (to go on: onepen batch resume {batch})")


@contextmanager
def _heeding_a_closed_terminal(batch: str) -> Iterator[None]:
    """While this lasts a SIGHUP ends this command with words; one that the shell told us to ignore stays ignored."""

    def gone(number: int, frame: FrameType | None) -> None:
        raise LeftBehind(batch)

    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGHUP, gone)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
