"""FR-63: waiting for the end of a Message Batch, whatever its server says meanwhile."""

import json
import time
from collections import Counter
from datetime import timedelta

import anyio
import pytest

from onepen.orchestrator.gateway.failure import CallNeeds
from onepen.orchestrator.outbox.pace import Poll
from onepen.orchestrator.outbox.parts import Limits
from onepen.testing.messages_api import Asked

from .conftest import HOUR, Bench, Process

BAD_DAY = [
    {"to": "batch", "nth": 2, "fault": 404},
    {"to": "batch", "nth": 3, "fault": 500},
    {"to": "batch", "nth": 4, "fault": "reset"},
    {"to": "batch", "nth": 5, "fault": "not_json"},
    {"to": "batch", "nth": 6, "counting": True},
    {"to": "batch", "nth": 7, "counting": True},
    {"to": "batch", "nth": 8, "fault": "reset_in_reply"},
    {"to": "batch", "nth": 9, "fault": {"status": 429, "retry_after": 30}},
    {"to": "batch", "nth": 10, "status": "canceling"},
    {"to": "batch", "nth": 11, "fault": 400},
    {"to": "batch_results", "nth": 1, "fault": "cut"},
    {"to": "batch_results", "nth": 2, "fault": "reset_in_reply"},
    {"to": "batch_results", "nth": 3, "fault": 500},
    {"reply": "so"},
]


class Polls:
    """A rule that answers nothing, and counts the questions about batches by the clock."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def __call__(self, asked: Asked) -> None:
        if asked.to == "batch":
            self.moments.append(asked.since)

    @property
    def a_minute(self) -> int:
        """The most within a minute."""
        return max(sum(start <= one < start + 60 for one in self.moments) for start in self.moments)


def test_fr_63_all_that_can_go_wrong_while_waiting(bench: Bench) -> None:
    polls = Polls()
    bench.start([polls, *BAD_DAY])
    tasks = [f"t{n}" for n in range(8)]

    async def work(process: Process) -> None:
        await process.park(*tasks)
        await process.deliver()
        assert [(await process.ask(task)).message.text for task in tasks] == ["so"] * 8
        assert process.said[-1].endswith("has ended: 8 of 8 requests answered")

    bench.run(work)
    assert bench.asked("batch_results") == 4 and len(bench.batches) == 1
    assert polls.a_minute <= 12
    [path] = bench.folder.replies.iterdir()
    lines = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True)]
    assert len(lines) == 8, "no half line was stored, and none twice"
    assert bench.events["stored"] == 1
    assert Counter(bench.paid) == Counter(tasks)


def test_fr_63_polls_grow_from_five_seconds_to_a_minute(bench: Bench) -> None:
    bench.start([{"reply": "so"}], batches={"takes": 10 * HOUR})

    async def work(process: Process) -> None:
        await process.park("one")
        await process.deliver()

    bench.run(work)
    assert bench.slept[0] == 5.0 and bench.slept == sorted(bench.slept) and bench.slept[-1] == 60.0
    assert bench.asked("batch") < 620


def test_polls_of_many_batches_are_bounded_together(bench: Bench) -> None:
    bench.limits, polls = Limits(requests=1), Polls()
    bench.start([polls, {"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park(*(f"t{n}" for n in range(30)))
        await process.deliver()

    bench.run(work)
    assert len(bench.batches) == 30 and 12 < polls.a_minute <= 60 / Poll().apart


@pytest.mark.parametrize("sleeping", [True, False])
def test_fr_63_ctrl_c_ends_the_wait_and_the_batch_goes_on(bench: Bench, sleeping: bool) -> None:
    """In two seconds of real time: while it sleeps, and while a question is out that the server doesn't answer."""
    silence = [] if sleeping else [{"to": "batch", "times": 1, "fault": "silent"}]
    bench.start([*silence, {"reply": "so"}])
    seconds = 0.0

    async def work(process: Process) -> None:
        nonlocal seconds

        asleep = anyio.Event()

        async def sleep(seconds: float) -> None:
            asleep.set()
            if sleeping:
                await anyio.sleep(60)

        process.outbox._sleep = sleep
        await process.park("one", "two")

        async def press() -> None:
            await asleep.wait()
            while not sleeping and not bench.asked("batch"):
                await anyio.sleep(0.01)
            nonlocal seconds
            seconds = time.monotonic()
            process.stop.press()

        async with anyio.create_task_group() as group:
            group.start_soon(press)
            await process.deliver()
            seconds = time.monotonic() - seconds
        [batch] = bench.batches
        assert process.said[-1] == (
            f"batch nights-0123abcd goes on at the server: 2 requests in Message Batch {batch.id}, until "
            "2026-11-30 08:30 at the latest; to fetch what comes: onepen batch resume nights-0123abcd; to end it: "
            "onepen batch cancel nights-0123abcd"
        )
        await process.deliver()
        assert len(bench.batches) == 1, "after a Ctrl-C nothing is sent"

    async def resumed(process: Process) -> None:
        assert await process.answers("one", "two") == {"one": "so", "two": "so"}

    bench.run(work)
    assert seconds < (1 if sleeping else 2)
    bench.clock.move(timedelta(hours=1))
    bench.run(resumed)
    assert len(bench.batches) == 1 and sorted(bench.paid) == ["one", "two"]


