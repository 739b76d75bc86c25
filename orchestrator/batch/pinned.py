"""What the workers of a batch start from: pinned when it begins, so that all its prompts begin alike and stay cached.

What is committed meanwhile changes the index, and would change the beginning of every prompt that comes after it. So
the rules, notes and indexes of each space are kept in the batch's folder as they were, `context/<client>/`.
"""

from collections.abc import Iterable

from ...memory import snapshot
from ...memory.view import View
from ...memory.workspace import Space
from ...subagents.prompt import tools
from ...subagents.toolbox.toolset import tool_tokens
from ..premises import own_batch
from ..tasks.dossier import Dossier
from .folder import BatchFolder


class PinnedContext:
    """Reads what is pinned, each once; a folder that somebody removed is pinned anew."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._known: dict[tuple[str, str | None], snapshot.Snapshot] = {}

    def pin(self, batch: str, spaces: Iterable[Space]) -> None:
        """Keeps what a worker of these spaces starts from; what is kept already stays as it is."""
        for space in spaces:
            self._of(batch, space)

    def __call__(self, dossier: Dossier) -> snapshot.Snapshot | None:
        """What the workers of a task start from; None for a task of no batch, or of one that is gone."""
        batch = dossier.sheet.batch
        return self._of(batch, dossier.space) if batch and self._folder(batch).spec_file.is_file() else None

    def _of(self, batch: str, space: Space) -> snapshot.Snapshot:
        place = batch, space.client
        if place not in self._known:
            folder = self._folder(batch).context(space.client)
            try:
                self._known[place] = snapshot.load(folder)
            except (snapshot.SnapshotIncomplete, UnicodeDecodeError):
                taken = snapshot.take(self._view, space, tools=tool_tokens(tools()))
                snapshot.write(folder, taken, within=self._view.workspace.root)
                self._known[place] = taken
        return self._known[place]

    def _folder(self, batch: str) -> BatchFolder:
        return BatchFolder(own_batch(self._view.workspace, batch))
