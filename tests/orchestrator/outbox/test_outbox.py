"""Asking by Message Batches: parked until the reply is there, half the price, and nothing paid twice."""

import json
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from onepen.orchestrator.errors import Parked
from onepen.orchestrator.gateway.account import Account
from onepen.orchestrator.gateway.claude import Claude
from onepen.orchestrator.gateway.failure import CallFailed, CallNeeds
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.messagebatches import NoBatches
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.settings.setup import Secret
from onepen.subagents.messages import Text, ToolResult, ToolUse, user
from onepen.subagents.model import ToolSpec, Usage
from onepen.testing.scripted import ScriptedModel

from .conftest import CAPS, HOUR, PRICE, TAKES, Bench, Process, request

SEARCH = ToolSpec("search", "Looks things up.", {"type": "object"})
USAGE = {"input": 1000, "cache_write": 100, "cache_read": 4000, "output": 200}


def test_a_task_is_parked_until_its_reply_is_there(bench: Bench) -> None:
    bench.start([{"contains": "one", "reply": "1"}, {"reply": "2"}])

    async def work(process: Process) -> None:
        outbox = process.outbox
        await process.park("one", "two")
        assert (outbox.waiting, outbox.out.requests, outbox.held) == (2, 0, frozenset({"one", "two"}))
        assert not bench.batches, "nothing is sent before it is delivered"
        await process.deliver()
        assert (outbox.waiting, outbox.out.requests, outbox.held) == (0, 0, frozenset())
        assert (await process.ask("one")).content == (Text("1"),)
        assert (await process.ask("two")).content == (Text("2"),)
        assert sum(bench.slept) >= TAKES
        [batch] = bench.batches
        assert process.said == [
            f"2 requests went to {bench.api.url[7:]} in Message Batch {batch.id}, until 2026-11-30 08:30 at the latest",
            f"Message Batch {batch.id} has ended: 2 of 2 requests answered",
        ]

    bench.run(work)


