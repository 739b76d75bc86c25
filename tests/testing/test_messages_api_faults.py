"""The faults that the double has on demand, as the real client meets them."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpx2
import pytest

from onepen.testing.messages_api import MessagesApi

MODEL = "claude-sonnet-5-5"
LONG = "A long reply that comes in several parts, so that it can break off between two of them."
CALL = {"tool": "write_draft", "input": {"name": "a", "text": LONG}}
TOOLS: Any = [{"name": "write_draft", "description": "Writes.", "input_schema": {"type": "object"}}]
DROPPED = (anthropic.APIConnectionError, httpx2.TransportError)

Start = Callable[..., tuple[MessagesApi, anthropic.Anthropic]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a double with rules and a client for it."""
    with ExitStack() as stack:

        def make(*rules: Any, **options: Any) -> tuple[MessagesApi, anthropic.Anthropic]:
            api = stack.enter_context(MessagesApi(rules))
            options = {"max_retries": 0, "timeout": 10, **options}
            client = anthropic.Anthropic(base_url=api.url, api_key="sk-test", **options)
            return api, stack.enter_context(client)

        yield make


def request(**options: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}], **options}


def ask(client: anthropic.Anthropic) -> anthropic.types.Message:
    message: anthropic.types.Message = client.messages.create(**request(tools=TOOLS))
    return message


def heard(client: anthropic.Anthropic) -> tuple[list[dict[str, Any]], bool]:
    """The events of a stream, and whether it ended in order."""
    events: list[dict[str, Any]] = []
    try:
        with client.messages.with_streaming_response.create(**request(tools=TOOLS, stream=True)) as answer:
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line[6:]))
    except DROPPED:
        return events, False
    return events, True


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def written(events: list[dict[str, Any]]) -> str:
    """The words of a reply as far as they came."""
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


