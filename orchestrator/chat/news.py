"""What was changed in a space while a chat was not answering: told once, since its prompt stays as it began."""

from collections.abc import Sequence

from ...memory.fence import Fences
from ...memory.history import Commit
from .session import Session

_MOST = 20


def latest(commits: Sequence[Commit]) -> str:
    """The id of the newest commit; "" for none."""
    return commits[-1].id if commits else ""


def news_since(commits: Sequence[Commit], session: Session, fences: Fences) -> str:
    """What others changed since the agent was last told, the newest twenty; "" for nothing."""
    ids = [commit.id for commit in commits]
    since = ids.index(session.known) + 1 if session.known in ids else 0
    own = f"chat {session.id} "
    new = [commit for commit in commits[since:] if not (commit.key or "").startswith(own)]
    if not new:
        return ""
    more = len(new) - _MOST
    rows = [f"- {commit.time} {commit.what} ({commit.id} by {commit.who})" for commit in new[-_MOST:]]
    cut = [f"- … {more} earlier ones; search_history finds them"] if more > 0 else []
    told = fences.around("what was changed", "\n".join([*cut, *rows]))
    return f"(Changed in memory meanwhile, not by you:)\n{told}\n"