def test_a_custom_id_is_the_task_and_the_request(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("qw3cm1gk")
        await process.deliver()

    bench.run(work)
    [batch] = bench.batches
    assert batch.custom_ids == (f"qw3cm1gk-{request('qw3cm1gk').sha()[:40]}",)


def test_what_is_out_can_be_seen(bench: Bench) -> None:
    bench.start([{"reply": "so"}])
    seen: list[Any] = []

    async def work(process: Process) -> None:
        bench.meanwhile = lambda: seen.append((process.outbox.out, process.outbox.held))
        await process.park("one", "two")
        await process.deliver()

    bench.run(work)
    out, held = seen[0]
    assert (out.batches, out.requests, out.expires) == ((bench.batches[0].id,), 2, "2026-11-30T08:30:00+00:00")
    assert held == {"one", "two"}


def test_a_request_is_sent_as_a_call_would_be_and_costs_half(bench: Bench) -> None:
    reply = [{"text": "I look."}, {"tool": "search", "input": {"q": "kiln"}}]
    bench.start([{"reply": reply, "usage": USAGE}])

    async def work(process: Process) -> None:
        tools: dict[str, Any] = {"tools": (SEARCH,)}
        await process.park("one", **tools)
        await process.deliver()
        got = await process.ask("one", **tools)
        assert got.stop_reason == "tool_use" and got.model == "claude-sonnet-5-5" and got.id.startswith("msg_")
        assert isinstance(got.content[1], ToolUse) and got.content[1].input == {"q": "kiln"}
        assert got.usage == Usage(1000, 100, 4000, 200)
        assert got.cost_usd == pytest.approx(PRICE.of(got.usage) / 2)
        assert got.cost_usd == pytest.approx((1000 * 1.5 + 100 * 1.875 + 4000 * 0.15 + 200 * 7.5) / 1e6)

    bench.run(work)
    [one] = bench.api.paid
    assert [block["text"] for block in one.params["system"]] == ["You are short.\n", "You know pots.\n"]
    assert "stream" not in one.params and "diagnostics" not in one.params and one.params["max_tokens"] == 200


def test_a_reply_is_handed_out_as_often_as_it_is_asked_for_and_paid_once(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def first(process: Process) -> None:
        await process.park("one")
        await process.deliver()
        assert (await process.ask("one")) == (await process.ask("one"))

    async def later(process: Process) -> None:
        assert (await process.ask("one")).message.text == "so"
        await process.deliver()

    bench.run(first)
    bench.run(later)
    assert bench.paid == ["one"] and bench.asked("batches") == 1


def test_requests_that_are_alike_are_two_of_two_tasks(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one", "two", text="the same")
        await process.park("one", text="the same")  # an attempt that asks again
        assert process.outbox.waiting == 2
        await process.deliver()
        assert (await process.ask("two", text="the same")).message.text == "so"

    bench.run(work)
    assert sorted(bench.paid) == ["one", "two"]


def test_a_task_that_asks_for_what_is_out_stays_parked(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def first(process: Process) -> None:
        bench.meanwhile = process.stop.press
        await process.park("one")
        await process.deliver()

    async def second(process: Process) -> None:
        bench.meanwhile = lambda: None
        await process.park("one")
        assert (process.outbox.waiting, process.outbox.out.requests) == (0, 1)
        await process.deliver()
        assert (await process.ask("one")).message.text == "so"

    bench.run(first)
    bench.run(second)
    assert bench.paid == ["one"] and len(bench.batches) == 1


def test_a_conversation_goes_on_turn_by_turn(bench: Bench) -> None:
    bench.start([{"turn": 1, "reply": [{"tool": "search", "input": {}}]}, {"turn": 2, "reply": "done"}])

    async def work(process: Process) -> None:
        tools: dict[str, Any] = {"tools": (SEARCH,)}
        await process.park("one", **tools)
        await process.deliver()
        call = await process.ask("one", **tools)
        result = ToolResult(call.message.tool_uses[0].id, "nothing")
        further: dict[str, Any] = {**tools, "messages": (user(Text("one")), call.message, user(result))}
        await process.park("one", **further)
        await process.deliver()
        assert (await process.ask("one", **further)).message.text == "done"

    bench.run(work)
    assert len(bench.batches) == 2


def test_a_reply_that_pauses_goes_on_in_the_next_batch(bench: Bench) -> None:
    tool = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "kiln"}}
    pause = {"turn": 1, "reply": [{"block": tool}], "stop_reason": "pause_turn", "usage": USAGE}
    bench.start([pause, {"reply": "found", "usage": USAGE}])

    async def work(process: Process) -> None:
        await process.park("one")
        await process.deliver()
        await process.park("one")
        await process.deliver()
        reply = await process.ask("one")
        assert reply.message.text == "found" and len(reply.content) == 2
        assert reply.cost_usd == pytest.approx(2 * PRICE.of(Usage(1000, 100, 4000, 200)) / 2)

    bench.run(work)


def test_what_was_said_before_a_pause_is_lost_when_it_can_not_go_on(bench: Bench) -> None:
    tool = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "kiln"}}
    pause = {"turn": 1, "reply": [{"block": tool}], "stop_reason": "pause_turn", "usage": USAGE}
    bench.start([pause, {"fault": 400}])

    async def work(process: Process) -> None:
        await process.park("one")
        await process.deliver()
        await process.park("one")
        await process.deliver()
        with pytest.raises(CallFailed, match="400"):
            await process.ask("one")
        assert [one.usage for one in process.lost] == [Usage(1000, 100, 4000, 200)]

    bench.run(work)


def test_a_refusal_is_a_reply_and_paid(bench: Bench) -> None:
    """Field case 57, as one of three results."""
    refusal = {"reply": [], "stop_reason": "refusal", "stop_details": {"category": "cyber", "explanation": "no"}}
    bench.start([{"contains": "two", **refusal}, {"reply": "fine"}])

    async def work(process: Process) -> None:
        await process.park("one", "two", "three")
        await process.deliver()
        reply = await process.ask("two")
        assert (reply.stop_reason, reply.content, reply.details) == ("refusal", (), "cyber: no")
        assert reply.cost_usd and (await process.ask("three")).message.text == "fine"

    bench.run(work)


def test_half_an_emoji_in_a_request_and_in_a_reply(bench: Bench) -> None:
    """Field case 58."""
    bench.start([{"reply": [{"tool": "search", "input_json": '{"q": "\\ud83d"}'}]}])

    async def work(process: Process) -> None:
        await process.park("one", text="cut \ud83d", tools=(SEARCH,))
        await process.deliver()
        reply = await process.ask("one", text="cut \ud83d", tools=(SEARCH,))
        assert reply.message.tool_uses[0].input == {"q": "�"}

    bench.run(work)


