"""Renewals that their process did not live to finish: one is gone on with, so that nothing is paid for twice.

A task of the synthesizer that was interrupted keeps what it was given and each reply that it had. Where that still is
the beginning of what is to be told, the task goes on, and the exchanges since are told by the next renewal. One that
was given something else is called off: nobody would ever take its answer.
"""

from collections.abc import Callable, Iterable, Sequence

from ...memory.clock import Clock
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.workspace import Space
from ..tasks.dossier import Dossier, dossiers
from ..tasks.events import Cancelled
from .said import Exchange

SAID, BEFORE = "said.md", "synthesis.md"
_MOST = 4 << 20


def unfinished(space: Space, clock: Clock, agent: str) -> tuple[Dossier, ...]:
    """The interrupted tasks of a space that were made to renew its synthesis by this agent, oldest first."""
    found = (one for one in dossiers((space,), clock) if one.sheet.agent == agent and one.sheet.answer)
    return tuple(one for one in found if one.state.status == "interrupted" and SAID in one.sheet.inputs)


def covered(
    task: Dossier, said: Sequence[Exchange], before: str, page: Callable[[Sequence[Exchange]], str]
) -> tuple[Exchange, ...]:
    """The first of these exchanges, as many as the task was given; () where it was given something else.

    `before` is the synthesis as a task would be given it now, `page` renders exchanges for one.
    """
    if _given(task, BEFORE) != before:
        return ()
    given = _given(task, SAID)
    return next((tuple(said[:k]) for k in range(len(said), 0, -1) if page(said[:k]) == given), ())


def call_off(tasks: Iterable[Dossier]) -> None:
    """Ends tasks whose answer nobody would take."""
    for task in tasks:
        task.happened(Cancelled("called off: the synthesis that it was to renew is another by now"))


def _given(task: Dossier, name: str) -> str | None:
    try:
        return read_beneath(task.folder.inputs, name, max_bytes=_MOST).decode("utf-8", "replace")
    except (UnsafeFile, OSError):
        return None
