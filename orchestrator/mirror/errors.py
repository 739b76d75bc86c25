"""Why git doesn't follow: one class per cause. None of them fails a commit of onepen; each becomes a notice, told once.

A message is what is the matter, to be read after "git: "; the hint is what the person can do.
"""

from pathlib import Path
from typing import ClassVar

from ..errors import OrchestratorFault


class NotMirrored(OrchestratorFault):
    """Raised where git can't follow for now; it catches up with the next commit once that is put right."""

    passes: ClassVar[bool] = False
    """Whether it goes away by itself, so that trying again soon makes sense."""


class NoGit(NotMirrored):
    """Raised when there is no git program on the PATH."""

    def __init__(self) -> None:
        super().__init__("no git program was found on the PATH")


class NoRepository(NotMirrored):
    """Raised when the workspace has no `.git` of its own."""

    def __init__(self) -> None:
        super().__init__("this workspace is no git repository of its own", hint="git init")


class NoCommitYet(NotMirrored):
    """Raised when the branch has no commit: what goes into the first one is the person's to say."""

    def __init__(self) -> None:
        super().__init__("the repository has no commit yet", hint="git add -A && git commit")


class NoBranch(NotMirrored):
    """Raised when HEAD is detached: a commit there would be lost at the next switch."""

    def __init__(self) -> None:
        super().__init__("HEAD is on no branch (detached)", hint="git switch BRANCH")


class Underway(NotMirrored):
    """Raised while the person is in the middle of a merge, a rebase or the like."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} is under way", hint="git status")


class NoWorkTree(NotMirrored):
    """Raised for a bare repository, or one whose files lie elsewhere than in the workspace."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}, so it is not written to", hint="commit by hand")


class LeadsElsewhere(NotMirrored):
    """Raised when `.git`, or a part of it, leads out of the workspace: it would be another repository that is written.

    An archive from elsewhere can hold such a link.
    """

    def __init__(self, part: str, where: str) -> None:
        super().__init__(f"{part} leads to {where}, so it is not written to", hint="commit by hand")


class ForeignOwner(NotMirrored):
    """Raised when the repository is another user's and the person never told git that it is safe."""

    def __init__(self, root: Path) -> None:
        super().__init__(
            "the repository belongs to another user, and git refuses it",
            hint=f"git config --global --add safe.directory {root}",
        )


class GitBusy(NotMirrored):
    """Raised when another git process is at work on the index, or the branch moved again and again."""

    passes = True

    def __init__(self, why: str) -> None:
        super().__init__(f"git is busy ({why})")


class GitRefused(NotMirrored):
    """Raised when a git command failed for another reason; the message has git's own words."""

    def __init__(self, command: str, words: str) -> None:
        super().__init__(f"git {command} failed: {words or 'it gave no reason'}")


class ConfigUnclear(NotMirrored):
    """Raised when the person's config can't be read, so that nobody knows whether they want a mirror."""

    def __init__(self, why: str) -> None:
        super().__init__(f"whether to mirror is not known: {why}", hint="onepen config show")