def test_the_gateway_hands_calls_over(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        gateway = Gateway()
        served = replace(process.served(), outbox=process.outbox)
        account = Account(None, "one", "writer", CAPS)
        with pytest.raises(Parked):
            await gateway.reply(
                served, request("one"), account, on_lost=process.lost.append, waiting=lambda why, s: nullcontext()
            )
        await process.deliver()
        reply = await gateway.reply(
            served, request("one"), account, on_lost=process.lost.append, waiting=lambda why, s: nullcontext()
        )
        assert reply.message.text == "so"

    bench.run(work)


def test_a_server_without_batches_is_one_clear_error(bench: Bench) -> None:
    bench.start([{"reply": "so"}], batches=False)

    async def work(process: Process) -> None:
        await process.park("one", "two")
        with pytest.raises(NoBatches, match="has no Message Batches") as caught:
            await process.deliver()
        assert caught.value.exit_code == 2 and "--via messages" in str(caught.value)
        assert bench.asked("batches") == 1 and process.outbox.waiting == 2 and process.outbox.out.requests == 0

    bench.run(work)


def test_a_model_that_runs_inside_onepen_has_none(bench: Bench) -> None:
    bench.start([])

    async def work(process: Process) -> None:
        with pytest.raises(NoBatches, match="runs inside onepen"):
            await process.ask("one", served=Served(ScriptedModel([])))

    bench.run(work)


def test_a_key_that_is_refused_keeps_all_of_it_for_later(bench: Bench) -> None:
    bench.start([{"reply": "so"}], key="sk-right")

    async def wrong(process: Process) -> None:
        await process.park("one", "two")
        with pytest.raises(CallNeeds, match="401") as caught:
            await process.deliver()
        assert "sk-test" not in str(caught.value) and process.outbox.waiting == 2

    async def right(process: Process) -> None:
        bench.profiles["own"] = {"key": Secret("sk-right")}
        assert await process.answers("one", "two") == {"one": "so", "two": "so"}

    bench.run(wrong)
    bench.run(right)
    assert "sk-" not in bench.folder.sent_file.read_text()


def test_each_key_and_each_server_has_batches_of_its_own(bench: Bench) -> None:
    """A client that is tied to a profile stays with it."""
    bench.start([{"reply": "so"}])
    with bench.another([{"reply": "there"}]) as other:
        bench.profiles = {
            "acme": {"key": Secret("sk-acme")},
            "elsewhere": {"base_url": other.url},
            "alias": {},
        }

        async def work(process: Process) -> None:
            for task, profile in (("a", "own"), ("b", "acme"), ("c", "elsewhere"), ("d", "alias"), ("e", "acme")):
                await process.park(task, served=process.served(profile=profile))
            await process.deliver()
            assert (await process.ask("c", served=process.served(profile="elsewhere"))).message.text == "there"

        bench.run(work)
        keys = {
            seen.headers["x-api-key"]: [one["custom_id"][0] for one in seen.body["requests"]]
            for seen in bench.api.requests
            if seen.to == "batches"
        }
        assert keys == {"sk-test": ["a", "d"], "sk-acme": ["b", "e"]}
        assert [one.custom_id[0] for one in other.paid] == ["c"]
        polled = {(seen.headers["x-api-key"], seen.request.path) for seen in bench.api.requests if seen.to == "batch"}
        assert len(polled) == 2, "each batch is asked for with its own key"


def test_no_secret_and_no_word_of_a_request_stands_in_the_journal(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one", text="the glaze of Ms Novak")
        await process.deliver()
        await process.ask("one", text="the glaze of Ms Novak")

    bench.run(work)
    text = bench.folder.sent_file.read_text()
    assert "Novak" not in text and "sk-test" not in text
    events = [json.loads(line)["event"] for line in text.splitlines()]
    assert events == ["intent", "created", "ended", "stored", "handed"]
    for path in (bench.folder.sent_file, *bench.folder.replies.iterdir()):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_server_that_takes_nothing_for_a_while_is_asked_again(bench: Bench) -> None:
    bench.start([{"to": "batches", "times": 3, "fault": {"status": 429, "retry_after": 20}}, {"reply": "so"}])

    async def work(process: Process) -> None:
        assert await process.answers("one") == {"one": "so"}
        assert process.said[0].endswith("tried again in 20 s")

    bench.run(work)
    assert bench.slept[:3] == [20.0] * 3 and len(bench.batches) == 1


def test_a_server_that_takes_nothing_for_too_long_ends_the_delivery(bench: Bench) -> None:
    bench.start([{"to": "batches", "fault": {"status": 529}}])

    async def work(process: Process) -> None:
        with pytest.raises(CallFailed, match=r"529 .*patience_seconds"):
            await process.answers("one", served=process.served(patience_seconds=300.0))
        assert process.outbox.waiting == 1

    bench.run(work)
    assert 8 <= bench.asked("batches") <= 12 and sum(bench.slept) <= 300


def test_a_spending_limit_of_the_provider_ends_the_delivery(bench: Bench) -> None:
    bench.start([{"to": "batches", "fault": "spend_cap"}])

    async def work(process: Process) -> None:
        await process.park("one")
        with pytest.raises(CallFailed) as caught:
            await process.deliver()
        assert caught.value.exit_code == 4

    bench.run(work)
    assert bench.asked("batches") == 1


def test_a_batch_that_is_refused_fails_its_requests(bench: Bench) -> None:
    bench.start([{"to": "batches", "fault": {"status": 400, "message": "no such field"}}])

    async def work(process: Process) -> None:
        found = await process.answers("one", "two")
        assert all(words.startswith("CallFailed") and "no such field" in words for words in found.values())

    bench.run(work)
    assert bench.asked("batches") == 1


def test_what_the_model_of_a_server_is_has_to_be_known(bench: Bench) -> None:
    bench.start([{"to": "models", "fault": "reset"}, {"reply": "so"}])

    async def work(process: Process) -> None:
        first = Served(Claude(bench.profile("own"), "default", process.clients, bench.clock), PRICE)
        with pytest.raises(CallFailed, match="can't be reached"):
            await process.ask("one", served=first)

    bench.run(work)


def test_cancelling_keeps_what_is_finished(bench: Bench) -> None:
    bench.start([{"to": "batches", "takes": HOUR, "canceling": 20}, {"reply": "so"}])
    tasks = [f"t{n}" for n in range(10)]

    async def first(process: Process) -> None:
        def press() -> None:
            if sum(bench.slept) > HOUR / 2:
                process.stop.press()

        bench.meanwhile = press
        await process.park(*tasks)
        await process.deliver()
        bench.meanwhile = lambda: None
        await process.outbox.cancel(process.said.append)
        assert process.outbox.out.requests == 0
        assert process.said[-1].endswith("has ended: 5 of 10 requests answered")

    async def resumed(process: Process) -> None:
        assert await process.answers(*tasks) == dict.fromkeys(tasks, "so")

    bench.run(first)
    assert len(bench.paid) == 5
    bench.run(resumed)
    assert sorted(bench.paid) == tasks, "what was finished is not asked again"


def test_a_later_process_can_cancel_too(bench: Bench) -> None:
    bench.start([{"to": "batches", "takes": HOUR, "canceling": 20}, {"reply": "so"}])

    async def first(process: Process) -> None:
        bench.meanwhile = process.stop.press
        await process.park("one", "two")
        await process.deliver()

    async def later(process: Process) -> None:
        bench.meanwhile = lambda: None
        await process.outbox.cancel()
        assert process.outbox.out.requests == 2, "nobody has told how to reach the server"
        process.outbox.meet(process.served())
        await process.outbox.cancel()
        assert process.outbox.out.requests == 0

    bench.run(first)
    bench.run(later)
    assert bench.paid == [] and bench.batches[0].status == "ended"


def test_a_cancel_that_takes_long_is_left_to_a_later_delivery(bench: Bench) -> None:
    bench.start([{"to": "batches", "takes": HOUR, "canceling": 600}, {"reply": "so"}])

    async def work(process: Process) -> None:
        bench.meanwhile = process.stop.press
        await process.park("one")
        await process.deliver()
        bench.meanwhile = lambda: None
        begun = sum(bench.slept)
        await process.outbox.cancel(patience=60.0)
        assert sum(bench.slept) - begun <= 60 and process.outbox.out.requests == 1

    async def later(process: Process) -> None:
        assert await process.answers("one") == {"one": "so"}

    bench.run(work)
    bench.run(later)
    assert len(bench.batches) == 2 and bench.paid == ["one"]


def test_a_batch_that_can_not_be_cancelled_is_told(bench: Bench) -> None:
    bench.start([{"to": "batch_cancel", "fault": 500}, {"reply": "so"}])

    async def work(process: Process) -> None:
        bench.meanwhile = process.stop.press
        await process.park("one")
        await process.deliver()
        bench.meanwhile = lambda: None
        await process.outbox.cancel(process.said.append, patience=10.0)
        assert "was not cancelled: Message Batches at 127.0.0.1" in process.said[-1]

    bench.run(work)
    assert bench.asked("batch_cancel") == 1


def test_what_was_not_sent_is_forgotten_when_it_is_closed(bench: Bench) -> None:
    bench.start([{"reply": "so"}])

    async def work(process: Process) -> None:
        await process.park("one")
        process.outbox.close()
        assert process.outbox.waiting == 0 and not process.ledger.tabs
        await process.deliver()

    bench.run(work)
    assert bench.asked("batches") == 0
