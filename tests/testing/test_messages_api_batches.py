"""The double's Message Batches, as the real client meets them; hours pass on a clock that the test moves."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic.types.messages import MessageBatch

from onepen.testing.messages_api import MessagesApi, RulesUnreadable

MODEL = "claude-sonnet-5-5"
EPOCH = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)


class Watch:
    """Seconds that a test lets pass."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Bench:
    """A double, a client for it, and its clock."""

    def __init__(self, stack: ExitStack, rules: Sequence[Any], options: dict[str, Any]) -> None:
        self.watch = Watch()
        self.api = stack.enter_context(MessagesApi(rules, clock=self.watch, epoch=EPOCH, **options))
        self.client = stack.enter_context(
            anthropic.Anthropic(base_url=self.api.url, api_key="sk-test", max_retries=0, timeout=10)
        )

    def create(self, *texts: str, **params: Any) -> MessageBatch:
        """A batch of a request for each text, which is its custom_id, too."""
        made: Any = [{"custom_id": text, "params": {**request(text), **params}} for text in texts]
        return self.client.messages.batches.create(requests=made)

    def now(self, batch: MessageBatch) -> MessageBatch:
        return self.client.messages.batches.retrieve(batch.id)

    def results(self, batch: MessageBatch) -> list[tuple[str, str]]:
        return [(one.custom_id, one.result.type) for one in self.client.messages.batches.results(batch.id)]

    @property
    def paid(self) -> list[str]:
        return [one.custom_id for one in self.api.paid]


Start = Callable[..., Bench]


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *rules, **options: Bench(stack, rules, options)


def request(text: str) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


def test_a_batch_runs_and_ends_and_has_results_in_any_order(start: Start) -> None:
    bench = start({"contains": "b", "reply": "B"}, {"reply": "other"}, batches={"takes": 3600})
    texts = [f"{letter}-{n}" for letter in "abc" for n in range(3)]
    batch = bench.create(*texts)
    assert re.fullmatch(r"msgbatch_\w+", batch.id)
    assert (batch.processing_status, batch.results_url, batch.ended_at) == ("in_progress", None, None)
    assert (batch.created_at, batch.expires_at) == (EPOCH, EPOCH + timedelta(days=1))
    bench.watch.seconds = 3599
    counts = bench.now(batch).request_counts
    assert (counts.processing, counts.succeeded) == (9, 0), "all are processing until the whole batch ends"
    bench.watch.seconds = 3600
    ended = bench.now(batch)
    assert (ended.processing_status, ended.request_counts.processing, ended.request_counts.succeeded) == ("ended", 0, 9)
    assert ended.ended_at == EPOCH + timedelta(hours=1)
    assert ended.results_url == f"{bench.api.url}/v1/messages/batches/{batch.id}/results"
    results = list(bench.client.messages.batches.results(batch.id))
    assert sorted(one.custom_id for one in results) == texts != [one.custom_id for one in results]
    said: dict[str, Any] = {one.custom_id: one.result for one in results}
    assert said["b-1"].message.content[0].text == "B" and said["a-1"].message.content[0].text == "other"
    assert said["b-1"].message.usage.input_tokens > 0


def test_what_is_paid_can_be_counted(start: Start) -> None:
    bench = start({"reply": "so"}, batches={"takes": 100})
    batch = bench.create(*"abcdefghij")
    bench.watch.seconds = 35
    assert bench.paid == ["a", "b", "c"], "one after the other, evenly"
    bench.watch.seconds = 100
    assert bench.paid == list("abcdefghij")
    assert {one.batch for one in bench.api.paid} == {batch.id} and bench.api.paid[0].params == request("a")
    assert [(one.id, one.custom_ids, one.status) for one in bench.api.batches] == [
        (batch.id, tuple("abcdefghij"), "ended")
    ]


def test_there_are_no_results_before_the_end(start: Start) -> None:
    bench = start({"reply": "so"}, batches={"takes": 10})
    batch = bench.create("a")
    with pytest.raises(anthropic.AnthropicError, match="results_url"):
        bench.results(batch)
    with pytest.raises(anthropic.NotFoundError, match="no results yet"):
        bench.client.get(f"/v1/messages/batches/{batch.id}/results", cast_to=object)


