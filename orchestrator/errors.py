"""What the orchestrator refuses: one class per cause, each with its exit code."""

import shlex
from collections.abc import Sequence
from difflib import get_close_matches

from ..memory.errors import OnepenError


class OrchestratorFault(OnepenError):
    """Raised by orchestrator/: a request that can't be carried out."""


class BadRequest(OrchestratorFault):
    """Raised when options of a request don't fit together; nothing was started."""

    exit_code = 2


class NoSuchTask(OrchestratorFault):
    """Raised when no task of the workspace, or of the client that was named, has this id or prefix."""

    exit_code = 2

    def __init__(self, task: str, client: str | None = None) -> None:
        if client is not None:
            super().__init__(f"task {task!r}: not in client {client}'s space", hint=f"onepen status --client {client}")
            return
        super().__init__(f"task {task!r}: not in this workspace", hint="onepen status")


class NoSuchDraft(OrchestratorFault):
    """Raised when no draft of the workspace, or of the client that was named, has this id or prefix."""

    exit_code = 2

    def __init__(self, draft: str, client: str | None = None) -> None:
        if client is not None:
            super().__init__(
                f"draft {draft!r}: not in client {client}'s space", hint=f"onepen drafts --client {client}"
            )
            return
        super().__init__(f"draft {draft!r}: not in this workspace", hint="onepen drafts --all-clients")


class AmbiguousId(OrchestratorFault):
    """Raised when a prefix fits several ids; the message lists them."""

    exit_code = 2

    def __init__(self, kind: str, prefix: str, candidates: tuple[str, ...]) -> None:
        listed = ", ".join(candidates[:10]) + (" …" if len(candidates) > 10 else "")
        super().__init__(f"{kind} {prefix!r}: fits {len(candidates)} ids: {listed}")


class NoSuchCardHere(OrchestratorFault):
    """Raised when no card of a space has this id, path or title; the message names what comes closest."""

    exit_code = 2

    def __init__(self, card: str, known: Sequence[str], client: str | None, elsewhere: str | None) -> None:
        near = get_close_matches(card.strip().casefold().rpartition("/")[2].removesuffix(".md"), known, 3)
        where = "the house's own space" if client is None else f"client {client}'s space"
        offer = f"; did you mean {' or '.join(near)}?" if near else ""
        there = f"the same with --client {elsewhere}" if elsewhere is not None else f"onepen search {shlex.quote(card)}"
        super().__init__(f"card {card!r}: not in {where}{offer}", hint=there)


class ClientAtWork(OrchestratorFault):
    """Raised when a client is to be removed while sub-agents work for it."""

    exit_code = 5

    def __init__(self, client: str, tasks: tuple[str, ...]) -> None:
        super().__init__(f"client {client}: {', '.join(tasks)} still runs; nothing was removed", hint="onepen down")


class NotMovable(OrchestratorFault):
    """Raised when a project's folder holds what no commit writes, so that the project can't get another name."""

    def __init__(self, folder: str, files: tuple[str, ...]) -> None:
        listed = ", ".join(map(repr, files[:3])) + (f" and {len(files) - 3} more" if len(files) > 3 else "")
        super().__init__(
            f"{folder}/: onepen can't move {listed} (a link, or a name that it doesn't write); nothing was changed",
            hint=f"move them out of {folder}/ by hand, then the same again",
        )


class AttemptTaken(OrchestratorFault):
    """Raised when an attempt's folder is there before the attempt is: nothing is written into it."""

    def __init__(self, task: str, attempt: int) -> None:
        super().__init__(
            f"staging/{task}/{attempt}: is there already, so nothing is written to it", hint=f"onepen resume {task}"
        )


class BatchAtWork(OrchestratorFault):
    """Raised when a batch that runs is asked to go on."""

    exit_code = 5

    def __init__(self, batch: str) -> None:
        super().__init__(f"batch {batch}: it runs already", hint=f"onepen batch status {batch} --watch")


class Parked(OrchestratorFault):
    """Raised where the reply to a request isn't there yet: it goes out in a Message Batch, and nobody waits for it.

    The task that asked goes on when the reply has come, as any interrupted task does.
    """

    def __init__(self) -> None:
        super().__init__("its next reply is asked for in a Message Batch")


class PutOff(OrchestratorFault):
    """Raised in the place of a review that a cap which a batch's tasks share can't pay: no person has to judge instead.

    The draft waits, and its task goes on when there is money again.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)


class DraftNotEditable(OrchestratorFault):
    """Raised when a draft's file can't be opened for editing: it is a link, gone, or its attempt still runs."""

    exit_code = 1

    def __init__(self, draft: str, reason: str) -> None:
        super().__init__(f"draft {draft}: {reason}")


class BadReason(OrchestratorFault):
    """Raised when a reason for reject or send-back is missing."""

    exit_code = 2

    def __init__(self, verb: str) -> None:
        super().__init__(f"{verb}: say why", hint=f'onepen {verb} ID -m "reason"')


class IdIsTaken(OrchestratorFault):
    """Raised when something new is to get an id that something else has."""

    exit_code = 2

    def __init__(self, kind: str, id_: str, reason: str) -> None:
        super().__init__(f"{kind} {id_}: {reason}", hint=f"onepen add {kind} TITLE --id ID")
