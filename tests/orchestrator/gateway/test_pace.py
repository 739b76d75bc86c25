"""How fast calls go out, on a clock that passes at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from random import Random

import anyio
import pytest

from onepen.orchestrator.gateway.failure import Again, CallBroken, CallFailed
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.pace import Pace
from onepen.orchestrator.gateway.quota import Left, quota
from onepen.orchestrator.settings.models import Served
from onepen.subagents.messages import Text
from onepen.subagents.model import Listener, ModelReply, ModelRequest, Usage
from onepen.testing import timelapse

from .conftest import ACCOUNT, request


@dataclass
class Server:
    """Refuses everybody for `closed` seconds, then takes one call a second; a call takes a fifth of a second."""

    closed: float
    after: float | None
    tries: list[float] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    name: str = "limited"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        now = anyio.current_time()
        self.tries.append(now)
        await anyio.sleep(0.05)
        if now < self.closed:
            raise CallBroken(Again("429", self.after and self.closed - anyio.current_time(), throttled=True))
        if self.taken and now - self.taken[-1] < 1:
            raise CallBroken(Again("429", 1.0 if self.after else None, throttled=True))
        self.taken.append(now)
        await anyio.sleep(0.15)
        return ModelReply((Text("ok"),), "end_turn", Usage(1, 0, 0, 1), "m")


@dataclass
class Crew:
    """Eight workers with the tasks of a queue, on one gateway."""

    server: Server
    patience: float = 1_800.0
    waits: list[tuple[str, float]] = field(default_factory=list)
    failed: list[CallFailed] = field(default_factory=list)

    def work(self, tasks: int, *, seed: int = 1, workers: int = 8) -> None:
        timelapse.run(self._work, tasks, seed, workers)

    async def _work(self, tasks: int, seed: int, workers: int) -> None:
        gateway = Gateway(random=Random(seed).random)
        served = Served(self.server, limit="one", patience_seconds=self.patience)
        left = list(range(tasks))

        async def worker() -> None:
            while left:
                left.pop()
                try:
                    await gateway.reply(served, request(), ACCOUNT, on_lost=lambda lost: None, waiting=self._waiting)
                except CallFailed as e:
                    self.failed.append(e)

        async with anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(worker)

    @contextmanager
    def _waiting(self, reason: str, seconds: float) -> Iterator[None]:
        self.waits.append((reason, seconds))
        yield


@pytest.mark.parametrize("seed", range(5))
def test_eight_workers_refused_for_twenty_seconds_come_back_one_by_one(seed: int) -> None:
    """Field case 54: 429 with retry-after 20 for everybody, then one call a second is taken."""
    server = Server(closed=20.0, after=20.0)
    crew = Crew(server)
    crew.work(16, seed=seed)
    first, later = server.tries[:8], server.tries[8:]
    assert first == [0.0] * 8
    assert later[0] == 20.0  # not a moment before, and not later either
    assert max(sum(1 for t in later if begin <= t < begin + 1) for begin in later) <= 2
    assert len(server.taken) == 16 and not crew.failed
    assert len(server.tries) <= 8 + 1.5 * 16  # as pace.py says
    assert all(seconds >= 0 for _, seconds in crew.waits)


@pytest.mark.parametrize("after", [None, 0.0])
def test_without_a_wish_of_the_server_calls_come_back_apart(after: float | None) -> None:
    server = Server(closed=5.0, after=after)
    crew = Crew(server)
    crew.work(16)
    assert len(server.taken) == 16 and not crew.failed
    spread = [t for t in server.tries if t > 0]
    assert max(sum(1 for t in spread if begin <= t < begin + 0.5) for begin in spread) <= 3
    assert len(server.tries) <= 8 + 1.5 * 16


def test_fifteen_minutes_are_waited_and_told() -> None:
    server = Server(closed=900.0, after=900.0)
    crew = Crew(server)
    crew.work(2, workers=2)
    assert [t for t in server.tries if 0 < t < 900] == [] and len(server.taken) == 2
    assert any(reason == "429" and round(seconds, 1) in (899.9, 900.0) for reason, seconds in crew.waits)


def test_seven_days_are_not_waited() -> None:
    week = 7 * 86_400.0
    server = Server(closed=week, after=week)
    crew = Crew(server)
    crew.work(9, workers=3)
    assert server.tries == [0.0] * 3  # none of the others was even tried
    assert [str(e) for e in crew.failed] and all("in 7 days" in e.message for e in crew.failed)
    assert all(e.message.startswith("429; it takes calls again at 20") for e in crew.failed)


def test_who_comes_later_is_told_at_once_that_the_server_is_closed_for_long() -> None:
    server = Server(closed=3_600.0, after=3_600.0)
    crew = Crew(server)
    crew.work(20)
    assert len(server.tries) == 8 and len(crew.failed) == 20
    assert not crew.waits


def test_a_call_that_never_got_its_turn_ends_with_its_patience() -> None:
    server = Server(closed=100.0, after=None)
    crew = Crew(server, patience=30.0)
    crew.work(8)
    assert len(crew.failed) == 8 and len(server.tries) < 8 * 6


def test_one_probe_goes_out_and_only_its_success_lets_others_follow() -> None:
    pace = Pace()
    pace.throttled(pace.take(0.0, 0.5), 0.0, 20.0)
    assert pace.wait(19.0) == 1.0 and pace.wait(20.0) == 0
    probe = pace.take(20.0, 0.5)
    assert probe.probe and pace.wait(25.0) == float("inf")
    pace.succeeded(probe)
    assert 0 <= pace.wait(20.1) <= 1.5
    assert not pace.take(22.0, 0.5).probe


def test_a_probe_that_broke_for_another_reason_is_followed_by_another() -> None:
    pace = Pace()
    pace.throttled(pace.take(0.0, 0.5), 0.0, 20.0)
    pace.broke(pace.take(20.0, 0.5))
    assert pace.wait(25.0) == 0 and pace.take(25.0, 0.5).probe


def test_calls_that_were_refused_together_slow_the_pace_once() -> None:
    pace = Pace()
    tickets = [pace.take(0.0, 0.5) for _ in range(8)]
    for ticket in tickets:
        pace.throttled(ticket, 0.1, None)
    assert pace.wait(0.1) == pytest.approx(1.0)


def test_after_enough_whole_replies_all_go_out_at_once_again() -> None:
    pace, now = Pace(), 0.0
    pace.throttled(pace.take(0.0, 0.5), 0.0, 5.0)
    for _ in range(60):
        now += max(pace.wait(now), 0.001)
        pace.succeeded(pace.take(now, 0.5))
    assert pace.wait(now) == 0 and now < 30


def test_what_is_nearly_used_up_is_spread_over_the_time_until_it_is_renewed() -> None:
    pace = Pace()
    pace.told((Left(False, 50, 4, 20.0),), 1_000, 0.0)
    out = []
    now = 0.0
    for _ in range(4):
        now += pace.wait(now)
        out.append(now)
        pace.take(now, 0.5)
    assert [b - a for a, b in pairwise(out)] == pytest.approx([5.0] * 3)
    for reply in range(1, 9):  # replies that tell the same again put nobody off
        pace.told((Left(False, 50, 4, 20.0),), 1_000, 20.0 + reply * 0.5)
    assert pace.wait(25.5) == 0
    pace.told((Left(False, 50, 40, 20.0),), 1_000, 30.0)
    pace.take(45.0, 0.5)
    assert pace.wait(45.0) == 0


def test_nothing_left_means_nothing_goes_out_until_it_is_renewed() -> None:
    pace = Pace()
    pace.told((Left(True, 10_000, 0, 12.0),), 1_000, 3.0)
    assert pace.wait(3.0) == 12.0


def test_limits_are_read_by_the_servers_own_clock() -> None:
    headers = {
        "date": "Sun, 29 Nov 2026 08:30:00 GMT",
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "3",
        "anthropic-ratelimit-requests-reset": "2026-11-29T08:30:12Z",
        "anthropic-ratelimit-tokens-limit": "many",
        "anthropic-ratelimit-tokens-remaining": "3",
        "anthropic-ratelimit-tokens-reset": "2026-11-29T08:30:12Z",
        "anthropic-ratelimit-input-tokens-limit": "10",
        "anthropic-ratelimit-input-tokens-remaining": "3",
    }
    wrong = datetime(2030, 1, 1, tzinfo=UTC)
    assert quota(headers, wrong) == (Left(False, 50, 3, 12.0),)
    assert quota({}, wrong) == ()
