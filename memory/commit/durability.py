"""When a commit counts as made: what a power cut may take of it."""

from enum import StrEnum


class Durability(StrEnum):
    """How safe a commit is when its caller is told of it; no setting risks a mixture of old and new."""

    FULL = "full"
    """Its record is on the disk: nothing that was acknowledged is ever lost."""
    LAZY = "lazy"
    """Its record is with the operating system: a killed process loses nothing, a power cut at most the last second."""
