"""The double of the Messages API, asked by the real client: replies, rules, records."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import pytest

from onepen.testing.messages_api import Asked, MessagesApi, RulesUnreadable

MODEL = "claude-sonnet-5-5"
TOOLS = [{"name": "search", "description": "Looks things up.", "input_schema": {"type": "object"}}]

Start = Callable[..., tuple[MessagesApi, anthropic.Anthropic]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a double with rules and a client for it."""
    with ExitStack() as stack:

        def make(*rules: Any, **options: Any) -> tuple[MessagesApi, anthropic.Anthropic]:
            api = stack.enter_context(MessagesApi(rules, **options))
            client = anthropic.Anthropic(base_url=api.url, api_key="sk-test", max_retries=0, timeout=10)
            return api, stack.enter_context(client)

        yield make


def request(text: str = "hello", **options: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": text}], **options}


def ask(client: anthropic.Anthropic, text: str = "hello", **options: Any) -> anthropic.types.Message:
    message: anthropic.types.Message = client.messages.create(**request(text, **options))
    return message


def stream(client: anthropic.Anthropic, text: str = "hello", **options: Any) -> anthropic.types.Message:
    with client.messages.stream(**request(text, **options)) as heard:
        return heard.get_final_message()


def events(client: anthropic.Anthropic, text: str = "hello", **options: Any) -> list[dict[str, Any]]:
    """The events of a stream as they came, pings included."""
    answer = client.messages.with_raw_response.create(**request(text, stream=True, **options)).http_response
    return [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]


def words(message: anthropic.types.Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


@pytest.mark.parametrize("said", [ask, stream])
def test_a_reply_of_every_kind_of_block_comes_whole_and_streamed(start: Start, said: Callable[..., Any]) -> None:
    reply = [
        {"thinking": "hm, cones…"}, {"text": "é" * 1000}, {"tool": "search", "input": {"query": "cone 6 🔥", "n": [1]}},
        {"block": {"type": "redacted_thinking", "data": "xyz"}},
    ]  # fmt: skip
    _, client = start({"reply": reply})
    message = said(client, tools=TOOLS)
    thought, text, call, hidden = (block.to_dict() for block in message.content)
    assert (thought["type"], thought["thinking"], bool(thought["signature"])) == ("thinking", "hm, cones…", True)
    assert text["text"] == "é" * 1000
    assert (call["name"], call["input"]) == ("search", {"query": "cone 6 🔥", "n": [1]})
    assert call["id"].startswith("toolu_")
    assert hidden == {"type": "redacted_thinking", "data": "xyz"}
    assert (message.stop_reason, message.model, message.role) == ("tool_use", MODEL, "assistant")


def test_a_stream_has_all_events_in_their_order(start: Start) -> None:
    _, client = start({"reply": [{"text": "good day"}, {"tool": "search", "input": {"q": 1}}]})
    seen = events(client, tools=TOOLS)
    assert [event["type"] for event in seen] == [
        "message_start", "ping",
        "content_block_start", "content_block_delta", "content_block_stop",
        "content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert [event["index"] for event in seen if "index" in event] == [0, 0, 0, 1, 1, 1, 1]
    assert seen[0]["message"]["content"] == []
    assert seen[0]["message"]["stop_reason"] is None
    assert "".join(e["delta"]["partial_json"] for e in seen[6:8]) == '{"q": 1}'
    assert seen[-2]["delta"]["stop_reason"] == "tool_use"


def test_usage_is_what_the_rule_says_and_streamed_counts_are_running_totals(start: Start) -> None:
    usage = {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50, "steps": [20], "thinking": 5}
    _, client = start({"reply": "x", "usage": usage})
    for message in (ask(client), stream(client)):
        found = message.usage
        assert (found.input_tokens, found.cache_creation_input_tokens) == (10, 7)
        assert (found.cache_read_input_tokens, found.output_tokens) == (100, 50)
        assert found.cache_creation is not None
        assert found.cache_creation.ephemeral_5m_input_tokens == 7
        assert found.output_tokens_details is not None
        assert found.output_tokens_details.thinking_tokens == 5
    seen = events(client)
    counted = [event["usage"] for event in seen if event["type"] == "message_delta"]
    assert seen[0]["message"]["usage"]["output_tokens"] == 1
    assert [usage["output_tokens"] for usage in counted] == [20, 50]
    assert {usage["input_tokens"] for usage in counted} == {10}


def test_a_server_may_know_nothing_of_caches(start: Start) -> None:
    _, client = start({"reply": "x", "usage": {"input": 9, "output": 1, "cache_write": None, "cache_read": None}})
    assert ask(client).usage.cache_read_input_tokens is None
    assert "cache_creation_input_tokens" not in events(client)[-2]["usage"]


def test_rules_are_chosen_by_words_model_tool_turn_and_number(start: Start) -> None:
    api, client = start(
        {"nth": 1, "reply": "the first"},
        {"system_contains": "kiln", "reply": "by system"},
        {"last_contains": "glaze", "reply": "by last"},
        {"contains": "loom", "reply": "by words"},
        {"forced": "search", "reply": "by tool"},
        {"model": "claude-haiku-5-5", "reply": "by model"},
        {"turn": 2, "reply": "by turn"},
        {"times": 1, "reply": "once"},
        {"reply": "else"},
    )
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a loom"}]}
    call = {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "search", "input": {}}]}
    then = [
        {"role": "user", "content": "glaze"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "b"},
    ]
    assert words(ask(client, "kiln")) == "the first"
    assert words(ask(client, "x", system=[{"type": "text", "text": "a kiln\n"}])) == "by system"
    assert words(ask(client, "glaze")) == "by last"
    assert words(ask(client, tools=TOOLS, messages=[{"role": "user", "content": "?"}, call, result])) == "by words"
    assert words(ask(client, tools=TOOLS, tool_choice={"type": "tool", "name": "search"})) == "by tool"
    assert words(ask(client, model="claude-haiku-5-5")) == "by model"
    assert words(ask(client, messages=then)) == "by turn"
    assert [words(ask(client)), words(ask(client))] == ["once", "else"]
    assert [seen.rule for seen in api.requests] == [0, 1, 2, 3, 4, 5, 6, 7, 8]


def test_a_rule_may_be_a_function(start: Start) -> None:
    def echo(asked: Asked) -> dict[str, object] | None:
        return {"reply": asked.last.upper()} if asked.n == 2 else None

    _, client = start(echo, {"reply": "else"})
    assert [words(ask(client, "hi")) for _ in range(3)] == ["else", "HI", "else"]


def test_what_a_function_raises_is_raised_at_the_end() -> None:
    def wrong(asked: Asked) -> None:
        raise KeyError(asked.last)

    with (
        pytest.raises(KeyError, match="hello"),
        MessagesApi([wrong]) as api,
        anthropic.Anthropic(base_url=api.url, api_key="x", max_retries=0) as client,
        pytest.raises(anthropic.APIConnectionError),
    ):
        ask(client)


def test_a_question_without_a_rule_is_told_at_once(start: Start) -> None:
    _, client = start({"turn": 7, "reply": "x"})
    with pytest.raises(anthropic.BadRequestError, match="no rule of the double fits request 1, turn 1"):
        ask(client)


def test_rules_can_be_changed_while_it_runs(start: Start) -> None:
    api, client = start({"nth": 1, "reply": "one"})
    assert words(ask(client)) == "one"
    api.say([{"nth": 1, "reply": "two"}])
    assert words(ask(client)) == "two"


def test_a_request_is_kept_byte_for_byte(start: Start, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    api, client = start({"reply": "x"}, record=record)
    ask(client, "Größe 🔥")
    ask(client, "again")
    first, second = api.wait_for(2)
    assert (first.n, first.to, first.status, first.rule, first.connection) == (1, "messages", 200, 0, 1)
    assert first.request.raw_head.startswith(b"POST /v1/messages HTTP/1.1\r\n")
    assert json.loads(first.raw) == first.body
    assert first.body["messages"][0]["content"] == "Größe 🔥"
    assert first.headers["authorization"] == "Bearer sk-test"
    assert second.connection == 1, "the connection is kept"
    assert second.at >= first.at
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["n"] for line in lines] == [1, 2]
    assert lines[0]["body"].encode() == first.raw
    assert lines[0]["path"] == "/v1/messages"


def test_waiting_for_requests_ends(start: Start) -> None:
    api, _ = start()
    with pytest.raises(TimeoutError, match="0 of 1 requests"):
        api.wait_for(1, seconds=0.01)


def test_tokens_are_counted_and_models_listed(start: Start) -> None:
    api, client = start(models=("tiny", "small", "large"))
    counted = client.messages.count_tokens(model="tiny", messages=[{"role": "user", "content": "x" * 400}])
    assert 100 <= counted.input_tokens <= 130
    assert [model.id for model in client.models.list(limit=2)] == ["tiny", "small", "large"], "in two pages"
    assert client.models.retrieve("small").max_tokens == 64_000
    with pytest.raises(anthropic.NotFoundError, match="model: huge"):
        client.models.retrieve("huge")
    with pytest.raises(anthropic.NotFoundError, match="model: claude-sonnet-5-5"):
        ask(client)
    assert [seen.to for seen in api.requests] == ["count_tokens", "models", "models", "model", "model", "messages"]
    assert len(api.asked) == 1


def test_the_endpoints_beside_can_fail_too(start: Start) -> None:
    _, client = start({"to": "models", "fault": 500}, {"to": "count_tokens", "fault": 404})
    with pytest.raises(anthropic.InternalServerError):
        client.models.list()
    with pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "x"}])


def test_nothing_is_generated_to_fill_a_cache(start: Start) -> None:
    _, client = start({"turn": 2, "reply": "x"})
    message = ask(client, max_tokens=0)
    assert (message.content, message.stop_reason, message.usage.output_tokens) == ([], "max_tokens", 0)


def test_a_hundred_requests_are_answered_at_once(start: Start) -> None:
    """Each reply is held back until all requests are there."""
    api, client = start({"reply": "x", "delay": 2.0})
    threads = [threading.Thread(target=stream, args=(client,)) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(api.requests) == 100
    assert api.most_at_once > 50


def test_rules_that_are_none_are_refused_with_their_place() -> None:
    with pytest.raises(RulesUnreadable, match=r"rule 1: reply\.0\.words: Extra inputs"):
        MessagesApi([{"reply": "x"}, {"reply": [{"words": "x"}]}])
    with pytest.raises(RulesUnreadable, match=r"rule 0: fault\.kind"):
        MessagesApi([{"fault": "earthquake"}])


def test_importing_it_leaves_the_real_library_alone() -> None:
    code = "import sys, onepen.testing.messages_api; sys.exit('anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
