"""What a person clears away: the folders and talk of finished work, the text of old commits, all of a client."""

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from ..memory.workspace import SHELVES, ClientRemoved, Space
from .errors import ClientAtWork
from .keeping import Keeper
from .pruned import PrunedKind, PruneResult, PruneWish, RemovalResult

if TYPE_CHECKING:
    from .commit import Scribe


class Clearer(Keeper):
    """Removing for good, each piece with the pen held and a redo log that says nothing of what goes."""

    def prunable(self, wish: PruneWish) -> PruneResult:
        """What pruning would remove now; raises NoSuchClient."""
        from . import prune

        spaces = self._meant_by(wish)
        kinds: list[PrunedKind] = []
        for kind, text in (("staging", wish.staging), ("transcripts", wish.transcripts)):
            if text is not None:
                before = date.fromisoformat(text)
                find = prune.old_tasks if kind == "staging" else prune.old_talk
                found = find(self._view, self._clock, spaces, before)
                kinds += prune.summed(found, "staging" if kind == "staging" else "transcripts", before)
        if wish.history is not None:
            old = (prune.old_history(self._view, space, date.fromisoformat(wish.history)) for space in spaces)
            kinds += [kind for kind in old if kind.count]
        return PruneResult(tuple(kinds), dry_run=True)

    def prune(self, wish: PruneWish) -> PruneResult:
        """Removes it; what became prunable since it was shown goes, too. Raises NoSuchClient or an OSError.

        Broken off, it is done in part, and doing it again does the rest.
        """
        from ..memory import files
        from ..memory.trash import discard
        from . import prune

        spaces = self._meant_by(wish)
        kinds: list[PrunedKind] = []
        with self._scribe(dry_run=False) as scribe, scribe.upkeep() as pen:
            if wish.staging is not None:
                before = date.fromisoformat(wish.staging)
                old = tuple(prune.old_tasks(self._view, self._clock, spaces, before))
                for task in old:
                    discard(self.workspace.root, task.paths[0])
                kinds += prune.summed(old, "staging", before)
            if wish.transcripts is not None:
                before = date.fromisoformat(wish.transcripts)
                old = tuple(prune.old_talk(self._view, self._clock, spaces, before))
                for path in (path for talk in old for path in talk.paths):
                    discard(self.workspace.root, path) if path.is_dir() else files.remove(path)
                kinds += prune.summed(old, "transcripts", before)
            if wish.history is not None:
                kinds += self._history_pruned(pen.prune_history, spaces, date.fromisoformat(wish.history))
            return PruneResult(tuple(kinds), scribe.notices())

    def removable(self, client: str) -> RemovalResult:
        """All of a client, counted; raises BadId, NoSuchClient or ClientRemoved."""
        from ..memory.history import log_paths
        from ..memory.trash import measure
        from .batch.whole import batches_of
        from .standing import client_title
        from .tasks.dossier import OPEN, dossiers, task_ids

        space = self.workspace.space(client)
        assert space.client is not None
        count, size = measure(space.folder)
        chats = space.folder / "chats"
        waiting = sum(
            d.status in OPEN for task in dossiers((space,), self._clock, undecided=True) for d in task.state.drafts
        )
        return RemovalResult(
            client=space.client,
            title=client_title(self._view, space.client),
            cards=sum(len(self._view.cards(space, shelf)) for shelf in SHELVES),
            days=len(self._view.days(space)),
            chats=len(list(chats.glob("*.jsonl"))) if chats.is_dir() else 0,
            tasks=len(task_ids(space)),
            waiting=waiting,
            commits=sum((self._view.bytes(path) or b"").count(b"\n") for path in log_paths(space)),
            files=count,
            bytes=size,
            dry_run=True,
            batches=len(batches_of(self.workspace, space.client)),
        )

    def remove_client(self, client: str) -> RemovalResult:
        """Removes all of a client for good: first its tombstone is committed, then its files go.

        A second time it finishes what was broken off. Raises BadId, NoSuchClient or ClientAtWork.
        """
        from dataclasses import replace

        from ..memory.change import Change

        with self._scribe(dry_run=False) as scribe:  # taking the pen removes what is left of removed clients
            try:
                found = self.removable(client)
            except ClientRemoved as e:
                stone = e.tombstone
                nothing = RemovalResult(stone.client, "", 0, 0, 0, 0, 0, 0, 0, 0, stone.commit)
                return replace(nothing, notices=scribe.notices())
            space = self.workspace.space(client)
            self._refuse_at_work(scribe, space)
            what = f"clients/{found.client}: removed for good"
            change = Change(
                client=None,
                what=what,
                who=self._who,
                tombstone=space.client,
                log=(("removed", f"client {found.client}"),),
            )
            commit = scribe.write(change)
            with scribe.upkeep() as pen:
                pen.bury()
            told = tuple(
                n for n in scribe.notices() if not n.startswith(f"clients/{found.client}: ")
            )  # it's the answer
            return replace(found, commit=commit.id, notices=told, dry_run=False)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _meant_by(self, wish: PruneWish) -> tuple[Space, ...]:
        return self.workspace.spaces() if wish.every else (self.workspace.space(wish.client),)

    def _history_pruned(
        self, prune: Callable[[Space, date], int], spaces: Sequence[Space], before: date
    ) -> list[PrunedKind]:
        from .prune import old_history

        found = []
        for space in spaces:
            old = old_history(self._view, space, before)
            if old.count:
                prune(space, before)
                found.append(old)
        return found

    def _refuse_at_work(self, scribe: "Scribe", space: Space) -> None:
        """Nobody may be at work for a client that is removed: an orchestrator that runs may have a worker out."""
        from ..memory.holder import holder
        from .batch.dossier import open_batch
        from .batch.whole import batches_of
        from .standing import works_on
        from .tasks.dossier import dossiers

        if not scribe.lent:
            return  # the pen is ours alone, so what seems to run was interrupted
        held = holder(self.workspace.root)
        theirs = (open_batch(self.workspace, b, self._clock) for b in batches_of(self.workspace, str(space.client)))
        running: list[str] = [one.spec.batch for one in theirs if one.running(self.workspace)]
        running += [d.task for d in dossiers((space,), self._clock) if d.state.alive and works_on(held, d)]
        if running:
            raise ClientAtWork(str(space.client), tuple(running))
