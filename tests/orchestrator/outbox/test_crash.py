"""F27: a process that dies at any moment; the next one asks for nothing that is out, and pays for nothing twice."""

import json
from collections import Counter
from datetime import timedelta
from typing import Any

import anthropic
import pytest

from onepen.memory import files
from onepen.orchestrator.outbox.journal import OutboxUnreadable
from onepen.testing.disk import BreakingDisk, Stopped

from .conftest import TAKES, Bench, Process

TASKS = ["one", "two", "three"]
TURNS = [{"contains": "again", "reply": "2"}, {"reply": "1"}]


async def two_turns(process: Process) -> None:
    """Each task asks twice, one after the other."""
    for task in TASKS:
        assert await process.answers(task, text=f"{task} first") == {task: "1"}
    assert await process.answers(*TASKS, text="again") == dict.fromkeys(TASKS, "2")


async def side_by_side(process: Process) -> None:
    assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")
    assert await process.answers(*TASKS, text="again") == dict.fromkeys(TASKS, "2")


def dies(bench: Bench, monkeypatch: pytest.MonkeyPatch, disk: BreakingDisk, work: Any) -> bool:
    """Whether the process died before its work was done."""
    with monkeypatch.context() as patch:
        patch.setattr(files, "NO_LINKS", disk)
        try:
            bench.run(work)
        except Stopped:
            return True
        return False


def ids(bench: Bench) -> Counter[str]:
    return Counter(one.custom_id for one in bench.api.paid)


def test_f27_a_crash_at_every_operation_of_the_disk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.start(TURNS, batches={"takes": 20})
    at = died = 0
    while True:
        at += 1
        for path in (bench.folder.sent_file, *bench.folder.replies.glob("*")):
            path.unlink(missing_ok=True)
        bench.clock.move(timedelta(days=2))  # what was sent before is not what is looked for
        before = ids(bench)
        if not dies(bench, monkeypatch, BreakingDisk(at), side_by_side):
            break
        died += 1
        bench.run(side_by_side)
        paid = ids(bench) - before
        assert len(paid) == 6 and set(paid.values()) == {1}, f"died at operation {at}: {paid}"
    assert died >= 15


def test_f27_a_crash_between_the_making_of_a_batch_and_the_journal(bench: Bench) -> None:
    """The server took it, and nobody heard: it is found in the list, by its custom_ids."""
    bench.start(TURNS)

    class Died(BaseException):
        pass

    async def first(process: Process) -> None:
        await process.park(*TASKS)
        shelf = process.outbox._shelf
        note = shelf.note

        async def dying(event: Any) -> None:
            if type(event).__name__ == "Created":
                raise Died
            await note(event)

        shelf.note = dying  # type: ignore[method-assign]
        await process.deliver()

    with pytest.raises(Died):
        bench.run(first)
    assert bench.events == {"intent": 1} and len(bench.batches) == 1

    async def second(process: Process) -> None:
        await process.park(*TASKS)
        assert (process.outbox.waiting, process.outbox.out.requests, process.outbox.out.batches) == (0, 3, ())
        await process.deliver()
        assert [(await process.ask(task)).message.text for task in TASKS] == ["1", "1", "1"]
        assert any("whose making was cut short" in line for line in process.said)

    bench.run(second)
    assert len(bench.batches) == 1 and sorted(bench.paid) == sorted(TASKS)


LOST_ANSWER = {"to": "batches", "nth": 1, "fault": {"kind": "reset_in_reply", "at": 0}}


def test_f27_an_answer_that_is_lost_is_looked_up_before_anything_is_sent_again(bench: Bench) -> None:
    bench.start([LOST_ANSWER, *TURNS])

    async def work(process: Process) -> None:
        assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")

    bench.run(work)
    assert bench.asked("batches") == 1 and bench.asked("batch_list") >= 1 and Counter(bench.paid) == Counter(TASKS)


@pytest.mark.parametrize("fault", ["reset", "hang_up", 500, "not_json"])
def test_f27_a_batch_that_was_never_made_is_made_once_that_is_known(bench: Bench, fault: Any) -> None:
    bench.start([{"to": "batches", "nth": 1, "fault": fault}, *TURNS])

    async def work(process: Process) -> None:
        await process.park(*TASKS)
        await process.deliver()
        assert sum(bench.slept) >= 60, "a list may be late"
        assert bench.asked("batch_list") >= 2 and bench.asked("batches") == 1
        assert not process.outbox.held and not process.ledger.tabs
        assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")

    bench.run(work)
    assert len(bench.batches) == 1 and Counter(bench.paid) == Counter(TASKS)


