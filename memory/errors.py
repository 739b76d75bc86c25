"""The root of every error that onepen raises on purpose.

    OnepenError
    ├── MemoryFault        memory/: a file, a card, an index, the pen
    ├── StagingFault       staging/: a draft or a verdict that can't stand
    ├── SubagentFault      subagents/: a definition, the wire, a worker
    └── OrchestratorFault  orchestrator/: a request that can't be carried out

Each cause has a class of its own beside the code that raises it; the class writes the message.
"""

from typing import ClassVar


class OnepenError(Exception):
    """Something onepen refuses or can't do, told in one line: what, where, why.

    `hint` is the command that helps, if one does. `exit_code` ends the process when a command fails with it
    (docs/reference/commands.md lists the codes).
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} (next: {self.hint})"


class MemoryFault(OnepenError):
    """Raised by memory/: a file, a card, an index or the pen."""
