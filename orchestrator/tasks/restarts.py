"""How many crashes of workers are borne: a pure function of what ended when, with the time passed in.

A worker that crashes is tried again, three times in all. When the workers of many tasks crash one after the other,
the cause lies elsewhere (a broken installation, a full disk, a sandbox that this kernel doesn't take), and trying a
thousand tasks three times each would only heat the machine. So, when crashes pile up, nothing new is started for a
pause. Then one attempt is let through: if its worker doesn't crash, all go on; if it does, the pause doubles.
"""

from dataclasses import dataclass, replace
from math import inf

WINDOW_SECONDS = 60.0
CRASHES = 8
"""So many crashes within the window, of at least `TASKS` tasks and more than half of all ends, make a pause."""
TASKS = 3
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0


@dataclass(frozen=True)
class End:
    """An attempt that ended: when, of which task, and whether its worker crashed."""

    at: float
    task: str
    crashed: bool


@dataclass(frozen=True)
class Restarts:
    """What is known of the attempts that ended lately. Times are seconds of a clock that only goes forward.

    `pause` is how long the latest pause is, 0 when attempts start freely; none starts before `until`. `trial` is the
    task whose attempt was let through and has not ended.
    """

    ends: tuple[End, ...] = ()
    pause: float = 0.0
    until: float = 0.0
    trial: str = ""

    def wait(self, now: float) -> float:
        """Seconds until an attempt may start, 0 for now; `inf` while one that was let through has not ended."""
        if not self.pause:
            return 0.0
        return inf if self.trial else max(self.until - now, 0.0)

    def begun(self, task: str) -> "Restarts":
        """After an attempt of `task` was started, which `wait` allowed."""
        return replace(self, trial=task) if self.pause else self

    def ended(self, task: str, now: float, *, crashed: bool | None) -> "Restarts":
        """After an attempt ended; `crashed` None: it was stopped, which says nothing of workers."""
        if crashed is None:
            return replace(self, trial="") if task == self.trial else self
        if not crashed and self.pause:
            return Restarts()
        if self.pause:
            return self._paused(now, self.pause * 2) if task == self.trial else self
        ends = (*(end for end in self.ends if end.at > now - WINDOW_SECONDS), End(now, task, crashed))
        after = replace(self, ends=ends)
        return after._paused(now, FIRST_PAUSE) if after._pile_up() else after

    @property
    def crashes(self) -> int:
        return sum(end.crashed for end in self.ends)

    def _pile_up(self) -> bool:
        tasks = {end.task for end in self.ends if end.crashed}
        return self.crashes >= CRASHES and len(tasks) >= TASKS and self.crashes * 2 > len(self.ends)

    def _paused(self, now: float, seconds: float) -> "Restarts":
        pause = min(seconds, LONGEST_PAUSE)
        return replace(self, pause=pause, until=now + pause, trial="")
