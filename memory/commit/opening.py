"""Opening the pen: what an earlier holder left is found out, and finished, before anything new is committed."""

import errno
from collections.abc import Callable

from .. import files
from ..clock import Clock
from ..history import sort_key
from ..problem import Problem
from ..room import REDO_LOG
from . import laid, machine
from .doubt import Unfinished, reason_of
from .grip import Grip
from .record import Record
from .recovery import Rollforward, roll_forward


def take_up(grip: Grip, clock: Clock, new_machine: Callable[[], str], *, new_room: bool) -> None:
    """Find out where the workspace stands, and roll forward what the redo log holds; what was done is in `grip.done`.

    Raises RedoDamaged, ForeignRedo or RoomUnfit (nothing was changed), Unfinished, or an OSError.
    """
    workspace, disk = grip.workspace, grip.disk
    room, root = workspace.machine_room, workspace.root
    told = grip.done.problems
    found = grip.redo.read()
    counters = machine.read_counters(room)
    for path in machine.unreadable(room):
        message = "could not be read; it was made anew, what it counted is in logs/"
        told.append(Problem(path, 0, "machine_room_mended", "warning", message))
    epochs = [record.epoch for record in found.records]
    grip.epoch = 1 + max([counters.epoch if counters else 0, *epochs])
    numbers = [sort_key(commit)[0] for record in found.records for commit in record.commits]
    grip.ledger.highest = max([counters.sequence if counters else 0, *numbers])
    grip.count()  # from here on a holder that lost the lock finds another epoch
    grip.lock.note(workspace, clock.now(), disk)
    grip.machine = machine.read_machine(room) or machine.name_machine(room, new_machine, disk)
    if counters is not None and not (root / REDO_LOG).exists():
        message = "was missing; a new one was made, the history is in logs/"
        told.append(Problem(REDO_LOG, 0, "redo_made", "warning", message))
    torn = grip.redo.prepare(found)
    if torn is not None:
        told.append(torn)
    for space in workspace.spaces():
        grip.ledger.look(space)
    laid.clear(root, [record.tag for record in found.records], grip.ledger.highest, disk)
    if found.records:
        _recover(grip, found.records)
    if new_room:
        files.sync_folder(root, disk=disk)
    if new_room and grip.ledger.highest:
        message = f"was missing; a new one was made (machine {grip.machine}), the history is in logs/"
        told.append(Problem(".onepen", 0, "machine_room_made", "info", message))
    grip.count()
    machine.keep_ballast(room, disk)


def _recover(grip: Grip, records: tuple[Record, ...]) -> None:
    commits = [commit for record in records for commit in record.commits]
    names = ", ".join(commits[-3:])
    try:
        done = _rolled_forward(grip, records)
    except OSError as e:
        raise Unfinished(names, reason_of(e)) from e
    grip.done.touched |= done.touched
    count = f"{len(commits)} commits were" if len(commits) > 1 else "1 commit was"
    named = f"… {names}" if len(commits) > 3 else names
    message = f"{count} rolled forward after an interruption ({named})"
    grip.done.problems.append(Problem(REDO_LOG, 0, "redo_rolled_forward", "info", message))
    grip.done.problems += done.problems
    grip.checkpoint()


def _rolled_forward(grip: Grip, records: tuple[Record, ...]) -> Rollforward:
    root = grip.workspace.root
    try:
        return roll_forward(root, records, grip.disk, written=grip.redo.written)
    except OSError as e:
        if e.errno != errno.ENOSPC or not machine.drop_ballast(grip.workspace.machine_room, grip.disk):
            raise
        return roll_forward(root, records, grip.disk, written=grip.redo.written)
