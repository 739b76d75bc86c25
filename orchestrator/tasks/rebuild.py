"""Going on with a task whose run journal was damaged: what its sheet and its attempts' folders still show."""

from collections.abc import Iterator
from dataclasses import replace

from ...memory.history import Commit, read_commits
from ...memory.ids import DraftId
from ...memory.view import View
from ..review.reviewer import facts_of
from .dossier import Dossier
from .events import AttemptFailed, AttemptLost, AttemptReported, AttemptTimedOut, DraftFacts, FoundDraft, Rebuilt

_ENDINGS = (AttemptReported, AttemptFailed, AttemptTimedOut, AttemptLost)


def rebuild(view: View, dossier: Dossier, *, rehearsed: bool = False) -> tuple[Dossier, tuple[str, ...]]:
    """The dossier with a journal to go on from, and what a person should know; unchanged when nothing is damaged.

    The damaged lines stay where they are. A draft that no readable line knows waits for a person again, under the
    number that it most likely had; one that a commit names is committed. Call it with the pen held.
    """
    if not dossier.damage:
        return dossier, ()
    found = tuple(_found(view, dossier))
    dossier = dossier.happened(Rebuilt(dossier.folder.highest(), found))
    names = ", ".join(f"{one.facts.id} ({one.attempt}/drafts/{one.facts.name})" for one in found)
    back = f"drafts that come back, to be looked at again: {names}" if found else "no draft was lost"
    where = dossier.space.path(f"staging/{dossier.task}/run.jsonl")
    verb = "would be" if rehearsed else "is"
    return replace(dossier, damage=()), (f"{where}: it is damaged and {verb} rebuilt from the task's folder; {back}",)


def _found(view: View, dossier: Dossier) -> Iterator[FoundDraft]:
    """Drafts in the folders of attempts whose end no readable line tells."""
    ended = {e.event.attempt for e in dossier.entries if isinstance(e.event, _ENDINGS)}
    taken = {str(d.id) for d in dossier.state.drafts}
    commits = {c.draft: c for c in read_commits(view, dossier.space) if c.task == dossier.task and c.draft}
    for attempt in dossier.folder.attempts():
        known = {d.facts.name for d in dossier.state.drafts if d.attempt == attempt}
        if attempt in ended or known:
            continue
        for facts in facts_of(view, dossier, attempt, 0):
            id_ = _number(dossier, facts, taken, commits)
            taken.add(id_)
            yield FoundDraft(attempt, replace(facts, id=id_))


def _number(dossier: Dossier, facts: DraftFacts, taken: set[str], commits: dict[str, Commit]) -> DraftId:
    """The first number that no draft has, and that no commit knows as that of another target."""
    k = 1
    while True:
        id_ = DraftId.of(dossier.task, k)
        commit = commits.get(id_)
        aim = "" if commit is None or commit.key is None else commit.key.partition(" ")[2].partition("#")[0]
        if id_ not in taken and (commit is None or aim == facts.target):
            return id_
        k += 1
