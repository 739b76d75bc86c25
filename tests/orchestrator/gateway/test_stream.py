"""A stream put together: exact counters, no half input, no half character, nothing whole without its end."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from onepen.orchestrator.gateway.stream import Accumulator, StreamError, answered_in, events_of
from onepen.subagents.messages import Opaque, Text, ToolUse
from onepen.subagents.model import Usage

from .conftest import MakeCalls


def taken(*events: Mapping[str, Any]) -> tuple[Accumulator, list[str]]:
    accumulator = Accumulator("asked")
    return accumulator, [accumulator.take(event) for event in events]


def start(**usage: int) -> dict[str, Any]:
    return {"type": "message_start", "message": {"model": "m", "usage": usage}}


def block(index: int, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": content}


def delta(index: int, kind: str, **content: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **content}}


def end(reason: str, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


STOP = {"type": "message_stop"}


def nested(levels: int) -> object:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("count", [-1_000_000, True, "9", 1.5, 10**400, None])
def test_what_is_no_count_of_tokens_changes_no_count(count: object) -> None:
    accumulator, _ = taken(start(input_tokens=9, output_tokens=4))
    accumulator.take({"type": "message_delta", "usage": {"input_tokens": count, "output_tokens": count}})
    assert accumulator.usage == Usage(input=9, output=4)


def test_counters_so_far_are_not_added_up(calls: MakeCalls) -> None:
    """Field case 39: 10/7/100/50, whole or streamed with counts on the way."""
    used = {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50}
    call = calls([{"nth": 1, "reply": "a", "usage": used}, {"reply": "b", "usage": {**used, "steps": [1, 20]}}])
    replies = call() + call()
    assert [reply.usage for reply in replies] == [Usage(10, 7, 100, 50)] * 2
    expected = (10 * 3 + 7 * 3.75 + 100 * 0.3 + 50 * 15) / 1e6
    assert [reply.cost_usd for reply in replies] == pytest.approx([expected, expected])


def test_what_is_kept_for_an_hour_is_told_in_the_beginning_only(calls: MakeCalls) -> None:
    used = {"input": 10, "cache_write": 7, "cache_write_1h": 5, "cache_read": 100, "output": 50}
    call = calls([{"reply": "a", "usage": used}])
    assert [reply.usage for reply in call()] == [Usage(10, 7, 100, 50, 5)]


def test_a_counter_that_comes_at_the_end_only_is_taken_from_there() -> None:
    accumulator, _ = taken(start(input_tokens=0, output_tokens=0), end("end_turn", input_tokens=9, output_tokens=4))
    assert accumulator.usage == Usage(input=9, output=4)


@pytest.mark.parametrize(
    ("pieces", "given"),
    [
        (['{"project": "kiln", "old', '_text": "a"}'], {"project": "kiln", "old_text": "a"}),
        (['{"project": "kiln", "new_te'], '{"project": "kiln", "new_te'),
        (['{"a": NaN}'], '{"a": NaN}'),
        (['{"a": 1e999}'], '{"a": 1e999}'),
        (['{"a": ', "[" * 60, "]" * 60, "}"], {"a": nested(60)}),
        (['{"a": ', "[" * 900, "]" * 900, "}"], '{"a": ' + "[" * 900 + "]" * 900 + "}"),
        (["[" * 100_000], "[" * 100_000),
        (["[]"], []),
        ([""], {}),
        ([], {}),
        (['{"text": "\\ud83d"}'], {"text": "\ufffd"}),
    ],
)
def test_an_input_is_json_as_a_whole_or_the_text_that_came(pieces: list[str], given: object) -> None:
    """Field case 55: a lenient reader would make half an input look valid."""
    accumulator, _ = taken(
        start(),
        block(0, type="tool_use", id="call_1", name="write", input={}),
        *(delta(0, "input_json_delta", partial_json=piece) for piece in pieces),
        end("max_tokens"),
        STOP,
    )
    assert accumulator.reply().content == (ToolUse("call_1", "write", given),)
    assert accumulator.reply().stop_reason == "max_tokens"


def test_an_input_cut_at_the_output_limit_says_so(calls: MakeCalls) -> None:
    given = {"project": "kiln", "new_text": "Fire at 1220."}
    call = calls([{"reply": [{"tool": "write", "input": given, "cut": 30}]}])
    [reply] = call()
    [use] = reply.content
    assert reply.stop_reason == "max_tokens" and isinstance(use, ToolUse)
    assert isinstance(use.input, str) and json.dumps(given).startswith(use.input)


def test_halves_of_a_character_are_joined_before_they_are_shown() -> None:
    accumulator, heard = taken(
        start(),
        block(0, type="text", text=""),
        delta(0, "text_delta", text="kiln \ud83d"),
        delta(0, "text_delta", text="\udd25!"),
        delta(0, "text_delta", text=" \ud83d"),
        end("end_turn"),
        STOP,
    )
    assert heard == ["", "", "kiln ", "🔥!", " ", "", ""]
    assert accumulator.reply().content == (Text("kiln 🔥! \ufffd"),)


def test_thoughts_and_blocks_of_other_kinds_are_kept_as_they_are() -> None:
    accumulator, heard = taken(
        start(),
        block(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="first "),
        delta(0, "thinking_delta", thinking="second"),
        delta(0, "signature_delta", signature="c2ln"),
        block(1, type="server_tool_use", id="srv_1", name="web_search", input={}),
        delta(1, "input_json_delta", partial_json='{"query": "kiln"}'),
        block(2, type="from_the_future", words="a"),
        delta(2, "future_delta", words="b", extra=[1]),
        end("a_reason_to_come"),
        STOP,
    )
    assert "".join(heard) == ""
    assert accumulator.reply().stop_reason == "a_reason_to_come"
    assert accumulator.reply().content == (
        Opaque({"type": "thinking", "thinking": "first second", "signature": "c2ln"}),
        Opaque({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "kiln"}}),
        Opaque({"type": "from_the_future", "words": "ab", "extra": [1]}),
    )


def test_without_its_end_a_reply_is_not_whole() -> None:
    accumulator, _ = taken(start(input_tokens=5), block(0, type="text", text="all of it"), end("end_turn"))
    assert not accumulator.whole


def test_an_error_in_the_stream_is_raised_with_its_type() -> None:
    with pytest.raises(StreamError) as caught:
        taken({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert (caught.value.answered.kind, caught.value.answered.message) == ("overloaded_error", "Overloaded")


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ping"},
        {"type": "from_the_future"},
        delta(7, "text_delta", text="a block that never began"),
        {"type": "content_block_start", "index": None, "content_block": None},
        {"type": "message_delta", "delta": None, "usage": "many"},
        {"type": "message_start", "message": []},
        {},
    ],
)
def test_what_is_not_understood_is_passed_over(event: dict[str, Any]) -> None:
    accumulator, heard = taken(event, STOP)
    assert accumulator.whole and heard == ["", ""] and accumulator.reply().content == ()


def test_a_message_in_one_piece_is_read_like_a_stream() -> None:
    whole = {
        "type": "message",
        "model": "m",
        "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "c", "name": "w", "input": {"a": 1}}],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    accumulator, heard = taken(*events_of(whole))
    assert accumulator.whole and "".join(heard) == "hi"
    assert accumulator.reply().content == (Text("hi"), ToolUse("c", "w", {"a": 1}))
    assert accumulator.reply().usage == Usage(input=3, output=2)


@pytest.mark.parametrize("body", [None, "<html>", [], {"error": "odd"}, {"error": {"type": 3}}])
def test_an_error_of_no_known_shape_is_read_as_far_as_it_goes(body: object) -> None:
    assert answered_in(body, 500).status == 500
