"""What a commit comes to other than itself: made before, in doubt, or unfinished."""

import os

from ..errors import MemoryFault
from ..history import Commit


class AlreadyCommitted(MemoryFault):
    """Raised when a change with this key was committed before; nothing was written."""

    def __init__(self, key: str, commit: str) -> None:
        super().__init__(f"commit {commit}: this was committed already (key {key})")
        self.commit = commit


class RecoveryNeeded(MemoryFault):
    """Raised when the disk failed while a commit was being made durable, or after: the next opening finishes it."""

    def __init__(self, what: str, reason: str, *, asked: bool = True) -> None:
        """`asked` is false for a commit that onepen makes before the one that it was asked for."""
        rest = "" if asked else "; what you asked for was not done: run the command again"
        super().__init__(
            f"{what}: in doubt, recovery is needed ({reason}); nothing is lost, the next opening finishes it{rest}"
        )
        self.what = what
        self.reason = reason


class Unfinished(MemoryFault):
    """Raised when commits that stand can't be brought into their files, so that the pen can't be taken."""

    def __init__(self, commits: str, reason: str) -> None:
        super().__init__(
            f"{commits}: committed, but can't be brought into the files ({reason}); what you asked for was not done: "
            "put that right, then run the command again",
            hint="onepen doctor",
        )
        self.reason = reason


Outcome = Commit | MemoryFault | OSError
"""What a change came to: its commit, or why there is none."""


def reason_of(error: MemoryFault | OSError) -> str:
    """An error in plain words, with the file that it is about."""
    if isinstance(error, MemoryFault):
        return error.message
    reason = error.strerror or str(error)
    return reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"
