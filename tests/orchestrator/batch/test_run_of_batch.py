"""One run of a batch, with hands that only note what they did: what is done is journalled, and done once."""

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepen.orchestrator.batch.answer import FailureClass
from onepen.orchestrator.batch.events import Retried, RunStarted, TaskMade, TaskOver
from onepen.orchestrator.batch.item import Item
from onepen.orchestrator.batch.journal import BatchJournal
from onepen.orchestrator.batch.plan import Bounds, End
from onepen.orchestrator.batch.run import Run
from onepen.orchestrator.batch.state import BatchState
from onepen.orchestrator.stop import StopSign
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-29T09:30:00+01:00")


class Killed(Exception):
    """Raised where the process ends."""


def items(count: int) -> tuple[Item, ...]:
    return tuple(Item(f"k{n}", n, f"Question {n}", "writer", "sonnet") for n in range(1, count + 1))


@dataclass
class Notes:
    """Hands for the tests: `does` says what becomes of a task, by its key; without a word it is committed.

    "park" has it wait for a server once, "later" leaves it as it is, "short" finds a shared budget empty.
    """

    does: dict[str, str] = field(default_factory=dict)
    meanwhile: Callable[[str], Awaitable[object]] = field(default=lambda key: anyio.sleep(0))
    begun: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    delivered: list[int] = field(default_factory=list)
    out: int = 0
    most_out: int = 0
    empty: str = ""

    def task_id(self, item: Item, made: int) -> str:
        return f"{item.key}-{made}"

    def parked(self, task: str) -> bool:
        return task in self.waiting

    def short(self) -> str:
        return self.empty

    def held(self) -> frozenset[str]:
        return frozenset()

    async def deliver(self) -> None:
        self.delivered.append(len(self.waiting))

    async def carry_out(self, item: Item, task: str, made: int) -> TaskOver:
        self.begun.append(task)
        self.waiting.discard(task)
        self.out += 1
        self.most_out = max(self.most_out, self.out)
        try:
            await self.meanwhile(item.key)
        finally:
            self.out -= 1
        what = self.does.get(item.key, "committed")
        over = TaskOver(item.key, task, what, cost_usd=0.5)
        match what:
            case "park":
                self.waiting.add(task)
                del self.does[item.key]
                return replace(over, status="pending")
            case "later":
                return replace(over, status="pending")
            case "short":
                self.empty = "the budget is spent"
                return replace(over, status="pending")
            case "fail" | "refuse" | "unreached" as how:
                kinds: dict[str, FailureClass] = {"fail": "bug", "refuse": "refused", "unreached": "overload"}
                return replace(over, status="failed", kind=kinds[how])
        self.done.append(item.key)
        return over


@dataclass
class Batch:
    """A batch whose journal is a real file, so that a run begins where another one was killed."""

    path: Path
    items: tuple[Item, ...]
    hands: Notes = field(default_factory=Notes)
    stop: StopSign = field(default_factory=StopSign)
    overs: list[TaskOver] = field(default_factory=list)

    @property
    def journal(self) -> BatchJournal:
        return BatchJournal(self.path, CLOCK, "run.jsonl")

    @property
    def state(self) -> BatchState:
        entries, problems = self.journal.read()
        assert not problems
        return BatchState.begin(self.items, entries)

    def run(self, concurrency: int = 3, max_failures: int | None = None, sample: int | None = None) -> End:
        self.journal.append(RunStarted(concurrency), sync=False)
        state = self.state
        run = Run(
            self.items, state, self.journal, self.hands, Bounds(concurrency, max_failures), self.stop, sample=sample,
            on_over=self.overs.append, on_beat=lambda: None,
        )  # fmt: skip
        end = anyio.run(run.run)
        assert run.at_work == 0 and state.counts.running == 0
        assert state == self.state, "what is known here is what the journal says"
        return end


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path / "run.jsonl", items(10))