def test_each_request_has_its_own_end(start: Start) -> None:
    bench = start(
        {"contains": "invalid", "fault": {"status": 400, "message": "no such thing"}},
        {"contains": "broken", "fault": 500},
        {"contains": "busy", "fault": "error_event"},
        {"contains": "poor", "fault": "spend_cap"},
        {"contains": "reset", "fault": "reset"},
        {"contains": "late", "fault": "expired"},
        {"contains": "stopped", "fault": "canceled"},
        {"contains": "gone", "fault": "missing"},
        {"contains": "double", "fault": "twice"},
        {"contains": "stranger", "fault": "unknown_id"},
        {"contains": "odd", "fault": "unknown_result"},
        {"contains": "well", "reply": "fine"},
    )
    batch = bench.create(
        "invalid", "broken", "busy", "poor", "reset", "late", "stopped", "gone", "double", "stranger", "odd", "well",
        "unknown",
    )  # fmt: skip
    results = list(bench.client.messages.batches.results(batch.id))
    found: dict[str, list[Any]] = {}
    for one in results:
        found.setdefault(one.custom_id, []).append(one.result)
    errors = {name: one[0].error.error for name, one in found.items() if one[0].type == "errored"}
    assert {name: error.type for name, error in errors.items()} == {
        "invalid": "invalid_request_error", "broken": "api_error", "busy": "overloaded_error",
        "poor": "rate_limit_error", "reset": "api_error", "unknown": "invalid_request_error",
    }  # fmt: skip
    assert errors["invalid"].message == "no such thing" and "no rule of the double" in errors["unknown"].message
    assert (found["late"][0].type, found["stopped"][0].type, "gone" in found) == ("expired", "canceled", False)
    assert [one.type for one in found["double"]] == ["succeeded", "succeeded"]
    assert found["other-stranger"][0].type == "succeeded"
    assert sorted(one.type for one in found["odd"]) == ["postponed", "succeeded"]
    counts = bench.now(batch).request_counts
    assert (counts.succeeded, counts.errored, counts.expired, counts.canceled) == (5, 6, 1, 1)
    assert bench.paid == ["gone", "double", "stranger", "odd", "well"]


def test_the_rules_and_the_cache_are_those_of_messages(start: Start) -> None:
    long = [{"type": "text", "text": "kiln " * 2000, "cache_control": {"type": "ephemeral"}}]
    bench = start(
        {"batched": True, "turn": 2, "reply": "twice"},
        {"batched": True, "times": 1, "reply": [{"tool": "search", "input": {}}]},
        {"batched": True, "reply": "cheap"},
        {"reply": "live"},
        cache=True,
    )
    tools = [{"name": "search", "description": "Looks things up.", "input_schema": {"type": "object"}}]
    batch = bench.create("a", "b", system=long, tools=tools)
    live = bench.client.messages.create(**request("a"))
    assert live.content[0].type == "text" and live.content[0].text == "live"
    said: dict[str, Any] = {
        one.custom_id: one.result.message
        for one in bench.client.messages.batches.results(batch.id)
        if one.result.type == "succeeded"
    }
    assert said["a"].stop_reason == "tool_use" and said["b"].content[0].text == "cheap"
    assert said["a"].usage.cache_creation_input_tokens > 1000 and said["b"].usage.cache_read_input_tokens > 1000


def test_a_function_among_the_rules_sees_the_custom_id(start: Start) -> None:
    bench = start(lambda asked: {"reply": f"{asked.custom_id} {asked.batched} {asked.n}"})
    batch = bench.create("x", "y")
    texts = [
        one.result.message.content[0]
        for one in bench.client.messages.batches.results(batch.id)
        if one.result.type == "succeeded"
    ]
    assert sorted(block.text for block in texts if block.type == "text") == ["x True 1", "y True 2"]


def test_a_fault_of_batches_is_none_of_a_message(start: Start) -> None:
    bench = start({"fault": "expired"})
    with pytest.raises(anthropic.BadRequestError, match="Message Batch"):
        bench.client.messages.create(**request("a"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"stream": True}, "streaming"),
        ({"temperature": 0.5}, "temperature"),
        ({"messages": []}, "at least one message"),
        ({"model": "claude-none"}, "model: claude-none"),
    ],
)
def test_wrong_parameters_show_in_the_results(start: Start, changes: dict[str, Any], words: str) -> None:
    bench = start({"reply": "so"})
    batch = bench.create("good")
    wrong = bench.create("wrong", **changes)
    assert bench.results(batch) == [("good", "succeeded")]
    (one,) = bench.client.messages.batches.results(wrong.id)
    assert one.result.type == "errored" and words in one.result.error.error.message


