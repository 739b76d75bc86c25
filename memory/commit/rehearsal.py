"""The pen in rehearsal: a change is worked out and checked as the pen does it, and then nothing is written.

No lock is taken, so another process may write meanwhile: what is said holds for the moment at which it is said. Changes
that were rehearsed show in the view, so the next one builds on them, as it would on what was written.
"""

from typing import Self

from ..change import Change
from ..clock import Clock
from ..history import Commit, commit_id, read_commits, sort_key
from ..holder import holder
from ..problem import Problem
from ..room import REDO_LOG, inspect_room
from ..view import View
from ..workspace import Space, Workspace
from . import machine
from .alignment import brought_into_line
from .compose import compose
from .doubt import AlreadyCommitted
from .group import Group
from .lock import NetworkFileSystem, network_file_system
from .place import check_places, check_room
from .record import Record
from .redo import encode
from .session import space_of
from .settle import Chains

_NAMELESS = "000000"  # stands for a machine that has no name yet; it gets one with its first commit


class Foreseen(View):
    """The workspace as it would be after what was rehearsed; what lies on the disk stays as it is."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._rehearsed: list[Record] = []

    def foresee(self, record: Record) -> None:
        self._rehearsed.append(record)

    def _chains(self) -> Chains:
        pending = super()._chains()
        if not self._rehearsed:
            return pending
        chains = Chains({path: list(chain) for path, chain in pending.by_path.items()})
        for record in self._rehearsed:
            chains.add(record)
        return chains


class Rehearsal:
    """Takes the pen's place where nothing is to be written."""

    def __init__(self, view: Foreseen, clock: Clock) -> None:
        self._view = view
        self._clock = clock
        self._workspace = view.workspace
        self._source = _Source(view)
        self._told: list[Problem] = []

    @classmethod
    def open(cls, view: Foreseen, clock: Clock) -> Self:
        """Raises what keeps the pen from being taken but needs no lock to be seen.

        NetworkFileSystem, RoomUnfit, RedoDamaged or ForeignRedo.
        """
        root = view.workspace.root
        kind = network_file_system(root)
        if kind is not None:
            raise NetworkFileSystem(str(root), kind)
        inspect_room(root)
        refused = view.refused()
        if refused is not None:
            raise refused
        return cls(view, clock)

    @property
    def recovered(self) -> tuple[Problem, ...]:
        """What a person should know: another holder of the pen, traces of a crash, and what was passed over."""
        held = holder(self._workspace.root)
        if held is not None and held.socket:  # an orchestrator: it would be handed the work, and nobody waits
            return tuple(self._told)
        if held is not None:
            message = f"the pen is held by {held}; onepen would wait for it"
            return (Problem(".onepen", 0, "pen_held", "info", message), *self._told)
        pending = len(View(self._workspace).pending_paths())
        if pending:
            message = (
                f"{pending} {'file' if pending == 1 else 'files'} of an interrupted commit would be finished first"
            )
            return (Problem(REDO_LOG, 0, "redo_pending", "info", message), *self._told)
        return tuple(self._told)

    def commit(self, change: Change) -> Commit:
        """What the pen would commit; raises what it raises before its commit point."""
        space = space_of(self._workspace, change)
        known = read_commits(self._view, space)
        same = next((commit.id for commit in known if change.key is not None and commit.key == change.key), None)
        if same is not None:
            raise AlreadyCommitted(str(change.key), same)
        number = max((sort_key(commit.id)[0] for commit in known), default=0) + 1
        name = machine.read_machine(self._workspace.machine_room) or _NAMELESS
        now = self._clock.now()
        group = Group(self._source)
        composed = compose(
            change,
            space,
            group,
            id=commit_id(number, name),
            now=now,
            seal_days=True,
            passed_over=self._told.append,
        )
        group.take(composed)
        files, contents = group.files(), group.contents()
        record = Record(self._workspace.settings.id, 0, (composed.commit.id,), files)
        check_places(self._workspace.root, files, contents)
        check_room(self._workspace.root, encode(record), files, contents)
        self._view.foresee(record)
        return composed.commit

    def reconcile(self, space: Space, who: str = "user:onepen") -> Commit | None:
        """What the pen would bring into line in a space; None if nothing, or what it passes over."""
        return brought_into_line(self.commit, space, who, self._told.append)

    def close(self) -> None:
        """Nothing was taken, so nothing is put down."""


class _Source:
    """The files as `compose` reads them, with what was rehearsed."""

    def __init__(self, view: Foreseen) -> None:
        self._view = view

    def read(self, path: str) -> bytes | None:
        return self._view.bytes(path)

    def end(self, path: str) -> tuple[int, bool]:
        data = self._view.bytes(path) or b""
        return len(data), not data or data.endswith(b"\n")

    def names(self, folder: str) -> set[str]:
        return self._view.names(folder)

    def blocks(self, path: str) -> None:
        """Nothing is kept for another time."""
