"""FR-59: results of every kind, in any order; each on its own task, and only what has no answer is sent again."""

import json
from typing import Any

import pytest

from onepen.orchestrator.gateway.ledger import Ledger
from onepen.subagents.model import LostCall

from .conftest import PRICE, Bench, Process

USAGE = {"input": 1000, "output": 100}
COST = (1000 * PRICE.input + 100 * PRICE.output) / 2e6
TASKS = ["ok-1", "ok-2", "ok-3", "ok-4", "invalid", "broken", "late-1", "late-2", "stopped", "gone"]


def first_time(*rules: dict[str, Any]) -> list[Any]:
    """Rules for the first batch; whatever is asked again has an answer."""
    return [*({"times": 1, **rule} for rule in rules), {"reply": "so", "usage": USAGE}]


MIXED = first_time(
    {"contains": "ok-1", "reply": "one", "usage": USAGE},
    {"contains": "ok-2", "fault": "unknown_id", "reply": "two", "usage": USAGE},
    {"contains": "ok-3", "fault": "unknown_result", "reply": "three", "usage": USAGE},
    {"contains": "ok-4", "reply": "four", "usage": USAGE},
    {"contains": "invalid", "fault": {"status": 400, "message": "messages.0: no such block"}},
    {"contains": "broken", "fault": 500},
    {"contains": "late-1", "fault": "expired"},
    {"contains": "late-2", "fault": "expired"},
    {"contains": "stopped", "fault": "canceled"},
    {"contains": "gone", "fault": {"status": 529}},
)


def without_its_line(rules: list[Any]) -> list[Any]:
    """The same, with one request that has no line at all."""
    return [{**rule, "fault": "missing"} if rule.get("contains") == "gone" else rule for rule in rules]


@pytest.mark.parametrize("rules", [MIXED, without_its_line(MIXED)], ids=["overloaded", "missing"])
def test_fr_59_mixed_results_in_any_order(bench: Bench, rules: list[Any]) -> None:
    bench.start(rules)

    async def work(process: Process) -> None:
        await process.park(*TASKS)
        await process.deliver()
        purses = {task: process.ledger.spent(task).usd for task in TASKS}
        paid = [task for task in TASKS if purses[task]]
        assert paid == TASKS[:4] and all(purses[task] == pytest.approx(COST) for task in paid), "the 4 only"
        words = {task: (await process.ask(task)).message.text for task in TASKS[:4]}
        assert words == {"ok-1": "one", "ok-2": "two", "ok-3": "three", "ok-4": "four"}
        with pytest.raises(Exception, match=r"400 invalid_request_error: messages\.0: no such block"):
            await process.ask("invalid")
        strange = [line for line in process.said if "counts for nothing" in line]
        assert len(strange) == 2
        assert any("that was not in it: other-ok-2" in line for line in strange)
        assert any("a type that onepen doesn't know, postponed" in line for line in strange)
        assert process.said[-1].endswith("has ended: 4 of 10 requests answered, 5 to be sent again, 1 failed")
        assert not process.outbox.held, "whoever asked is to ask again"
        again = TASKS[5:]
        assert await process.answers(*again) == dict.fromkeys(again, "so")
        assert process.outbox.out.requests == process.outbox.waiting == 0

    bench.run(work)
    first, second = bench.batches
    assert len(first.custom_ids) == 10
    assert sorted(one.rpartition("-")[0] for one in second.custom_ids) == sorted(TASKS[5:]), "these, and only these"


def test_each_reply_finds_its_task_in_any_order(bench: Bench) -> None:
    bench.start([lambda asked: {"reply": asked.custom_id.rpartition("-")[0]}])
    tasks = [f"task{n}" for n in range(40)]

    async def work(process: Process) -> None:
        assert await process.answers(*tasks) == {task: task for task in tasks}

    bench.run(work)
    [path] = bench.folder.replies.iterdir()
    came = [json.loads(line)["request"] for line in path.read_text().splitlines()]
    assert came != list(bench.batches[0].custom_ids) and sorted(came) == sorted(bench.batches[0].custom_ids)


