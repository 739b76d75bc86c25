"""What of finished work can go: their folders in staging/, what was said in them, and the text of old commits.

A task is finished when nothing more happens with it and nobody is waited for: no draft of it waits, no attempt runs,
and its journal can be read. What a task did to memory stays in the history, whose commits keep their ids and keys.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from ..memory.clock import Clock
from ..memory.history import log_paths
from ..memory.pruning import prune_log
from ..memory.trash import measure
from ..memory.view import View
from ..memory.workspace import Space
from .pruned import Kind, PrunedKind
from .tasks.dossier import OPEN, Dossier, dossiers
from .tasks.settle import Settled
from .tasks.taskstate import unanswered

_OVER = frozenset({"committed", "answered", "refused", "cancelled"})
_ENDED = _OVER | {"failed", "timed_out", "quarantined"}
_WORK = "work"
_SAID = frozenset({"transcript.jsonl", "worker.log"})


@dataclass(frozen=True)
class Prunable:
    """One thing that can go: a task's folder, or the files of its attempts in which their talk stands, with what their
    commands made.
    """

    space: Space
    kind: Kind
    task: str
    paths: tuple[Path, ...]
    files: int
    size: int


def old_tasks(view: View, clock: Clock, spaces: Iterable[Space], before: date) -> Iterator[Prunable]:
    """The folders of tasks that were finished before a day."""
    for dossier in _finished(view, clock, spaces, before, _ENDED):
        folder = dossier.folder.path
        yield Prunable(dossier.space, "staging", dossier.task, (folder,), *measure(folder))


def old_talk(view: View, clock: Clock, spaces: Iterable[Space], before: date) -> Iterator[Prunable]:
    """The transcripts and work folders of tasks that were finished before a day, and that nobody can go on with."""
    for dossier in _finished(view, clock, spaces, before, _OVER):
        found = [path for number in dossier.folder.attempts() for path in _talk(dossier.folder.attempt(number))]
        if found:
            counts = [measure(path) if path.is_dir() else (1, path.lstat().st_size) for path in found]
            files, sizes = zip(*counts, strict=True)
            yield Prunable(dossier.space, "transcripts", dossier.task, tuple(found), sum(files), sum(sizes))


def old_history(view: View, space: Space, before: date) -> PrunedKind:
    """The commits of a space whose text can go."""
    count = touched = size = 0
    for path in log_paths(space):
        data = view.bytes(path) or b""
        pruned = prune_log(data, before)
        if pruned.commits:
            count, touched, size = count + pruned.commits, touched + 1, size + len(data) - len(pruned.data)
    return PrunedKind(space.client, "history", before.isoformat(), count, touched, size)


def summed(found: Iterable[Prunable], kind: Kind, before: date) -> tuple[PrunedKind, ...]:
    """The same, counted for each space."""
    counts: dict[str | None, tuple[int, int, int]] = {}
    for one in found:
        tasks, files, size = counts.get(one.space.client, (0, 0, 0))
        counts[one.space.client] = tasks + 1, files + one.files, size + one.size
    return tuple(PrunedKind(client, kind, before.isoformat(), *sums) for client, sums in counts.items())


def _finished(
    view: View, clock: Clock, spaces: Iterable[Space], before: date, statuses: frozenset[str]
) -> Iterator[Dossier]:
    settled = Settled(view)
    for dossier in map(settled.overlay, dossiers(tuple(spaces), clock)):
        state = dossier.state
        if dossier.damage or state.alive or unanswered(state) or any(d.status in OPEN for d in state.drafts):
            continue
        if state.status in statuses and _last(dossier) < before:
            yield dossier


def _last(dossier: Dossier) -> date:
    """The day on which something was last noted of a task; one that can't be told is never old."""
    try:
        return max(datetime.fromisoformat(entry.at).date() for entry in dossier.entries)
    except ValueError:
        return date.max


def _talk(attempt: Path) -> Iterator[Path]:
    """The files of an attempt in which its conversation stands, and where its commands ran; a link is none of ours."""
    try:
        names = sorted(path.name for path in attempt.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        said = name in _SAID or (name.startswith("review-") and name.endswith(".jsonl"))
        path = attempt / name
        if not path.is_symlink() and ((said and path.is_file()) or (name == _WORK and path.is_dir())):
            yield path