def test_batches_that_are_none_are_refused(start: Start) -> None:
    bench = start({"reply": "so"}, batches={"requests": 3, "bytes": 2000})
    for names, words in (
        ([], "from 1 to 3"), (["a"] * 2, "unique"), (["a b"], "pattern"), (["x" * 65], "pattern"),
        (list("abcd"), "from 1 to 3"),
    ):  # fmt: skip
        with pytest.raises(anthropic.BadRequestError, match=words):
            bench.create(*names)
    with pytest.raises(anthropic.RequestTooLargeError, match="maximum size"):
        bench.create("a", system="x" * 2000)
    for body, words in (
        ({}, "Field required"), ({"requests": 1}, "valid list"), ({"requests": [1]}, "custom_id"),
        ({"requests": [{"custom_id": "a", "params": {}}], "name": "x"}, "name: Extra"),
        ({"requests": [{"custom_id": "a", "params": {}, "more": 1}]}, "more: Extra"),
    ):  # fmt: skip
        with pytest.raises(anthropic.BadRequestError, match=words):
            bench.client.post("/v1/messages/batches", body=body, cast_to=object)
    assert bench.api.batches == []


def test_batches_are_listed_in_pages_the_latest_first(start: Start) -> None:
    bench = start({"reply": "so"})
    made = []
    for n in range(5):
        bench.watch.seconds = n * 60.0
        made.append(bench.create("a").id)
    batches = bench.client.messages.batches
    assert [one.id for one in batches.list(limit=2)] == made[::-1], "the client turns the pages"
    page = batches.list(limit=2)
    assert ([one.id for one in page.data], page.has_more) == ([made[4], made[3]], True)
    assert [one.id for one in batches.list(limit=2, before_id=made[1]).data] == [made[3], made[2]]
    assert [one.created_at for one in page.data] == [EPOCH + timedelta(minutes=4), EPOCH + timedelta(minutes=3)]
    with pytest.raises(anthropic.BadRequestError, match="limit"):
        batches.list(limit=2000)


def test_cancelling_takes_its_time_and_keeps_what_is_done(start: Start) -> None:
    bench = start({"to": "batches", "takes": 100, "canceling": 30}, {"reply": "so"})
    batch = bench.create(*"abcdefghij")
    bench.watch.seconds = 45
    stopped = bench.client.messages.batches.cancel(batch.id)
    assert (stopped.processing_status, stopped.cancel_initiated_at) == ("canceling", EPOCH + timedelta(seconds=45))
    assert bench.client.messages.batches.cancel(batch.id).cancel_initiated_at == stopped.cancel_initiated_at
    bench.watch.seconds = 74
    assert bench.now(batch).processing_status == "canceling"
    bench.watch.seconds = 75
    assert bench.now(batch).processing_status == "ended"
    found = dict(bench.results(batch))
    assert found == {**dict.fromkeys("abcd", "succeeded"), **dict.fromkeys("efghij", "canceled")}
    assert bench.paid == list("abcd")
    with pytest.raises(anthropic.BadRequestError, match="already ended"):
        bench.client.messages.batches.cancel(batch.id)


def test_what_is_not_done_in_time_expires(start: Start) -> None:
    bench = start({"reply": "so"}, batches={"takes": 100, "expires": 25})
    batch = bench.create(*"abcdefghij")
    bench.watch.seconds = 25
    assert bench.now(batch).ended_at == batch.expires_at
    assert dict(bench.results(batch)) == {**dict.fromkeys("ab", "succeeded"), **dict.fromkeys("cdefghij", "expired")}


def test_one_may_never_end(start: Start) -> None:
    bench = start({"to": "batches", "takes": 1e12, "overdue": True}, {"reply": "so"})
    batch = bench.create("a")
    bench.watch.seconds = 1e7
    assert bench.now(batch).processing_status == "in_progress"
    bench.client.messages.batches.cancel(batch.id)
    assert bench.results(batch) == [("a", "canceled")]


def test_batches_that_have_ended_can_be_deleted(start: Start) -> None:
    bench = start({"reply": "so"}, batches={"takes": 1})
    batch = bench.create("a")
    with pytest.raises(anthropic.BadRequestError, match="still processing"):
        bench.client.messages.batches.delete(batch.id)
    bench.watch.seconds = 1
    assert bench.client.messages.batches.delete(batch.id).id == batch.id
    for call in (bench.client.messages.batches.retrieve, bench.client.messages.batches.delete):
        with pytest.raises(anthropic.NotFoundError, match="not found"):
            call(batch.id)
    assert bench.client.messages.batches.list().data == [] and len(bench.api.batches) == 1