def test_all_tasks_are_done_each_once_and_no_more_of_them_at_a_time_than_may_be(batch: Batch) -> None:
    assert batch.run(concurrency=3) == End("finished")
    assert Counter(batch.hands.done) == {item.key: 1 for item in batch.items}
    assert batch.hands.begun == [f"{item.key}-0" for item in batch.items], "in the order of their lines"
    assert batch.hands.most_out == 3
    assert (batch.state.counts.committed, batch.state.cost()) == (10, 5.0)
    assert [over.key for over in batch.overs] == batch.hands.done


def test_a_slow_task_keeps_no_other_from_beginning(batch: Batch) -> None:
    async def meanwhile(key: str) -> None:
        if key == "k1":
            while len(batch.hands.done) < 9:
                await anyio.sleep(0.001)

    batch.hands.meanwhile = meanwhile
    assert batch.run(concurrency=2) == End("finished")
    assert batch.hands.done[-1] == "k1"


def test_what_is_done_is_not_done_again(batch: Batch) -> None:
    batch.run()
    batch.hands.begun.clear()
    assert batch.run() == End("finished") and batch.hands.begun == []


@settings(max_examples=40)
@given(
    count=st.integers(1, 12),
    concurrency=st.integers(1, 4),
    kills=st.lists(st.integers(1, 12), max_size=4),
    seed=st.integers(0, 99),
)
def test_a_run_that_is_killed_goes_on_where_it_was(
    tmp_path_factory: pytest.TempPathFactory, count: int, concurrency: int, kills: list[int], seed: int
) -> None:
    """Each task comes to its end once; twice begun are at most those that were at work at a kill."""
    batch = Batch(tmp_path_factory.mktemp("killed") / "run.jsonl", items(count))
    chance = random.Random(seed)
    finished: list[str] = []
    for kill in kills:
        begun = len(batch.hands.begun)

        async def meanwhile(key: str, until: int = begun + kill) -> None:
            for _ in range(chance.randrange(3)):
                await anyio.sleep(0)
            if len(batch.hands.begun) >= until:
                raise Killed

        batch.hands.meanwhile = meanwhile
        try:
            batch.run(concurrency)
        except Killed:
            pass
        assert set(finished) <= set(batch.hands.done)
        finished = list(batch.hands.done)
    batch.hands.meanwhile = lambda key: anyio.sleep(0)
    assert batch.run(concurrency) == End("finished")
    assert Counter(batch.hands.done) == {item.key: 1 for item in batch.items}
    again = sum(times - 1 for times in Counter(batch.hands.begun).values())
    assert again <= len(kills) * concurrency
    assert set(batch.hands.begun) == {f"{item.key}-0" for item in batch.items}, "and it is the same task each time"


def test_a_press_lets_what_runs_come_to_its_end_and_starts_nothing_more(batch: Batch) -> None:
    async def meanwhile(key: str) -> None:
        if key == "k3":
            batch.stop.press()
        await anyio.sleep(0.01)

    batch.hands.meanwhile = meanwhile
    assert batch.run(concurrency=3) == End("stopped")
    assert sorted(batch.hands.done) == ["k1", "k2", "k3"] and len(batch.hands.begun) == 3
    assert batch.state.new() == tuple(f"k{n}" for n in range(4, 11))


def test_a_press_before_it_begins_starts_nothing(batch: Batch) -> None:
    batch.stop.press()
    assert batch.run() == End("stopped") and batch.hands.begun == []


def test_with_so_many_failures_nothing_more_starts(batch: Batch) -> None:
    batch.hands.does = {f"k{n}": "fail" for n in (2, 3, 4, 5)}
    end = batch.run(concurrency=1, max_failures=2)
    assert (end.why, batch.hands.begun) == ("too_many_failures", ["k1-0", "k2-0", "k3-0"])
    assert "2 tasks failed" in end.reason
    again = batch.run(concurrency=1, max_failures=2)
    assert (again.why, batch.hands.begun[3:]) == ("too_many_failures", ["k4-0", "k5-0"]), "counted anew in each run"


