"""What a chat that was cut off is told before it goes on: each open call gets a result, and none is passed over.

The history of the space decides whether a change was made: its key names the chat and the call. Tasks that a call made
are named with where they stand.
"""

from collections.abc import Callable, Iterator, Sequence

from ...memory.errors import OnepenError
from ...memory.history import Commit
from .lines import Ended, Resulted
from .session import INTERRUPTED, OpenCall, Session, open_calls

Standing = Callable[[str], str]
"""Where a task stands, in a word; raises an OnepenError for one that is gone."""


def results(session: Session, commits: Sequence[Commit], standing: Standing) -> Iterator[Resulted]:
    """A result for each open call, in order."""
    for call in open_calls(session):
        head = f"chat {session.id} {call.use.id} "
        commit = next((c for c in commits if c.key is not None and c.key.startswith(head)), None)
        yield Resulted(
            turn=call.turn,
            call=call.use.id,
            tool=call.use.name[:64],
            content=_told(call, commit, standing),
            is_error=True,
            commit=None if commit is None else commit.id,
            external=bool(call.tasks),  # what a sub-agent left was not looked at; the worst is taken for granted
        )


def unended(session: Session) -> int | None:
    """The turn that never ended, because its process did; None when there is none."""
    ended = {line.turn for line in session.lines if isinstance(line, Ended)}
    return session.turn if session.turn and session.turn not in ended else None


def _told(call: OpenCall, commit: Commit | None, standing: Standing) -> str:
    if commit is not None:
        paths = ", ".join(commit.paths)
        return f"interrupted before its result was stored: the change was made, as commit {commit.id} ({paths})"
    if call.tasks:
        told = "; ".join(f"task {task}: {_stands(task, standing)}" for task in call.tasks)
        return f"{INTERRUPTED}. It had made {told}. A task goes on with: onepen resume {call.tasks[0]}"
    return f"{INTERRUPTED}; nothing was changed by it"


def _stands(task: str, standing: Standing) -> str:
    try:
        return standing(task)
    except OnepenError as e:
        return e.message
