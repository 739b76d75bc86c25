"""What was changed in a space while a chat was not answering: told once, since its prompt stays as it began."""

from collections.abc import Sequence

from ...memory.fence import Fences
from ...memory.history import Commit, is_index
from ...memory.text.clip import clip
from ...memory.tokens import estimate
from ...memory.workspace import SYNTHESIS
from .session import Session

TOKENS = 800
"""How many tokens (estimated) the rows of a note may have; those of the earlier commits are only counted."""
_MOST = 20
_LINES, _LINE = 4, 200
_SHOWN = 3


def latest(commits: Sequence[Commit]) -> str:
    """The id of the newest commit; "" for none."""
    return commits[-1].id if commits else ""


def told_paths(commits: Sequence[Commit], session: Session) -> frozenset[str]:
    """The files whose change is told by a commit since then: all of others, and of its own the index lines.

    What its own commits did to a card it knows to the byte, so another hand's edit behind them is no part of it.
    """
    return frozenset(
        path
        for commit in _since(commits, session)
        for path in commit.paths
        if is_index(path) or not _own(commit, session)
    )


def _since(commits: Sequence[Commit], session: Session) -> Sequence[Commit]:
    """The commits that were made since the agent was last told, its own among them."""
    ids = [commit.id for commit in commits]
    return commits[ids.index(session.known) + 1 if session.known in ids else 0 :]


def _own(commit: Commit, session: Session) -> bool:
    return (commit.key or "").startswith(f"chat {session.id} ")


def news_since(commits: Sequence[Commit], session: Session, fences: Fences) -> str:
    """What others changed since the agent was last told, the newest within a budget; "" for nothing.

    The renewal that this chat has begun from is no news, it stands in its prompt; and none before it is.
    """
    new = _new(commits, session)
    if not new:
        return ""
    rows, left = list[str](), TOKENS
    for commit in reversed(new[-_MOST:]):
        row = "\n".join((f"- {commit.time} {commit.what} ({commit.id} by {commit.who})", *_index_lines(commit)))
        left -= estimate(row)
        if rows and left < 0:
            break
        rows.insert(0, row)
    more = len(new) - len(rows)
    cut = [f"- … {more} earlier ones; search_history finds them"] if more > 0 else []
    told = fences.around("what was changed", "\n".join([*cut, *rows]))
    return f"(Changed in memory meanwhile, not by you:)\n{told}\n"


def told_line(commits: Sequence[Commit], session: Session, edited: Sequence[str], prefix: str) -> str:
    """For the person: of which files the agent is told that they were changed; "" for none.

    Where there are cards among them, indexes and day logs are left out. `prefix` is the path of the chat's space.
    """
    every = [*(path for one in _new(commits, session) for path in one.paths), *edited]
    cards = [path for path in every if not is_index(path) and not _is_day(path, prefix)]
    paths = [path.removeprefix(prefix) for path in dict.fromkeys(cards or every)]
    if not paths:
        return ""
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"the agent is told what was changed meanwhile: {', '.join(paths[:_SHOWN])}{more}"


def _is_day(path: str, prefix: str) -> bool:
    return path.startswith(f"{prefix}memory/") and path != f"{prefix}memory/synthesis.md"


def _new(commits: Sequence[Commit], session: Session) -> list[Commit]:
    since = _since(commits, session)
    held = max((k for k, one in enumerate(since) if one.id == session.prompt.synthesis), default=-1)
    return [
        one
        for k, one in enumerate(since)
        if not _own(one, session) and not (k <= held and any(path.endswith(SYNTHESIS) for path in one.paths))
    ]


def _index_lines(commit: Commit) -> tuple[str, ...]:
    """The lines that a commit gave an index, a few: the index in the prompt doesn't have them yet."""
    rows = [row for one in commit.changes if is_index(one.path) for row in one.new.splitlines()]
    lines = [f"  {clip(row, _LINE)}" for row in rows if row.startswith(("- ", "## "))]
    more = [f"  … and {len(lines) - _LINES} more index lines"] if len(lines) > _LINES else []
    return (*lines[:_LINES], *more)