def test_ctrl_c_before_anything_was_sent_sends_nothing(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one")
        process.stop.press()
        await process.deliver()
        assert process.said == []

    bench.run(work)
    assert not bench.batches


def test_fr_63_one_that_never_ends_is_given_up_after_its_time(bench: Bench) -> None:
    endless = {"to": "batches", "times": 1, "takes": 1e9, "expires": HOUR, "overdue": True, "canceling": 1e9}
    bench.start([endless, {"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one", "two")
        await process.deliver()
        assert HOUR <= sum(bench.slept) <= HOUR + 300
        assert process.said[-1].endswith(
            "is given up, its Message Batch did not end in its time: 2 requests to be sent again"
        )
        assert not process.outbox.held and not process.ledger.tabs
        assert await process.answers("one", "two") == {"one": "so", "two": "so"}

    bench.run(work)
    assert [one.cancelled is not None for one in bench.batches] == [True, False], "its server was told to end it"


def test_what_is_finished_when_its_time_is_over_counts(bench: Bench) -> None:
    """A server that is late, and does as it is told: what it has answered by then is paid once."""
    late = {"to": "batches", "times": 1, "takes": 2 * HOUR, "expires": HOUR, "overdue": True, "canceling": 30}
    bench.start([late, {"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one", "two")
        await process.deliver()
        assert (await process.ask("one")).message.text == "so"
        assert await process.answers("two") == {"two": "so"}

    bench.run(work)
    assert sorted(bench.paid) == ["one", "two"] and len(bench.batches[1].custom_ids) == 1


def test_a_server_that_is_out_of_reach_is_waited_for(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one")

        def away() -> None:
            if 100 < sum(bench.slept) < 3 * HOUR:
                bench.api.say([{"to": "batch", "fault": "reset"}])
            else:
                bench.api.say([{"reply": "so"}])

        bench.meanwhile = away
        await process.deliver()
        assert sum("asked for again" in line for line in process.said) == 1
        assert sum("10 questions in a row failed" in line for line in process.said) == 1

    bench.run(work)
    assert 3 * HOUR <= sum(bench.slept) < 3 * HOUR + 200


def test_a_key_that_is_refused_while_waiting_is_told_at_once(bench: Bench) -> None:
    bench.start([{"to": "batch", "times": 1, "fault": 401}, {"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one")
        with pytest.raises(CallNeeds, match="401"):
            await process.deliver()
        assert process.outbox.out.requests == 1
        await process.deliver()
        assert (await process.ask("one")).message.text == "so"

    bench.run(work)


def test_fr_63_a_download_that_is_cut_is_made_until_it_is_whole(bench: Bench) -> None:
    cuts = [{"to": "batch_results", "nth": n, "fault": "cut"} for n in range(1, 6)]
    bench.start([*cuts, {"reply": "so"}])
    tasks = [f"t{n}" for n in range(8)]

    async def work(process: Process) -> None:
        await process.park(*tasks)
        await process.deliver()
        assert [(await process.ask(task)).message.text for task in tasks] == ["so"] * 8

    bench.run(work)
    assert bench.asked("batch_results") == 6 and Counter(bench.paid) == Counter(tasks)


@pytest.mark.parametrize("at", [0, 3, 7])
def test_a_download_that_ends_early_as_if_it_were_whole_is_made_again(bench: Bench, at: int) -> None:
    bench.start([{"to": "batch_results", "nth": 1, "fault": {"kind": "cut", "at": at}}, {"reply": "so"}])
    tasks = [f"t{n}" for n in range(8)]

    async def work(process: Process) -> None:
        await process.park(*tasks)
        await process.deliver()
        assert [(await process.ask(task)).message.text for task in tasks] == ["so"] * 8

    bench.run(work)
    assert bench.asked("batch_results") == 2 and Counter(bench.paid) == Counter(tasks)


def test_results_that_can_not_be_fetched_for_a_day_are_given_up(bench: Bench) -> None:
    """Somebody has deleted the batch, say."""
    bench.start([{"to": "batch_results", "times": 1450, "fault": 404}, {"reply": "so"}], batches={"takes": 5})

    async def work(process: Process) -> None:
        await process.park("one")
        await process.deliver()
        assert process.said[-1].endswith("is given up, its results could not be fetched: 1 request to be sent again")

    bench.run(work)
    assert 24 * HOUR < sum(bench.slept) < 24 * HOUR + 300


def test_a_clock_that_jumps_changes_no_pace(bench: Bench) -> None:
    """F10, by a day back."""
    bench.start([{"reply": "so"}], batches={"takes": 600})

    async def work(process: Process) -> None:
        await process.park("one")
        bench.clock.move(timedelta(days=-1))
        before = len(bench.slept)
        await process.deliver()
        assert len(bench.slept) - before < 40

    bench.run(work)