def test_what_comes_back_in_vain_three_times_is_a_failure(bench: Bench) -> None:
    bench.start([{"contains": "never", "fault": "expired"}, {"contains": "busy", "fault": 529}, {"reply": "so"}])

    async def work(process: Process) -> None:
        found = await process.answers("never", "busy", "fine")
        assert found["fine"] == "so"
        assert found["never"] == (
            "CallFailed: claude-sonnet-5-5: it expired before its turn came; sent 3 times by Message Batches"
        )
        assert "529 overloaded_error" in found["busy"] and "sent 3 times" in found["busy"]
        assert [one.reason for one in process.lost if "expired" in one.reason] == [
            "it expired before its turn came"
        ] * 3

    bench.run(work)
    assert len(bench.batches) == 3 and bench.paid == ["fine"]


def test_whoever_was_told_of_a_failure_may_ask_anew(bench: Bench) -> None:
    bench.start(first_time({"contains": "invalid", "fault": 400}))

    async def work(process: Process) -> None:
        found = await process.answers("invalid")
        assert found["invalid"].startswith("CallFailed") and "400" in found["invalid"]
        assert await process.answers("invalid") == {"invalid": "so"}

    bench.run(work)


def test_a_failure_is_told_after_a_restart_too(bench: Bench) -> None:
    bench.start(first_time({"contains": "invalid", "fault": 400}, {"contains": "late", "fault": "expired"}))

    async def first(process: Process) -> None:
        await process.park("invalid", "late")
        await process.deliver()

    async def later(process: Process) -> None:
        with pytest.raises(Exception, match="400"):
            await process.ask("invalid")
        assert await process.answers("late") == {"late": "so"}
        assert process.lost == [LostCall("it expired before its turn came")]

    bench.run(first)
    bench.run(later)
    assert [len(one.custom_ids) for one in bench.batches] == [2, 1]


def test_credit_that_is_used_up_is_each_tasks_own_end(bench: Bench) -> None:
    bench.start([{"contains": "poor", "fault": "spend_cap"}, {"reply": "so"}])

    async def work(process: Process) -> None:
        found = await process.answers("poor-1", "poor-2", "fine")
        assert found["fine"] == "so" and all(found[f"poor-{n}"].startswith("ProviderBudget") for n in (1, 2))

    bench.run(work)
    assert len(bench.batches) == 1


def test_a_second_result_of_a_request_counts_for_nothing(bench: Bench) -> None:
    """F27: the same custom_id twice."""
    bench.start([{"contains": "two", "fault": "twice", "reply": "2", "usage": USAGE}, {"reply": "so"}])

    async def work(process: Process) -> None:
        assert await process.answers("one", "two") == {"one": "so", "two": "2"}
        assert any("a second result of two-" in line for line in process.said)
        assert process.ledger.spent("two").usd == pytest.approx(COST)

    bench.run(work)
    assert len(bench.batches) == 1


def test_many_strange_lines_are_told_in_short(bench: Bench) -> None:
    bench.start([{"fault": "unknown_id", "reply": "so"}])

    async def work(process: Process) -> None:
        await process.park(*(f"t{n}" for n in range(9)))
        await process.deliver()
        assert sum("counts for nothing" in line for line in process.said) == 5
        assert any(line.endswith("4 more lines like that") for line in process.said)

    bench.run(work, Ledger())


def test_an_answer_that_can_not_be_read_is_paid_with_its_most_and_asked_again(bench: Bench) -> None:
    deep: Any = "x"
    for _ in range(80):
        deep = [deep]
    bench.start(first_time({"contains": "odd", "reply": [{"block": {"type": "odd", "deep": deep}}]}))

    async def work(process: Process) -> None:
        await process.park("odd")
        await process.deliver()
        most = process.ledger.spent("odd").usd
        assert most > 0
        assert await process.answers("odd") == {"odd": "so"}
        assert process.ledger.spent("odd").usd == pytest.approx(most + COST)
        assert [one.cost_usd for one in process.lost] == [pytest.approx(most)]

    bench.run(work)