@pytest.mark.parametrize(
    ("status", "raised", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (402, anthropic.APIStatusError, "billing_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (408, anthropic.APIStatusError, "timeout_error"),
        (413, anthropic.APIStatusError, "request_too_large"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (503, anthropic.InternalServerError, "api_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ],
)
def test_an_answer_may_have_any_status(start: Start, status: int, raised: type[Exception], kind: str) -> None:
    api, client = start({"fault": status})
    with pytest.raises(raised) as caught:
        ask(client)
    error: Any = caught.value
    assert (error.status_code, error.body["error"]["type"]) == (status, kind)
    assert "retry-after" not in error.response.headers
    assert api.requests[0].status == status


def header(start: Start, name: str, **fault: Any) -> str:
    _, client = start({"fault": {"status": 429, **fault}})
    with pytest.raises(anthropic.RateLimitError) as caught:
        ask(client)
    return str(caught.value.response.headers[name])


@pytest.mark.parametrize("said", [20, 0.5, "soon", 7 * 24 * 3600])
def test_retry_after_says_what_it_is_told(start: Start, said: object) -> None:
    assert header(start, "retry-after", retry_after=said) == str(said)


def test_retry_after_may_be_a_date(start: Start) -> None:
    at = parsedate_to_datetime(header(start, "retry-after", retry_after="{date+20}"))
    assert timedelta(seconds=15) < at - datetime.now(UTC) <= timedelta(seconds=20)


def test_the_server_may_say_whether_to_try_again(start: Start) -> None:
    assert header(start, "x-should-retry", should_retry=False) == "false"


def test_a_spend_cap_is_a_429_with_a_code(start: Start) -> None:
    _, client = start({"fault": "spend_cap"})
    with pytest.raises(anthropic.RateLimitError, match="API usage limits") as caught:
        ask(client)
    assert caught.value.error_code == "enforced_spend_limit_reached"


def test_an_error_may_have_words_a_type_and_a_code_of_its_own(start: Start) -> None:
    fault = {"status": 400, "type": "billing_error", "message": "no money", "code": "organization_on_hold"}
    _, client = start({"fault": fault})
    with pytest.raises(anthropic.BadRequestError, match="no money") as caught:
        ask(client)
    assert caught.value.error_code == "organization_on_hold"


def test_rate_limit_headers_come_with_any_answer(start: Start) -> None:
    headers = {"anthropic-ratelimit-requests-remaining": "3", "anthropic-ratelimit-requests-reset": "{now+60}"}
    _, client = start({"reply": "x", "headers": headers, "nth": 1}, {"fault": 529, "headers": headers})
    said = client.messages.with_raw_response.create(**request()).headers
    assert said["anthropic-ratelimit-requests-remaining"] == "3"
    reset = datetime.fromisoformat(said["anthropic-ratelimit-requests-reset"])
    assert timedelta(seconds=55) < reset - datetime.now(UTC) <= timedelta(seconds=60)
    with pytest.raises(anthropic.InternalServerError) as caught:
        ask(client)
    assert caught.value.response.headers["anthropic-ratelimit-requests-remaining"] == "3"


def test_a_page_of_a_proxy_is_no_json(start: Start) -> None:
    _, client = start({"fault": "not_json"})
    with pytest.raises(anthropic.InternalServerError) as caught:
        ask(client)
    assert (caught.value.status_code, caught.value.body) == (502, "<html><body><h1>502 Bad Gateway</h1></body></html>")


@pytest.mark.parametrize(("kind", "cause"), [("reset", "Connection reset by peer"), ("hang_up", "Server disconnected")])
def test_a_connection_may_end_without_an_answer(start: Start, kind: str, cause: str) -> None:
    api, client = start({"times": 1, "fault": kind}, {"reply": "x"})
    with pytest.raises(anthropic.APIConnectionError) as caught:
        ask(client)
    assert cause in str(caught.value.__cause__)
    assert ask(client).stop_reason == "end_turn"
    assert [(seen.status, seen.connection) for seen in api.requests] == [(0, 1), (200, 2)]


def test_a_server_may_stay_silent(start: Start) -> None:
    _, client = start({"fault": "silent"}, timeout=0.1)
    with pytest.raises(anthropic.APITimeoutError):
        ask(client)


def test_a_port_may_be_closed_for_a_while(start: Start) -> None:
    api, client = start({"times": 1, "fault": {"kind": "refuse", "seconds": 0.3}}, {"reply": "x"})
    refused = 0
    while True:
        try:
            ask(client)
            break
        except anthropic.APIConnectionError:
            refused += 1
            time.sleep(0.02)
    assert refused > 2
    assert len(api.requests) == 2, "nothing was heard of the others"


def test_a_server_may_be_away(start: Start) -> None:
    api, client = start({"reply": "x"})
    ask(client)
    with api.away(), pytest.raises(anthropic.APIConnectionError):
        ask(client)
    assert ask(client).stop_reason == "end_turn"
    assert len(api.requests) == 2


@pytest.mark.parametrize(
    ("at", "last", "complete"),
    [
        ("start", "ping", 0),
        ("middle", "content_block_delta", 1),
        ("block", "content_block_stop", 2),
        ("delta", "message_delta", 2),
        (4, "content_block_delta", 0),
    ],
)
def test_a_stream_may_end_without_its_end(start: Start, at: str | int, last: str, complete: int) -> None:
    _, client = start({"reply": [{"text": LONG}, CALL], "fault": {"kind": "cut", "at": at}})
    events, in_order = heard(client)
    assert in_order, "as if it were whole"
    assert (kinds(events)[-1], kinds(events).count("content_block_stop")) == (last, complete)


def test_a_stream_may_be_reset(start: Start) -> None:
    _, client = start({"reply": LONG, "fault": "reset_in_reply"})
    events, in_order = heard(client)
    assert not in_order
    assert kinds(events)[-1] == "content_block_delta"
    assert 0 < len(written(events)) < len(LONG)


@pytest.mark.parametrize(("at", "before"), [("middle", "content_block_delta"), ("block", "content_block_stop")])
def test_an_error_may_come_after_a_200(start: Start, at: str, before: str) -> None:
    """Also after a call of a tool that is complete."""
    api, client = start({"reply": [CALL], "fault": {"kind": "error_event", "at": at}})
    events, _ = heard(client)
    assert kinds(events)[-2:] == [before, "error"]
    assert events[-1]["error"]["type"] == "overloaded_error"
    assert api.requests[0].status == 200
    with pytest.raises(anthropic.APIStatusError) as caught, client.messages.stream(**request(tools=TOOLS)) as stream:
        stream.get_final_message()
    assert caught.value.status_code == 200


def test_a_reply_in_one_piece_has_its_error_as_a_status(start: Start) -> None:
    _, client = start({"reply": LONG, "fault": "error_event"})
    with pytest.raises(anthropic.InternalServerError) as caught:
        ask(client)
    assert caught.value.status_code == 529


@pytest.mark.parametrize("kind", ["cut", "reset_in_reply"])
def test_a_reply_in_one_piece_may_break_off(start: Start, kind: str) -> None:
    _, client = start({"reply": LONG, "fault": kind})
    with pytest.raises(DROPPED):
        ask(client)


def test_a_reply_may_come_drop_by_drop(start: Start) -> None:
    _, client = start({"reply": LONG, "fault": {"kind": "drip", "bytes": 100, "seconds": 0.02}})
    begun = time.monotonic()
    events, in_order = heard(client)
    assert in_order
    assert written(events) == LONG
    assert time.monotonic() - begun > 0.2
    message = ask(client)
    assert [block.to_dict()["text"] for block in message.content] == [LONG]


def test_silence_in_a_stream_can_be_longer_than_a_client_waits(start: Start) -> None:
    _, client = start({"reply": LONG, "pace": 5}, timeout=httpx2.Timeout(10, read=0.1))
    events, in_order = heard(client)
    assert not in_order
    assert kinds(events) == ["message_start"]


def test_an_answer_may_begin_late(start: Start) -> None:
    _, client = start({"reply": "x", "delay": 0.15})
    begun = time.monotonic()
    ask(client)
    assert time.monotonic() - begun > 0.15


def test_the_input_of_a_tool_may_be_cut_at_max_tokens(start: Start) -> None:
    text = json.dumps({"name": "a", "old_text": "b", "new_text": "c"})
    for cut, whole in ((text.index("new_te") + 6, {"name": "a", "old_text": "b"}), (5, {})):
        _, client = start({"reply": [{"text": "well"}, {"tool": "write_draft", "input": json.loads(text), "cut": cut}]})
        message = ask(client)
        assert (message.stop_reason, message.content[1].to_dict()["input"]) == ("max_tokens", whole)
        events, _ = heard(client)
        parts = [e["delta"]["partial_json"] for e in events if e.get("delta", {}).get("type") == "input_json_delta"]
        assert "".join(parts) == text[:cut]
        assert kinds(events)[-3:] == ["content_block_stop", "message_delta", "message_stop"]


@pytest.mark.parametrize("wrong", ['{"name": "a",}', "[]", "no JSON", '"a"'])
def test_the_input_of_a_tool_may_be_none(start: Start, wrong: str) -> None:
    _, client = start({"reply": [{"tool": "write_draft", "input_json": wrong}]})
    events, _ = heard(client)
    parts = [e["delta"]["partial_json"] for e in events if e.get("delta", {}).get("type") == "input_json_delta"]
    assert "".join(parts) == wrong
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_refusal_may_be_empty_or_come_after_words(start: Start) -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "no"}
    refusal = {"stop_reason": "refusal", "stop_details": details}
    _, client = start({"nth": 1, **refusal}, {"reply": "Well, ", **refusal})
    empty = ask(client)
    assert (empty.content, empty.stop_reason) == ([], "refusal")
    assert empty.stop_details is not None
    assert empty.stop_details.explanation == "no"
    events, _ = heard(client)
    assert written(events) == "Well, "
    assert events[-2]["delta"] == {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}


@pytest.mark.parametrize("reason", ["pause_turn", "stop_sequence", "model_context_window_exceeded", "tired"])
def test_a_reply_may_stop_for_any_reason(start: Start, reason: str) -> None:
    _, client = start({"reply": "x", "stop_reason": reason})
    assert ask(client).stop_reason == reason
    assert heard(client)[0][-2]["delta"]["stop_reason"] == reason


def test_a_fault_may_be_over_after_a_while(start: Start) -> None:
    _, client = start({"within": 0.2, "fault": {"status": 429, "retry_after": 0.2}}, {"reply": "x"}, max_retries=2)
    assert ask(client).stop_reason == "end_turn"


def test_that_while_begins_with_the_first_request_to_the_endpoint() -> None:
    """A client that lists the models long before it asks gets the fault all the same."""
    now = [0.0]
    rules: list[dict[str, object]] = [{"within": 5, "fault": 429}, {"reply": "x"}]
    with MessagesApi(rules, clock=lambda: now[0]) as api:
        with anthropic.Anthropic(base_url=api.url, api_key="sk-test", max_retries=0, timeout=10) as client:
            client.models.list()
            for now[0] in (10.0, 15.0, 15.1):
                with suppress(anthropic.RateLimitError):
                    ask(client)
        assert [seen.status for seen in api.requests] == [200, 429, 429, 200]


def test_requests_may_be_limited_to_some_a_second() -> None:
    """By the double's own clock, so that what the machine does meanwhile doesn't count."""
    came = [0.0]
    with MessagesApi([{"sooner_than": 0.2, "fault": 429}, {"reply": "x"}], clock=lambda: came[-1]) as api:
        with anthropic.Anthropic(base_url=api.url, api_key="sk-test", max_retries=0, timeout=10) as client:
            for moment in (0.0, 0.1, 0.19, 0.2, 0.3, 0.39, 0.4, 5.0):
                came.append(moment)
                with suppress(anthropic.RateLimitError):
                    ask(client)
        assert [seen.status for seen in api.requests] == [200, 429, 429, 200, 429, 429, 200, 200]
