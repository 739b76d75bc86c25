"""What the service answers about what was: the history, where a text comes from, and what was undone.

Frozen values, each with the JSON that other programs rely on; fields are only ever added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .results import Json

if TYPE_CHECKING:
    from ..memory.history import Commit
    from ..memory.recall.why import Brought, Stands


@dataclass(frozen=True)
class HistoryResult:
    """The answer of `history`: newest first; `notices` tell what of it can't be read.

    `undone` are commits that were undone, each with the commit that undid it. `diff` is what the one commit did that
    was asked for; `path` the file or folder that was asked about; `cut` how many more there are than were asked for.
    """

    commits: tuple[Commit, ...]
    notices: tuple[str, ...] = ()
    undone: Mapping[str, str] = field(default_factory=dict)
    diff: str | None = None
    path: str | None = None
    cut: int = 0

    def as_json(self) -> Json:
        shown = {} if self.diff is None else {"diff": self.diff}
        return {"commits": [{**commit_json(c, self.undone), **shown} for c in self.commits]}


@dataclass(frozen=True)
class WhyResult:
    """The answer of `why`: the commits that brought a text, newest first, and where it stands now.

    `brought` that are not `whole` brought only lines of it. `gone` took it out, where it stands nowhere now. `pruned`
    counts the commits of the space whose text is gone on purpose: nobody knows what they brought.
    """

    text: str
    brought: tuple[Brought, ...]
    stands: tuple[Stands, ...]
    undone: Mapping[str, str] = field(default_factory=dict)
    gone: Commit | None = None
    notices: tuple[str, ...] = ()
    pruned: int = 0

    @property
    def by_hand(self) -> bool:
        """Whether it stands in memory and no commit brought it."""
        return bool(self.stands) and not self.brought

    def as_json(self) -> Json:
        return {
            "text": self.text,
            "commits": [
                {
                    **commit_json(one.commit, self.undone),
                    "whole": one.whole,
                    "where": [{"path": path, "section": section} for path, section in one.where],
                    "lines": list(one.lines),
                }
                for one in self.brought
            ],
            "stands": [
                {"path": place.path, "line": place.line, "text": "\n".join(place.lines)} for place in self.stands
            ],
            "by_hand": self.by_hand,
            "taken_out_by": None if self.gone is None else self.gone.id,
            "pruned": self.pruned,
        }


@dataclass(frozen=True)
class UndoResult:
    """The answer of `undo`: the commit that undid another, and the workspace-relative paths that it touched.

    `undone` is the commit that was undone, `what` what it had done, `diff` what was done to take it back. With
    `dry_run` nothing was written: all is as it would be, `commit` is None. `drafts` wait again.
    """

    commit: str | None
    paths: tuple[str, ...]
    undone: str
    what: str
    diff: str
    drafts: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dry_run: bool = False

    def as_json(self) -> Json:
        return {
            "commit": self.commit,
            "paths": list(self.paths),
            "undone": self.undone,
            "what": self.what,
            "diff": self.diff,
            "drafts": list(self.drafts),
            "dry_run": self.dry_run,
        }


def commit_json(commit: Commit, undone: Mapping[str, str]) -> Json:
    """A commit as `history` and `why` tell it."""
    return {
        "id": commit.id,
        "time": commit.time,
        "who": commit.who,
        "what": commit.what,
        "draft": commit.draft,
        "agent": commit.agent,
        "task": commit.task,
        "reviewer": commit.reviewer,
        "sources": list(commit.sources),
        "paths": list(commit.paths),
        "undoes": commit.undoes,
        "undone_by": undone.get(commit.id),
        "pruned": commit.pruned,
    }
