"""The pen: the one thing that writes memory. A commit is all of its files or none of them, whatever happens.

Theory of operation
===================

A commit touches several files: a card, its index, the day log, the commit log. No file system changes several files at
one moment, and a process can be killed, or the power fail, between any two system calls. So the files are not the
commit. The commit is *one line* in the redo log (`.onepen/redo/log`), written and synced before any file is touched.
Either that line is on the disk, whole and with the right checksum, and then the commit has happened; or it isn't, and
then nothing has. The files are a copy of what the line says, and can be brought up to date at any time.

    1  fence      is the lock still ours, and the epoch?       lost: PenLost, nothing written
    2  read       the files as they are now
    3  compose    what they will be, all in memory             refused: EditRefused, nothing written
    4  places     may each file be written where it lies?      PlaceUnfit or OSError, nothing written
    5  lay        the new cards and indexes, beside the old    OSError: they are taken up again
    6  record     append one line to the redo log, one sync    <- the commit point
    7  files      swap in what was laid, add lines to logs, take out what goes
    8  checkpoint at close, or when the log is long: sync files and folders, then trim the redo log

Commits that wait at the same time go through this once, as a group (session.py, group.py): each is composed on what the
one before it leaves, and refused by itself if it doesn't fit; the record holds every file once, from what the first of
them found to what the last leaves. A group stands or falls as one. Where it can't be written, each is tried alone.

Lazily (durability.py) a commit is acknowledged behind an append without a sync, and steps 5 and 7 wait for `flush`,
which syncs the redo log first: so no file is ever ahead of its record on the disk, and a power cut takes the last
commits whole or leaves them whole. Until then what is composed next builds on the group that waits, and readers lay the
records over the files. A lazy record says how much of the log was synced when it was written, so that holes in what was
never synced are told from damage to what was.

Steps 4 and 5 are there because behind the commit point nothing can be refused any more: a folder where a file should
be, a folder that may not be written, a full disk or a limit on the size of files would leave a commit that stands and
can't be finished. So what takes space and rights is done before it. After it there are renames, lines added to logs
(asked for before: `place.py`) and files in folders that are yet to be made. What is laid is noted (`laid.py`), so the
next opening removes it if no record names it.

What an error means depends on where it happens. Before the commit point it is a clean abort: the record is cut off
again and the files were never touched. After it the commit stands, and only its files lag behind: the pen takes no more
commits (`RecoveryNeeded`), and the next one that is opened rolls forward. If the sync itself fails nobody can tell on
which side of the point we are: the same exception says so, and the next opening finds the line there or not there. A
sync that failed is never repeated, since the second one may succeed without the data having reached the disk.

Rolling forward, at the opening (opening.py; `settle.py` decides, `recovery.py` acts), takes all records since the last
checkpoint, also those whose files were written: after a power cut the file system may have kept the later and lost the
earlier. Each file is found as it was before (apply), as it was after (leave), or neither: then a person edited it
meanwhile, their version stays and what was due is kept beside it. A file that is as it was before, but newer than the
redo log, a person has put back: it stays just so. Recovery changes nothing that it has not compared, so it can itself
be interrupted and run again.

A record holds pieces of text, not whole files, and a piece can only be put into the version it was made for. So the
version before must never be gone while the version after isn't safe: what is swapped in is synced before the swap. The
swap exchanges two names and looks at what came out, so an editor's save at that very moment is found and put back.

Files that are only added to (day logs, commit logs, seals) are never rewritten. Their recovery asks: does this line
stand there? A line that may occur twice is recorded with how often it stood there before.

The commit number is one more than the highest in any space's commit log, in the redo log and in `.onepen/epoch`. So
numbers survive the loss of `.onepen/`, and a machine doesn't give one out twice on two branches of a repository. The
machine's name in it is bound to the folder (identity.py), so that a copy gives out numbers under another name. So is
the redo log, since a folder that came from elsewhere may hold one that nobody here has written.

Sources: Gray and Reuter, Transaction Processing, chapter 10 (redo logging); Pillai et al., "All File Systems Are Not
Created Equal", OSDI 2014 (what a crash may leave of a rename); renameat2(2), fsync(2).
"""

from collections.abc import Callable, Sequence
from datetime import date
from typing import Self

from .. import files
from ..change import Change
from ..clock import Clock
from ..errors import MemoryFault
from ..history import Commit, sort_key
from ..holder import Holder, PenHeld, holder
from ..problem import Problem
from ..room import REDO_LOG, RoomUnfit, inspect_room
from ..workspace import Space, Workspace
from . import machine
from .alignment import brought_into_line
from .burial import bury_all
from .compose import EntryWithoutSection, IdTaken, PutRefused, RemoveRefused
from .doubt import AlreadyCommitted, Outcome, RecoveryNeeded, Unfinished, reason_of
from .durability import Durability
from .grip import Grip
from .group import Group
from .identity import folder_name
from .lock import NetworkFileSystem, PenLock, PenLost
from .looked import Looked
from .opening import take_up
from .place import PlaceUnfit, check_room
from .record import Record
from .redo import ForeignRedo, RedoDamaged, encode
from .session import Keys, Session, known_commit
from .shorten import shorten_logs
from .standing import Standing
from .stroke import Stroke

