"""Which tasks of a new batch are done already: committed under their keys, or left by a task of an earlier batch."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ...memory.clock import Clock
from ...memory.history import read_commits
from ...memory.undone import undone_of
from ...memory.view import View
from ...memory.workspace import Space
from .events import DoneBefore, TaskOver
from .folder import BatchFolder, batch_ids
from .item import Item
from .journal import BatchJournal
from .outcome import DONE


def done_before(
    view: View, spaces: Iterable[Space], batch: str, items: Iterable[Item], clock: Clock
) -> tuple[DoneBefore, ...]:
    """One event for each item whose key is done; what was undone since isn't."""
    left = {item.key for item in items}
    found: list[DoneBefore] = []
    for one in (*_committed(view, spaces), *_elsewhere(view.workspace.root, batch, clock)):
        if one.key in left:
            left.discard(one.key)
            found.append(one)
    return tuple(found)


def _committed(view: View, spaces: Iterable[Space]) -> Iterator[DoneBefore]:
    for space in spaces:
        commits = read_commits(view, space)
        undone = undone_of(commits)
        for commit in commits:
            if commit.key is not None and commit.id not in undone:
                yield DoneBefore(commit.key.partition(" ")[0], commit.id, commit.task or "")


def _elsewhere(root: Path, batch: str, clock: Clock) -> Iterator[DoneBefore]:
    """What other batches have done without a commit: drafts that wait, and answers."""
    for other in batch_ids(root):
        if other != batch:
            journal = BatchJournal(BatchFolder(root / "batches" / other).run_journal, clock, other)
            for entry in journal.read()[0]:
                if isinstance(entry.event, TaskOver) and entry.event.status in {"in_review", "answered"} & DONE:
                    yield DoneBefore(entry.event.key, "", entry.event.task)
