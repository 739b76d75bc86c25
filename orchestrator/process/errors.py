"""What can go wrong between a command and the orchestrator of its workspace."""

from collections.abc import Sequence
from typing import ClassVar

from ..errors import OrchestratorFault
from .protocol import Hello, Line


class Told(OrchestratorFault):
    """Raised for an error that the orchestrator answered with, as it would have been raised here."""

    def __init__(self, kind: str, message: str, hint: str | None, exit_code: int) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.exit_code = exit_code  # type: ignore[misc]  # what the answer says, not what the class says


class Gone(OrchestratorFault):
    """Raised when the orchestrator ended before it answered; `tasks` are those that it had made for the request."""

    def __init__(self, pid: int, tasks: Sequence[str] = (), *, accepted: bool = True) -> None:
        hint = f"onepen resume {tasks[0]}" if len(tasks) == 1 else "onepen status"
        super().__init__(
            f"the orchestrator (process {pid}) ended before this was done; what was acknowledged is kept", hint=hint
        )
        self.pid = pid
        self.accepted = accepted


class ChatCut(OrchestratorFault):
    """Raised when the orchestrator ended in the middle of a chat's turn; what was written is kept."""

    def __init__(self, pid: int, session: str | None) -> None:
        super().__init__(
            f"the orchestrator (process {pid}) ended before the answer was whole; what was said and done is kept",
            hint=f"onepen chat --resume {session}" if session else "onepen chat --resume",
        )


class BatchCut(OrchestratorFault):
    """Raised when the orchestrator ended in the middle of a batch; each task that was done is kept."""

    def __init__(self, pid: int, batch: str | None) -> None:
        super().__init__(
            f"the orchestrator (process {pid}) ended before the batch was done; what was done is kept",
            hint=f"onepen batch resume {batch}" if batch else "onepen batch list",
        )
        self.batch = batch


class Silent(OrchestratorFault):
    """Raised when the orchestrator doesn't answer: it is stopped, or at work on something that takes long."""

    exit_code: ClassVar[int] = 5

    def __init__(self, pid: int, seconds: float, *, accepted: bool = False) -> None:
        rest = "; it took the request and may still carry it out" if accepted else ""
        super().__init__(
            f"the orchestrator (process {pid}) didn't answer in {seconds:.0f} s{rest}", hint="onepen down --now"
        )
        self.pid = pid


class OtherVersion(OrchestratorFault):
    """Raised when an orchestrator of another version is at work, so that it can't make room."""

    exit_code: ClassVar[int] = 5

    def __init__(self, hello: Hello, own: str) -> None:
        super().__init__(
            f"an orchestrator of version {hello.version} (process {hello.pid} since {hello.since}) is at work here, "
            f"and this is version {own}",
            hint="onepen down",
        )


class Ending(OrchestratorFault):
    """Raised when an orchestrator that was told to end is asked to begin something."""

    exit_code: ClassVar[int] = 5

    def __init__(self, pid: int, jobs: Sequence[str] = ()) -> None:
        doing = f" (at work: {'; '.join(jobs)})" if jobs else ""
        super().__init__(
            f"the orchestrator (process {pid}) was told to end and begins nothing new{doing}", hint="onepen down --now"
        )


class NotStarted(OrchestratorFault):
    """Raised when the orchestrator could not be started in the background."""

    def __init__(self, reason: str, log: str) -> None:
        super().__init__(f"the orchestrator did not start: {reason} (its log: {log})", hint="onepen up --foreground")


def error_line(kind: str, message: str, hint: str | None, exit_code: int) -> Line:
    """An error as the last line of an answer."""
    return {"error": {"kind": kind, "message": message, "hint": hint, "exit_code": exit_code}}


def told_by(line: Line) -> Told | None:
    """The error on a line of an answer, if it is one."""
    found = line.get("error")
    if not isinstance(found, dict):
        return None
    hint, code = found.get("hint"), found.get("exit_code")
    return Told(
        str(found.get("kind", "")),
        str(found.get("message", "an error without words")),
        hint if isinstance(hint, str) else None,
        code if isinstance(code, int) else 1,
    )