def test_a_server_that_nobody_reached_has_made_nothing(bench: Bench) -> None:
    bench.start(TURNS)

    async def work(process: Process) -> None:
        await process.park(*TASKS)
        with bench.api.away():

            async def back(seconds: float) -> None:
                raise Stopped

            process.outbox._sleep, sleep = back, process.outbox._sleep
            with pytest.raises(Stopped):
                await process.deliver()
        assert process.outbox.waiting == 3 and bench.asked("batch_list") == 0
        process.outbox._sleep = sleep
        await process.deliver()

    bench.run(work)
    assert Counter(bench.paid) == Counter(TASKS)


def others(bench: Bench, *names: str) -> str:
    """A batch that somebody else makes with the same key."""
    with anthropic.Anthropic(base_url=bench.api.url, api_key="sk-test", max_retries=0) as client:
        params: Any = {"model": "claude-haiku-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        return client.messages.batches.create(requests=[{"custom_id": name, "params": params} for name in names]).id


def test_f27_what_others_have_sent_is_not_taken_for_ours(bench: Bench) -> None:
    """As many requests, at the same time, with the same key; one has ended, one is running, one is older."""
    bench.start([{"to": "batches", "nth": 2, "takes": 60}, {"to": "batches", "nth": 4, **_lost()}, *TURNS])
    others(bench, "x", "y", "z")
    bench.clock.move(timedelta(hours=5))
    others(bench, "a", "b", "c")
    others(bench, "d", "e", "f")

    async def work(process: Process) -> None:
        assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")

    bench.run(work)
    assert len(bench.batches) == 4
    assert Counter(one for one in bench.paid if one in TASKS) == Counter(TASKS)


def _lost() -> dict[str, Any]:
    return {"fault": {"kind": "reset_in_reply", "at": 0}}


def test_f27_one_of_others_that_runs_is_waited_for_before_anything_is_sent_again(bench: Bench) -> None:
    """It could be ours, and only its results tell."""
    bench.start([{"to": "batches", "nth": 2, "fault": "reset"}, *TURNS])
    other = others(bench, "a", "b", "c")

    async def work(process: Process) -> None:
        await process.park(*TASKS)
        await process.deliver()
        assert sum(bench.slept) >= TAKES
        assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")

    bench.run(work)
    assert bench.batches[0].id == other and len(bench.batches) == 2
    assert {one.batch for one in bench.api.paid if one.custom_id.startswith("one")} == {bench.batches[1].id}


def test_f27_the_list_may_fail_and_is_asked_again(bench: Bench) -> None:
    faults = [{"to": "batch_list", "nth": n, "fault": f} for n, f in ((1, 404), (2, 500), (3, "reset"), (4, "cut"))]
    bench.start([LOST_ANSWER, *faults, *TURNS])

    async def work(process: Process) -> None:
        assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")

    bench.run(work)
    assert bench.asked("batches") == 1 and Counter(bench.paid) == Counter(TASKS)


def test_what_was_meant_to_be_made_long_ago_is_not_looked_for_for_ever(bench: Bench) -> None:
    """Servers keep results for 29 days: what was made before can't be had any more, whoever made it."""
    bench.start([{"to": "batches", "nth": 1, "fault": "reset"}, *TURNS])

    async def first(process: Process) -> None:
        await process.park(*TASKS)
        bench.meanwhile = process.stop.press
        await process.deliver()

    bench.run(first)
    bench.meanwhile = lambda: None
    others(bench, "a", "b", "c")
    bench.clock.move(timedelta(days=40))
    bench.api.say([{"to": "batch_results", "within": 1, "fault": 404}, *TURNS])

    async def later(process: Process) -> None:
        assert await process.answers(*TASKS) == dict.fromkeys(TASKS, "1")

    bench.run(later)


def test_a_process_that_dies_while_it_waits_loses_nothing(bench: Bench) -> None:
    bench.start(TURNS)
    kills = 0

    def die() -> None:
        nonlocal kills
        if kills < 20 and len(bench.slept) % 3 == 0:
            kills += 1
            raise Stopped

    bench.meanwhile = die
    while True:
        try:
            bench.run(side_by_side)
            break
        except Stopped:
            continue
    assert kills == 20 and set(ids(bench).values()) == {1} and len(ids(bench)) == 6


def test_a_line_that_a_crash_cut_is_passed_over(bench: Bench) -> None:
    bench.start(TURNS)

    async def first(process: Process) -> None:
        await process.park("one")
        await process.deliver()

    bench.run(first)
    with bench.folder.sent_file.open("ab") as journal:
        journal.write(b'{"v": 1, "at": "2026-11-29T09:30:00.000+01:00", "event": "intent", "key": "ab')
    bench.run(side_by_side)
    assert Counter(bench.paid)["one"] == 2


def planted(event: str, **fields: Any) -> bytes:
    """A line that came with a clone."""
    return json.dumps({"v": 1, "at": "2026-11-29T09:30:00+01:00", "event": event, **fields}).encode()


INTENT: dict[str, Any] = {"key": "k", "server": "api.anthropic.com", "profile": "default"}
ASKED = {"id": "a-1", "sha": "ab", "task": "a", "client": None, "agent": "w", "model": "m", "most": {"usd": 0.1}}
CHEAP = {"input": 1.0, "cache_write": 1.0, "cache_read": 1.0, "output": -9.0}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"v": 2, "at": "2026-11-29T09:30:00+01:00", "event": "created"}', "not a line of version 1"),
        (b'{"v": 1, "at": "2026-11-29T09:30:00+01:00", "event": "moved"}', "unknown event 'moved'"),
        (b'{"v": 1, "at": "2026-11-29T09:30:00+01:00", "event": "created"}', "not an event: "),
        (b'{"v": 1, "at": "yesterday", "event": "ended", "batch": "b"}', "Invalid isoformat"),
        (b"<<<<<<< HEAD", "not a line of JSON"),
        (planted("created", key="k", batch="../../x", created="", expires=""), "not the name of a Message Batch"),
        (planted("intent", **INTENT, requests=[{**ASKED, "most": {"usd": -100.0}}]), "an amount below nothing"),
        (planted("intent", **INTENT, requests=[{**ASKED, "most": {"usd": float("nan")}}]), "an amount below nothing"),
        (planted("intent", **INTENT, requests=[ASKED], prices={"m": CHEAP}), "a price below nothing"),
        (planted("stored", batch="b", items=[{"id": "a", "kind": "reply", "cost": {"usd": -1}}]), "an amount below"),
        (b"\xff\xfe", "not a line of JSON"),
    ],
)
def test_f30_a_journal_that_can_not_be_read_sends_nothing(bench: Bench, line: bytes, reason: str) -> None:
    bench.start(TURNS)
    bench.folder.sent_file.write_bytes(line + b"\n")

    async def work(process: Process) -> None:
        with pytest.raises(OutboxUnreadable, match=f"message-batches.jsonl:1: .*{reason}.*nothing is sent"):
            await process.ask("one")

    bench.run(work)
    assert bench.api.requests == []


def test_a_reply_whose_file_is_gone_is_told_before_it_is_paid_again(bench: Bench) -> None:
    bench.start(TURNS)

    async def first(process: Process) -> None:
        await process.park("one")
        await process.deliver()

    async def later(process: Process) -> None:
        found = await process.answers("one")
        assert found["one"].startswith("CallFailed") and "it is paid again" in found["one"]
        assert await process.answers("one") == {"one": "1"}

    bench.run(first)
    [path] = bench.folder.replies.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"request"', b'"requests"'))
    bench.run(later)
    assert bench.paid == ["one", "one"]


def test_a_file_of_replies_that_was_begun_is_written_anew(bench: Bench) -> None:
    bench.start([{"to": "batch", "status": "in_progress", "times": 1}, *TURNS])

    async def work(process: Process) -> None:
        await process.park(*TASKS)

        def half() -> None:
            bench.meanwhile = lambda: None
            bench.folder.replies.mkdir()
            (bench.folder.replies / f"{bench.batches[0].id}.jsonl").write_bytes(b'{"v": 1, "half')

        bench.meanwhile = half
        await process.deliver()
        assert [(await process.ask(task)).message.text for task in TASKS] == ["1", "1", "1"]

    bench.run(work)
