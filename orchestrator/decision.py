"""What the service answers to `approve` and `reject`: what became of each draft that a person decided on.

Frozen values, each with the JSON that other programs rely on; fields are only ever added.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from .results import DraftView, Json

Outcome = Literal[
    "committed", "already", "duplicate", "conflict", "blocked", "needs_person", "not_approved", "refused", "sent_back"
]


@dataclass(frozen=True)
class Decision:
    """What became of one draft that a person decided on.

    `needs_person`: the draft or its section is not what was shown; `draft.diff` holds what it is now, `note` says
    what moved, and the next `approve` of the same bytes passes. `not_approved`: the person was asked and said no, or
    nothing; it waits as before.
    """

    draft: DraftView
    outcome: Outcome
    note: str = ""
    commit: str | None = None
    paths: tuple[str, ...] = ()

    def uncommitted(self) -> Decision:
        """The decision of a rehearsal: what it would commit has no id yet."""
        if self.outcome not in {"committed", "refused"}:
            return self
        return replace(self, commit=None, draft=replace(self.draft, commit=None))

    @property
    def exit_code(self) -> int:
        if self.outcome in {"needs_person", "not_approved"}:
            return 3
        return 1 if self.outcome in {"conflict", "blocked", "duplicate"} else 0


@dataclass(frozen=True)
class DecisionResult:
    """The answer of `approve` and `reject`, in the order in which the ids were given.

    With `dry_run` nothing was decided: outcomes, statuses and paths are what they would be, `commit` is None.
    """

    decisions: tuple[Decision, ...]
    notices: tuple[str, ...] = ()
    dry_run: bool = False

    @property
    def exit_code(self) -> int:
        """3 when a person must look, else 1 when something could not be done, else 0."""
        codes = {d.exit_code for d in self.decisions}
        return 3 if 3 in codes else 1 if 1 in codes else 0

    def as_json(self) -> Json:
        commits = [d.commit for d in self.decisions if d.commit]
        paths = dict.fromkeys(path for d in self.decisions for path in d.paths)
        return {
            "commit": commits[0] if commits else None,
            "paths": list(paths),
            "decisions": [
                {
                    "draft": d.draft.id,
                    "outcome": d.outcome,
                    "status": d.draft.status,
                    "note": d.note,
                    "commit": d.commit,
                    "paths": list(d.paths),
                    "sha256": d.draft.sha256,
                    "stages": list(d.draft.stages),
                    **({"diff": d.draft.diff} if d.draft.diff is not None else {}),
                }
                for d in self.decisions
            ],
            "dry_run": self.dry_run,
        }