__all__ = [
    "AlreadyCommitted",
    "Durability",
    "EntryWithoutSection",
    "ForeignRedo",
    "Holder",
    "IdTaken",
    "NetworkFileSystem",
    "Outcome",
    "Pen",
    "PenHeld",
    "PenLost",
    "PlaceUnfit",
    "PutRefused",
    "RecoveryNeeded",
    "RedoDamaged",
    "RemoveRefused",
    "RoomUnfit",
    "Unfinished",
    "holder",
]

_CHECKPOINT_BYTES = 1 << 20


class Pen:
    """The held pen of a workspace; use it as a context manager, or close it."""

    def __init__(self, grip: Grip, clock: Clock, durability: Durability) -> None:
        self._grip = grip
        self._workspace = grip.workspace
        self._disk = grip.disk
        self._done = grip.done
        self._ledger = grip.ledger
        self._clock = clock
        self._durability = durability
        self._waiting: Group | None = None
        self._waiting_keys = Keys()
        self._source = Standing(self._workspace.root)
        self._sealed: dict[str, date] = {}
        self._folder = folder_name(self._workspace.root)
        self._looked = Looked(self._workspace.root)

    @classmethod
    def open(
        cls,
        workspace: Workspace,
        clock: Clock,
        *,
        wait: float = 10.0,
        new_machine: Callable[[], str] = machine.new_machine,
        disk: files.Disk = files.DISK,
        durability: Durability = Durability.FULL,
    ) -> "Pen":
        """Take the pen within `wait` seconds and finish what was left undone.

        Whoever holds a lazy pen calls `flush` within a second of a commit. What is committed lazily shows to readers at
        once; its files follow at the flush.

        Raises PenHeld, RedoDamaged, ForeignRedo or RoomUnfit (nothing was changed), NetworkFileSystem, Unfinished, or
        an OSError.
        """
        inspect_room(workspace.root)
        room = workspace.machine_room
        new_room = not room.exists()
        files.make_folder(room / "redo", within=workspace.root, disk=disk)
        grip = Grip(workspace, PenLock.acquire(workspace, wait), disk)
        try:
            take_up(grip, clock, new_machine, new_room=new_room)
            pen = cls(grip, clock, durability)
            pen.bury()
        except BaseException:
            grip.let_go()
            raise
        return pen

    @property
    def recovered(self) -> tuple[Problem, ...]:
        """What was rolled forward, made anew or kept beside, since the pen was opened."""
        return tuple(self._done.problems)

    def commit(self, change: Change) -> Commit:
        """Make a change durable and visible, or change nothing.

        Raises EditRefused (and its kinds), AlreadyCommitted, PenLost, NoSuchClient or an OSError: nothing was written;
        RecoveryNeeded: the commit is in doubt or its files lag behind, and this pen takes no more.
        """
        outcome = self.commit_group((change,))[0]
        if isinstance(outcome, Commit):
            return outcome
        raise outcome

    def commit_group(self, changes: Sequence[Change]) -> tuple[Outcome, ...]:
        """Make several changes durable with one record and one sync, each built on those before it.

        Each gets its commit, or what `commit` raises for it. Where together they can't be written, each is tried by
        itself, so that one that doesn't fit keeps no other from being made.
        """
        try:
            self._grip.fence()
        except (PenLost, RecoveryNeeded) as e:
            return (e,) * len(changes)
        session = self._session()
        outcomes = [session.work_out(change) for change in changes]
        if not session.group.commits:
            self._done.problems += session.told
            return tuple(outcomes)
        try:
            self._write(session)
        except (PenLost, RecoveryNeeded) as e:
            return tuple(e if session.rests_on_it(outcome) else outcome for outcome in outcomes)
        except (MemoryFault, OSError) as e:
            if len(changes) == 1:
                self._done.problems += session.told
                return (e,)
            return tuple(outcome for change in changes for outcome in self.commit_group((change,)))
        self._done.problems += session.told
        self._ledger.highest = sort_key(session.group.commits[-1].id)[0]
        self._sealed = session.sealed
        if self._grip.redo.size >= _CHECKPOINT_BYTES:
            self._try_checkpoint()
        return tuple(outcomes)

    def flush(self) -> None:
        """Put what was committed lazily on the disk and into its files; without lazy durability there is nothing to do.

        To be called within a second. Raises PenLost or RecoveryNeeded, and then this pen takes no more.
        """
        if self._waiting is None:
            return
        self._grip.fence()
        group, self._waiting, self._waiting_keys = self._waiting, None, Keys()
        tag = group.commits[-1].id
        self._grip.doubt = RecoveryNeeded(tag, "it was broken off")
        try:
            self._grip.redo.sync()
            stroke = Stroke.of(self._workspace.root, group)
            stroke.bring(stroke.lay(self._disk), self._done, self._disk)
            self._source.keep(group.leaves())
        except (MemoryFault, OSError) as e:
            self._grip.doubt = e if isinstance(e, RecoveryNeeded) else RecoveryNeeded(tag, reason_of(e))
            raise self._grip.doubt from e
        self._grip.doubt = None

    @property
    def waits(self) -> bool:
        """Whether something was committed that `flush` has not put on the disk yet."""
        return self._waiting is not None

    def reconcile(self, space: Space, who: str = "user:onepen") -> Commit | None:
        """Bring the indexes of a space into line with cards that were edited by hand; None if they are, or can't be.

        Of cards that this pen has seen before only those are read that changed since. What can't be read or written is
        passed over and told in `recovered`: what a person asks for need not wait for an index, and `doctor` shows the
        same until it is put right.
        """
        try:
            glance = self._looked.look(space, None if self._waiting is None else self._waiting.read)
        except (MemoryFault, OSError):
            self._looked.forget_space(space)
            return brought_into_line(self.commit, space, who, self._done.problems.append)  # which tells what is wrong
        if not glance.cards:
            return None
        before = len(self._done.problems)
        self._looked.keep(glance)
        try:
            return brought_into_line(self.commit, space, who, self._done.problems.append, glance.cards)
        except BaseException:
            self._looked.forget_space(space)
            raise
        finally:
            for problem in self._done.problems[before:]:
                self._looked.forget(problem.path)
                if problem.kind == "not_reconciled":
                    self._looked.forget_space(space)

    def commit_of(self, space: Space, key: str) -> str | None:
        """The commit of a space that was made under this key."""
        self._ledger.look(space)
        return known_commit(self._ledger, (self._waiting_keys,), space, key)

    def prune_history(self, space: Space, before: date) -> int:
        """Take the text out of a space's commits from before a day, and say how many; raises what `settle` raises."""
        self.settle()
        return shorten_logs(self._workspace.root, space, before, self._disk)

    def bury(self) -> None:
        """Remove what is there of clients that were removed; `recovered` tells of it."""
        self._done.problems += bury_all(self._workspace.root, self.settle, self._disk)

    def settle(self) -> None:
        """Make sure that the pen is ours and the redo log empty; raises PenLost, RecoveryNeeded or an OSError."""
        self._grip.fence()
        self.checkpoint()

    def tidy(self) -> None:
        """Checkpoint unless something waits for `flush`; where it can't be done, it is said in `recovered`."""
        if self._grip.doubt is None and not self._grip.closed and self._waiting is None:
            self._try_checkpoint()
            self._looked.save(self._disk, every=5.0)

    def checkpoint(self) -> None:
        """Wait until all files are on the disk, then trim the redo log.

        Raises PenLost, RecoveryNeeded or an OSError.
        """
        self.flush()
        self._grip.checkpoint()

    def close(self) -> None:
        """Checkpoint and put the pen down; what a checkpoint can't do is left to the next opening, and said."""
        if self._grip.closed:
            return
        try:
            if self._grip.doubt is None:
                self._try_checkpoint()
                self._looked.save(self._disk)
        finally:
            self._grip.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _session(self) -> Session:
        group = Group(self._source if self._waiting is None else self._waiting)
        return Session(
            self._workspace,
            self._clock,
            self._ledger,
            group,
            machine=self._grip.machine,
            sealed=self._sealed,
            keys=(self._waiting_keys,),
        )

    def _write(self, session: Session) -> None:
        """From the commit point to the files; lazily, to where the commit can't be lost but by a power cut."""
        root, group = self._workspace.root, session.group
        lazy = self._durability is Durability.LAZY
        stroke = Stroke.of(root, group)
        commits = tuple(commit.id for commit in group.commits)
        synced = self._grip.redo.synced if lazy else None
        id_, epoch = self._workspace.settings.id, self._grip.epoch
        line = encode(Record(id_, epoch, commits, stroke.changes, self._folder, synced))
        check_room(root, line, stroke.changes, stroke.contents)
        if lazy:
            self._grip.record(stroke.tag, line, sync=False)
            self._grip.doubt = None
            self._waiting = self._waiting or Group(self._source, keep=False)
            self._waiting.absorb(group)
            self._looked.written(stroke.changes)
            self._waiting_keys.add(session.keys)
            return
        beside = stroke.lay(self._disk)
        try:
            self._grip.record(stroke.tag, line, sync=True)
        except (PenLost, OSError):
            beside.take_up(self._disk)
            raise
        try:
            stroke.bring(beside, self._done, self._disk)
        except OSError as e:
            self._grip.doubt = RecoveryNeeded(stroke.tag, reason_of(e))
            raise self._grip.doubt from e
        self._grip.doubt = None
        self._source.keep(group.leaves())
        self._looked.written(stroke.changes)

    def _try_checkpoint(self) -> None:
        """Checkpoint, or say why not: what was committed is durable without it."""
        try:
            self.checkpoint()
        except (OSError, PenLost, RecoveryNeeded) as e:
            message = f"the redo log was not trimmed ({e}); the next command that writes does it"
            self._done.problems.append(Problem(REDO_LOG, 0, "checkpoint_failed", "warning", message))
