"""How often a server is asked whether a Message Batch has ended."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Poll:
    """Seconds: the first wait, the longest one, and the least between any two questions; waits grow by `growth`.

    So one batch is asked for twelve times in the first minute at the most and once in later ones, and all of them
    together thirty times.
    """

    first: float = 5.0
    longest: float = 60.0
    growth: float = 1.5
    apart: float = 2.0

    def after(self, wait: float) -> float:
        """The wait that follows on this one."""
        return min(self.longest, wait * self.growth)
