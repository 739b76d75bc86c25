"""Who is told of commits once they stand: the git mirror."""

from collections.abc import Sequence
from typing import Protocol

from ..memory.history import Commit


class Witness(Protocol):
    """Is told of each commit once it stands; what goes wrong there is news, and hurts no commit."""

    @property
    def wanted(self) -> bool:
        """Whether it is to be told."""
        ...

    def saw(self, commits: Sequence[Commit]) -> None:
        """Commits that were made as one, and are in their files."""
        ...

    def news(self) -> tuple[str, ...]:
        """What a person should know and nobody was told yet."""
        ...

    def close(self) -> None:
        """The pen is about to be put down."""
        ...
