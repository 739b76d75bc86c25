"""How many crashes of workers are borne: a pure function of what ended when, with the time passed in.

A worker that crashes is tried again, three times in all. When the workers of many tasks crash one after the other,
the cause lies elsewhere (a broken installation, a full disk, a sandbox that this kernel doesn't take), and trying a
thousand tasks three times each would only heat the machine. So, when crashes pile up, nothing new is started for a
pause. Then one attempt is let through: if its worker doesn't crash, all go on; if it does, the pause doubles.
"""

from dataclasses import dataclass, replace
from math import inf

WINDOW_SECONDS = 60.0
TOGETHER_SECONDS = 1.0
"""Ends without a crash that are no further apart are counted together, and leave the window with the first of them."""
CRASHES = 8
"""So many crashes within the window, of at least `TASKS` tasks and more than half of all ends, make a pause."""
TASKS = 3
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0


@dataclass(frozen=True)
class End:
    """An attempt that ended: when, of which task, and whether its worker crashed; or several that did not."""

    at: float
    task: str
    crashed: bool
    times: int = 1


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
        after = replace(self, ends=_joined(self.ends, End(now, task, crashed)))
        return after._paused(now, FIRST_PAUSE) if after._pile_up() else after

    @property
    def crashes(self) -> int:
        return sum(end.crashed for end in self.ends)

    def _pile_up(self) -> bool:
        if self.crashes < CRASHES:
            return False
        tasks = {end.task for end in self.ends if end.crashed}
        return len(tasks) >= TASKS and self.crashes * 2 > sum(end.times for end in self.ends)

    def _paused(self, now: float, seconds: float) -> "Restarts":
        pause = min(seconds, LONGEST_PAUSE)
        return replace(self, pause=pause, until=now + pause, trial="")


def _joined(ends: tuple[End, ...], end: End) -> tuple[End, ...]:
    """Those of the window with one more; thousands that end without a crash are no more than its seconds."""
    if ends and ends[0].at <= end.at - WINDOW_SECONDS:
        ends = tuple(one for one in ends if one.at > end.at - WINDOW_SECONDS)
    last = ends[-1] if ends else end
    if not ends or last.crashed or end.crashed or end.at - last.at > TOGETHER_SECONDS:
        return (*ends, end)
    return (*ends[:-1], replace(last, times=last.times + 1))