def test_what_is_told_of_a_batch_can_be_made_up(start: Start) -> None:
    bench = start(
        {"to": "batch", "nth": 1, "fault": 404},
        {"to": "batch", "nth": 2, "fault": 500},
        {"to": "batch", "nth": 3, "fault": "reset"},
        {"to": "batch", "nth": 4, "counting": True},
        {"to": "batch", "nth": 5, "status": "canceling"},
        {"reply": "so"},
        batches={"takes": 100},
    )
    batch = bench.create(*"abcd")
    bench.watch.seconds = 50
    for error in (anthropic.NotFoundError, anthropic.InternalServerError, anthropic.APIConnectionError):
        with pytest.raises(error):
            bench.now(batch)
    counts = bench.now(batch).request_counts
    assert (counts.processing, counts.succeeded) == (2, 2)
    bench.watch.seconds = 100
    told = bench.now(batch)
    assert (told.processing_status, told.results_url) == ("canceling", None)
    assert bench.now(batch).processing_status == "ended"


def fetched(bench: Bench, batch: MessageBatch) -> tuple[bytes, bool]:
    """The bytes of the results that came, and whether they ended in order."""
    data = b""
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
    with httpx2.stream("GET", f"{bench.api.url}/v1/messages/batches/{batch.id}/results", headers=headers) as answer:
        try:
            for part in answer.iter_raw():
                data += part
        except httpx2.TransportError:
            return data, False
    return data, True


def test_a_download_can_be_cut(start: Start) -> None:
    bench = start(
        {"to": "batch_results", "nth": 1, "fault": "cut"},
        {"to": "batch_results", "nth": 2, "fault": {"kind": "cut", "at": 3}},
        {"to": "batch_results", "nth": 3, "fault": "reset_in_reply"},
        {"to": "batch_results", "nth": 4, "fault": {"kind": "drip", "bytes": 200}},
        {"reply": "so"},
    )
    batch = bench.create(*"abcdef")
    half, ended = fetched(bench, batch)
    assert ended and not half.endswith(b"\n") and half.count(b"\n") == 3
    lines, ended = fetched(bench, batch)
    assert ended and lines.endswith(b"\n") and lines.count(b"\n") == 3
    assert not fetched(bench, batch)[1]
    whole, ended = fetched(bench, batch)
    assert ended and whole.startswith(half) and len([json.loads(line) for line in whole.splitlines()]) == 6


def test_a_batch_may_be_made_and_its_answer_lost(start: Start) -> None:
    bench = start({"to": "batches", "times": 1, "fault": {"kind": "reset_in_reply", "at": 0}}, {"reply": "so"})
    with pytest.raises((anthropic.APIConnectionError, httpx2.TransportError)):
        bench.create("a")
    assert [one.custom_ids for one in bench.api.batches] == [("a",)]
    bench.api.say([{"to": "batches", "times": 1, "fault": "reset"}, {"reply": "so"}])
    with pytest.raises(anthropic.APIConnectionError):
        bench.create("b")
    assert len(bench.api.batches) == 1, "this one was never made"


def test_a_server_may_have_no_batches(start: Start) -> None:
    bench = start({"reply": "so"}, batches=False)
    with pytest.raises(anthropic.NotFoundError):
        bench.create("a")
    assert bench.api.batches == [] and bench.api.paid == []


def test_batches_are_no_answer_to_a_wrong_key(start: Start) -> None:
    bench = start({"reply": "so"}, key="another")
    with pytest.raises(anthropic.AuthenticationError):
        bench.create("a")
    with pytest.raises(anthropic.AuthenticationError):
        bench.client.messages.batches.list()


def test_what_is_said_of_batches_has_to_be_readable() -> None:
    with pytest.raises(RulesUnreadable, match="batches: takes"):
        MessagesApi([], batches={"takes": -1})


def test_a_call_with_the_wrong_method_is_for_nobody(start: Start) -> None:
    bench = start({"reply": "so"})
    for method, path in (("PUT", ""), ("POST", "/x/y"), ("GET", "/x/cancel"), ("DELETE", "/x/y")):
        assert httpx2.request(method, f"{bench.api.url}/v1/messages/batches{path}").status_code == 404


def test_a_batch_of_many_megabytes_is_taken(start: Start) -> None:
    bench = start({"reply": "so"})
    bench.create(*(f"r-{n}" for n in range(40)), system="x" * 1_000_000)
    assert len(bench.api.requests[-1].raw) > 40_000_000 and len(bench.paid) == 40
