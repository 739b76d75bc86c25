"""Where a batch stands: what became of each of its tasks, how many stand where, what they have cost. Pure.

It is folded from the events of the run journal, one after the other, in place: of ten thousand tasks each event changes
one. The same events in the same order give the same state.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .answer import Counts, FailureClass, Failures
from .events import (
    BatchCancelled,
    DayTold,
    DoneBefore,
    Event,
    Retried,
    RunEnded,
    RunStarted,
    TaskMade,
    TaskOver,
)
from .item import Item
from .journal import Entry, seconds_between
from .outcome import DONE, GOES_ON, PLACES, Place


@dataclass
class TaskFacts:
    """What is known of one task of a batch; `task` is its id in staging/, "" until it was made."""

    key: str
    line: int
    place: Place = "pending"
    task: str = ""
    status: str = ""
    reason: str = ""
    kind: FailureClass | None = None
    cost_usd: float | None = 0.0
    input: int = 0
    cache_write: int = 0
    cache_read: int = 0
    output: int = 0
    cut: int = 0
    cut_usd: float = 0.0
    seconds: float = 0.0
    attempts: int = 0
    drafts: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    ended_at: str = ""
    made: int = 0
    """How many tasks were made for the same key before, and given up."""

    @property
    def prompt_tokens(self) -> int:
        return self.input + self.cache_write + self.cache_read


@dataclass
class Run:
    """One run of a batch; `ended` is "" where it was killed, or is under way."""

    began: str
    concurrency: int
    budget_usd: float | None
    review: str
    pid: int = 0
    last: str = ""
    ended: str = ""
    why: str = ""
    reason: str = ""


@dataclass
class BatchState:
    """All of a batch; make it with `begin`, and give it each event once with `take`."""

    tasks: dict[str, TaskFacts] = field(default_factory=dict)
    runs: list[Run] = field(default_factory=list)
    cancelled: bool = False
    told: dict[tuple[str, str | None], str] = field(default_factory=dict)
    twins: int = 0
    _numbers: dict[Place, int] = field(default_factory=lambda: dict.fromkeys(PLACES, 0))
    _spent: "_Spent" = field(default_factory=lambda: _Spent())

    @classmethod
    def begin(cls, items: Sequence[Item], entries: Iterable[Entry] = ()) -> "BatchState":
        """The state of a batch of these items after these events."""
        state = cls({item.key: TaskFacts(item.key, item.line) for item in items})
        state.twins = sum(len(item.twins) for item in items)
        state._numbers["pending"] = len(state.tasks)
        for entry in entries:
            state.take(entry.event, entry.at)
        return state

    def take(self, event: Event, at: str) -> None:
        """What happened at that time; what tells of a task that isn't one of the batch is passed over."""
        match event:
            case RunStarted():
                self.cancelled = False
                self.runs.append(Run(at, event.concurrency, event.budget_usd, event.review, event.pid, last=at))
            case RunEnded(why=why, reason=reason):
                if self.runs:
                    run = self.runs[-1]
                    run.ended, run.last, run.why, run.reason = at, at, why, reason
            case TaskMade(key=key, task=task):
                self._made(key, task, at)
            case TaskOver():
                self._over(event, at)
            case DoneBefore(key=key, commit=commit, task=task):
                if (facts := self.tasks.get(key)) is not None:
                    self._put(facts, "duplicate")
                    facts.task, facts.ended_at = task, at
                    facts.reason = f"done before, as {commit or task}"
            case Retried(keys=keys):
                for key in keys:
                    self._again(key)
            case BatchCancelled():
                self.cancelled = True
            case DayTold(day=day, client=client, commit=commit):
                self.told[day, client] = commit

    def begins(self, key: str) -> None:
        """Somebody is at work on it now: no event, since it ends with the process."""
        if (facts := self.tasks.get(key)) is not None:
            self._put(facts, "running")

    def leaves(self, key: str) -> None:
        """Nobody is at work on it any more, and it isn't over."""
        if (facts := self.tasks.get(key)) is not None and facts.place == "running":
            self._put(facts, "pending")

    def moves(self, key: str, place: Place, status: str, commits: tuple[str, ...] = ()) -> None:
        """What a person decided since is as this says: it stands in the task's own journal."""
        if (facts := self.tasks.get(key)) is not None:
            self._put(facts, place)
            facts.status, facts.commits = status, commits

    def loses(self, key: str, reason: str) -> None:
        """What a task had left is gone: it failed, and can be tried again."""
        if (facts := self.tasks.get(key)) is not None:
            self._put(facts, "failed")
            facts.kind, facts.reason, facts.status, facts.drafts = "bug", reason, "failed", ()

    # -- what is told of it --------------------------------------------------------------------------------------------

    @property
    def counts(self) -> Counts:
        """Rows that say the same as an earlier one count as duplicates."""
        numbers = {**self._numbers, "duplicate": self._numbers["duplicate"] + self.twins}
        return Counts(**numbers)

    def cost(self) -> float | None:
        """What all tasks have cost that came to an end, in US dollars; None where a part has no known price."""
        return None if self._spent.unpriced else self.known_usd()

    def known_usd(self) -> float:
        """The same without the parts of which nobody knows the price."""
        return max(0.0, self._spent.usd)

    def tokens(self) -> int:
        return self._spent.prompt + self._spent.output

    def cached(self) -> float | None:
        """The share of the prompts' tokens that was read from a cache; None where none was sent."""
        return None if not self._spent.prompt else self._spent.read / self._spent.prompt

    def cut(self) -> tuple[int, float]:
        """How many calls were cut by a crash, and what they have cost at the most."""
        return self._spent.cut, self._spent.cut_usd

    def seconds(self, now: str | None = None) -> float:
        """How long it ran; a run without an end counts until its last event, or until `now` where it is under way."""
        whole = 0.0
        for run in self.runs:
            open_end = now if now is not None and not run.ended and run is self.runs[-1] else run.last
            whole += seconds_between(run.began, run.ended or open_end)
        return whole

    def failures(self) -> tuple[Failures, ...]:
        """The failed tasks class by class, the largest first."""
        found: dict[FailureClass, list[TaskFacts]] = {}
        for facts in self.tasks.values():
            if facts.place == "failed":
                found.setdefault(facts.kind or "bug", []).append(facts)
        told = (Failures(kind, len(of), of[0].task, of[0].line, of[0].reason) for kind, of in found.items())
        return tuple(sorted(told, key=lambda one: -one.count))

    def unfinished(self) -> tuple[str, ...]:
        """The keys of tasks that are in staging/ and not over, in the order of their lines."""
        return tuple(key for key, facts in self.tasks.items() if facts.place == "pending" and facts.task)

    def new(self) -> tuple[str, ...]:
        """The keys of tasks that were not made yet, in the order of their lines."""
        return tuple(key for key, facts in self.tasks.items() if facts.place == "pending" and not facts.task)

    def failed(self, kind: str = "all") -> tuple[str, ...]:
        """The keys of tasks that failed, of one class of failure or of all."""
        return tuple(
            key for key, facts in self.tasks.items() if facts.place == "failed" and kind in {"all", facts.kind}
        )

    @property
    def done(self) -> bool:
        """Whether nothing is left to start."""
        return not self._numbers["pending"] and not self._numbers["running"]

    @property
    def concluded(self) -> bool:
        """Whether nothing is left to do at all: all tasks are over, and the run that saw to them has ended, too."""
        return self.done and bool(self.runs) and bool(self.runs[-1].ended)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _made(self, key: str, task: str, at: str) -> None:
        if (facts := self.tasks.get(key)) is None:
            return
        facts.task, facts.status, facts.reason, facts.kind = task, "", "", None
        self._put(facts, "pending")
        self._until(at)

    def _over(self, event: TaskOver, at: str) -> None:
        facts = self.tasks.get(event.key)
        if facts is None:
            return
        self._spent.add(facts, -1)
        said: Mapping[str, object] = vars(event)
        for name in said.keys() - {"key"}:
            setattr(facts, name, said[name])
        facts.ended_at = at
        self._spent.add(facts, 1)
        self._put(facts, _place(event))
        self._until(at)

    def _again(self, key: str) -> None:
        facts = self.tasks.get(key)
        if facts is None or facts.place != "failed":
            return
        if facts.kind not in GOES_ON:  # what it was told would be told again: it is made anew, and counts anew
            facts.task, facts.cost_usd, facts.cut, facts.cut_usd = "", 0.0, 0, 0.0
            facts.input = facts.cache_write = facts.cache_read = facts.output = 0
            facts.made += 1
        self._put(facts, "pending")

    def _put(self, facts: TaskFacts, place: Place) -> None:
        self._numbers[facts.place] -= 1
        self._numbers[place] += 1
        facts.place = place

    def _until(self, at: str) -> None:
        if self.runs and not self.runs[-1].ended:
            self.runs[-1].last = at


def _place(event: TaskOver) -> Place:
    """Where a task stands by its line in the journal."""
    if event.kind is not None:
        return "failed"
    for place in DONE:
        if event.status == place:
            return place
    return "pending"


@dataclass
class _Spent:
    """What all tasks together have used, kept as it grows."""

    usd: float = 0.0
    unpriced: int = 0
    prompt: int = 0
    read: int = 0
    output: int = 0
    cut: int = 0
    cut_usd: float = 0.0

    def add(self, facts: TaskFacts, times: int) -> None:
        """Counts what a task has used, or with -1 what it had."""
        self.usd += times * (facts.cost_usd or 0.0)
        self.unpriced += times * (facts.cost_usd is None)
        self.prompt += times * facts.prompt_tokens
        self.read += times * facts.cache_read
        self.output += times * facts.output
        self.cut += times * facts.cut
        self.cut_usd += times * facts.cut_usd
