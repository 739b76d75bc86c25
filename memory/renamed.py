"""Commits by which a card got another name, told by what they did: one card went and one came, with the same files.

Such a commit isn't taken back by putting old text in the place of new, but by giving the card its old name again: what
was written into it since goes along, and so do its files, whose text the history doesn't hold.
"""

from dataclasses import dataclass

from .change import Rename
from .history import Commit, is_index
from .ids import BadId
from .target import BadTarget, CardTarget, parse_target
from .text.document import parse_document
from .workspace import inner_path


@dataclass(frozen=True)
class Renamed:
    """The two names of a card, and its two titles where these differ."""

    old: CardTarget
    new: CardTarget
    old_title: str | None = None
    new_title: str | None = None

    def back(self, title: str | None, files: tuple[str, ...]) -> Rename:
        """What gives a card, with the title that it has now, its old name and its old title again."""
        retitled = self.old_title != self.new_title and title == self.new_title
        return Rename(self.new, self.old.card, self.old_title if retitled else None, files)


def renamed_in(commit: Commit) -> Renamed | None:
    """The renaming that a commit is; None if it is none, or doesn't tell any more."""
    went = [change for change in commit.changes if change.whole and not change.new]
    came = [change for change in commit.changes if change.whole and not change.old]
    others = [change for change in commit.changes if not change.whole and not is_index(change.path)]
    if len(went) != 1 or len(came) != 1 or others:
        return None
    old, new = _card(went[0].path), _card(came[0].path)
    if old is None or new is None or old.shelf != new.shelf:
        return None
    titles = (parse_document(text).title for text in (went[0].old, came[0].new))
    return Renamed(old, new, *titles)


def _card(path: str) -> CardTarget | None:
    try:
        target = parse_target(inner_path(path))
    except (BadTarget, BadId):
        return None
    return target if isinstance(target, CardTarget) else None
