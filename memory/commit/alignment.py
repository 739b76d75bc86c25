"""Bringing the indexes of a space into line with cards that were edited by hand, as a commit of its own."""

from collections.abc import Callable

from ..change import Change
from ..history import Commit
from ..links import LinkLeadsOut
from ..problem import Problem
from ..text.refusal import EditRefused, NothingToChange
from ..view import UnreadableText
from ..workspace import Space
from .doubt import RecoveryNeeded, reason_of


def brought_into_line(
    commit: Callable[[Change], Commit],
    space: Space,
    who: str,
    passed_over: Callable[[Problem], None],
    cards: frozenset[str] | None = None,
) -> Commit | None:
    """The commit by which the indexes of a space are brought into line; None if they are, or it is `passed_over`."""
    change = Change(space.client, "indexes brought into line with the cards", who, reconcile=True, cards=cards)
    try:
        return commit(change)
    except NothingToChange:
        return None
    except RecoveryNeeded as e:
        raise RecoveryNeeded(f"{e.what} ({change.what})", e.reason, asked=False) from e
    except (EditRefused, LinkLeadsOut, UnreadableText) as e:
        reason = e.message
    except OSError as e:
        reason = reason_of(e)
    message = f"the indexes were not brought into line with the cards ({reason})"
    passed_over(Problem(space.prefix or "./", 0, "not_reconciled", "warning", message))
    return None
