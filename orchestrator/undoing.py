"""How a commit is taken back: which one is meant, what the pen makes of it, and the draft that then waits again."""

from collections.abc import Sequence

from ..memory.clock import Clock
from ..memory.history import Commit, read_commits
from ..memory.ids import BadId, TaskId
from ..memory.renamed import Renamed, renamed_in
from ..memory.text.refusal import EditRefused
from ..memory.undoable import BuiltUpon, NothingToUndo, built_upon, check_undoable, last_undoable
from ..memory.undone import root_of
from ..memory.view import View
from ..memory.workspace import Space
from .changes import taken_back
from .commit import Scribe
from .history import find
from .past import UndoResult
from .renaming import files_of, keep_modes, modes_of
from .tasks.dossier import NOT_OPENED, Scope, open_dossier
from .tasks.settle import Settled
from .views import written


class Undoing:
    """Takes commits back in the name of `who`."""

    def __init__(self, view: View, clock: Clock, who: str) -> None:
        self._view = view
        self._clock = clock
        self._who = who

    def space_of(self, commit: str | None, space: Space, scope: Scope) -> tuple[Space, str | None]:
        """The space of the commit that an id means, wherever `scope` lets it be, and its whole id."""
        if commit is None:
            return space, None
        found_in, found, _ = find(self._view, scope, commit)
        return found_in, found.id

    def carry_out(
        self, scribe: Scribe, space: Space, id_: str | None, key: str | None, *, allow_secret: bool = False
    ) -> UndoResult:
        """Takes the commit back with this pen, once for a key; without an id, the last of the space that can be.

        Raises NothingToUndo, or what `Scribe.undo` raises.
        """
        before = None if key is None else scribe.done(space, key)
        if before is None:
            scribe.reconcile((space,))
        commits = read_commits(self._view, space)
        undone = self._meant(space, commits, id_) if before is None else _named(commits, before.undoes)
        renamed = renamed_in(undone)
        if before is not None:
            commit = before
        elif renamed is not None:
            commit = self._named_back(scribe, space, undone, renamed, commits, key)
        else:
            commit = scribe.undo(space, undone, commits, self._who, key=key, allow_secret=allow_secret)
        drafts = () if scribe.rehearsed else self._waiting_again(space, root_of(undone, commits))
        return UndoResult(
            commit=None if scribe.rehearsed else commit.id,
            paths=commit.paths,
            undone=undone.id,
            what=undone.what,
            diff=written(commit),
            drafts=drafts,
            notices=scribe.notices(),
            dry_run=scribe.rehearsed,
        )

    def _named_back(
        self,
        scribe: Scribe,
        space: Space,
        undone: Commit,
        renamed: Renamed,
        commits: Sequence[Commit],
        key: str | None,
    ) -> Commit:
        """Gives a card its old name again, with all that was written into it since."""
        check_undoable(undone, commits)
        document = self._view.document(space, renamed.new)
        rename = renamed.back(None if document is None else document.title, files_of(space, renamed.new))
        modes = modes_of(space, rename)
        try:
            commit = scribe.write(taken_back(space, undone, commits, self._who, key, rename))
        except EditRefused as e:
            later = built_upon(undone, commits)
            if later:
                raise BuiltUpon(undone.id, e.message, later) from e
            raise
        if not scribe.rehearsed:
            keep_modes(modes)
        return commit

    def _meant(self, space: Space, commits: Sequence[Commit], id_: str | None) -> Commit:
        last = last_undoable(commits) if id_ is None else _named(commits, id_)
        if last is None:
            raise NothingToUndo(f"client {space.client}" if space.client else "the house's own space")
        return last

    def _waiting_again(self, space: Space, root: Commit) -> tuple[str, ...]:
        """Journals in the task of a draft what became of it; the draft, if it waits again.

        What can't be journalled now (a task that was tidied away) leaves memory as it is: the history decides.
        """
        if root.draft is None or root.task is None:
            return ()
        try:
            dossier = Settled(self._view).journal(open_dossier(space, TaskId(root.task), self._clock))
        except (*NOT_OPENED, BadId, OSError):
            return ()
        return tuple(str(d.id) for d in dossier.state.drafts if d.id == root.draft and d.status == "waiting")


def _named(commits: Sequence[Commit], id_: str | None) -> Commit:
    return next(commit for commit in commits if commit.id == id_)