@pytest.mark.parametrize(("how", "task"), [("fail", "k2-0"), ("unreached", "k2-0"), ("refuse", "k2-1")])
def test_failed_tasks_are_tried_again_when_a_person_says_so(batch: Batch, how: str, task: str) -> None:
    """With what they were told already, unless it was the model that said no."""
    batch.hands.does = {"k2": how}
    assert batch.run() == End("finished") and batch.state.failed() == ("k2",)
    batch.hands.begun.clear()
    assert batch.run() == End("finished") and batch.hands.begun == []
    batch.journal.append(Retried(("k2",)))
    batch.hands.does = {}
    assert batch.run() == End("finished")
    assert batch.hands.begun == [task] and batch.state.counts.committed == 10


def test_a_server_that_cannot_be_asked_burns_no_batch(tmp_path: Path) -> None:
    batch = Batch(tmp_path / "run.jsonl", items(40), Notes(), StopSign())
    batch.hands.does = {f"k{n}": "unreached" for n in range(5, 41)}
    end = batch.run(concurrency=1)
    assert (end.why, batch.hands.begun[-1]) == ("too_many_failures", "k14-0")
    assert "10 tasks in a row" in end.reason


def test_an_empty_budget_ends_the_run_and_fails_nobody(batch: Batch) -> None:
    batch.hands.does = {"k4": "short"}
    assert batch.run(concurrency=1) == End("over_budget", "the budget is spent")
    counts = batch.state.counts
    assert (counts.committed, counts.failed, counts.pending) == (3, 0, 7)
    assert batch.state.unfinished() == ("k4",)


def test_what_waits_for_a_server_is_delivered_together_and_goes_on(batch: Batch) -> None:
    batch.hands.does = {f"k{n}": "park" for n in range(1, 11)}
    assert batch.run(concurrency=3) == End("finished")
    assert batch.hands.delivered == [10], "all that can be asked is asked before anybody waits"
    assert Counter(batch.hands.begun) == {f"{item.key}-0": 2 for item in batch.items}
    assert batch.hands.most_out == 3 and batch.state.counts.committed == 10


def test_a_task_that_is_to_go_on_later_ends_no_run_and_goes_on_with_the_next(batch: Batch) -> None:
    batch.hands.does = {"k5": "later"}
    batch.run()
    assert batch.state.counts.pending == 1
    batch.hands.does = {}
    batch.run()
    assert batch.hands.begun[-1] == "k5-0" and batch.state.counts.committed == 10


def test_a_pilot_is_so_many_tasks_what_was_begun_before_first(batch: Batch) -> None:
    batch.journal.append(TaskMade("k7", "k7-0"))
    assert batch.run(sample=2) == End("sample")
    assert batch.hands.begun == ["k7-0", "k1-0"]
    assert batch.run(sample=20) == End("finished")


def test_a_cancelled_run_starts_nothing_more(tmp_path: Path) -> None:
    hands, stop = Notes(), StopSign()
    batch = Batch(tmp_path / "run.jsonl", items(5), hands, stop)
    state = batch.state
    run = Run(
        batch.items, state, batch.journal, hands, Bounds(1), stop, on_over=batch.overs.append, on_beat=lambda: None
    )
    hands.meanwhile = lambda key: _then(run.cancel)
    assert anyio.run(run.run) == End("cancelled")
    assert hands.begun == ["k1-0"]


async def _then(say: Callable[[], None]) -> None:
    say()
    await anyio.sleep(0)


def test_what_ends_the_pen_ends_the_run_with_its_own_error(batch: Batch) -> None:
    async def meanwhile(key: str) -> None:
        await anyio.sleep(0)
        if key == "k2":
            raise Killed

    batch.hands.meanwhile = meanwhile
    with pytest.raises(Killed):
        batch.run()
    assert batch.state.unfinished(), "what was begun can go on"


def test_a_beat_is_told_while_it_runs(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onepen.orchestrator.batch.run._BEAT_SECONDS", 0.01)
    seen: list[int] = []
    batch.hands.meanwhile = lambda key: anyio.sleep(0.02)
    state = batch.state
    run = Run(
        batch.items, state, batch.journal, batch.hands, Bounds(3), batch.stop, on_over=lambda over: None,
        on_beat=lambda: seen.append(state.counts.running),
    )  # fmt: skip
    assert anyio.run(run.run) == End("finished")
    assert len(seen) >= 4 and max(seen) == 3
