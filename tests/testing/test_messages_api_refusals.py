"""What the double refuses as the real API does, and what it takes."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from onepen.testing.messages_api import MessagesApi

MODEL = "claude-sonnet-5-5"
TOOL = {"name": "search", "description": "Looks things up.", "input_schema": {"type": "object"}}
MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


@pytest.fixture(scope="module")
def api() -> Iterator[MessagesApi]:
    with MessagesApi([{"reply": "x"}]) as server:
        yield server


@pytest.fixture(scope="module")
def client(api: MessagesApi) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=api.url, api_key="sk-test", max_retries=0, timeout=10) as made:
        yield made


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(id_: str, **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "search", "input": {}, **more}


def result(id_: str, content: Any = "found", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def send(client: anthropic.Anthropic, *messages: dict[str, Any], **options: Any) -> Any:
    """Nothing of the client's own signature gets into the way; a field set to None is left out."""
    body = {"model": MODEL, "max_tokens": 100, "messages": list(messages or [user(text("hi"))]), **options}
    body = {name: value for name, value in body.items() if value is not None}
    return client.post("/v1/messages", cast_to=object, body=body)


def refused(client: anthropic.Anthropic, *messages: dict[str, Any], **options: Any) -> str:
    with pytest.raises(anthropic.BadRequestError) as caught:
        send(client, *messages, **options)
    body: Any = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert body["request_id"] == caught.value.request_id
    return str(body["error"]["message"])


HI = user(text("hi"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"max_tokens": "9"}, "max_tokens: Input should be a valid integer"),
        ({"max_tokens": 64_001}, "max_tokens: 64001 > 64000, which is the maximum allowed number of output tokens"),
        ({"model": None}, "model: Field required"),
        ({"messages": None}, "messages: Field required"),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": "hi"}, "messages: Input should be a valid list"),
        ({"response_format": {}}, "response_format: Extra inputs are not permitted"),
        ({"temperature": 0.5}, "`temperature` is deprecated for this model."),
        ({"top_k": 5}, "`top_k` is deprecated for this model."),
        ({"stream": "yes"}, "stream: Input should be a valid boolean"),
        ({"system": [text("")]}, "system: text content blocks must be non-empty"),
        ({"system": [text(" \n")]}, "system: text content blocks must contain non-whitespace text"),
        ({"system": [{"type": "image", "source": {}}]}, "system.0: Input tag 'image' found"),
        ({"system": [text("a", name="b")]}, "system.0.text.name: Extra inputs are not permitted"),
        ({"tools": [{"name": "a"}]}, "tools.0.custom.input_schema: Field required"),
        ({"tools": [{**TOOL, "name": "a b"}]}, "tools.0.custom.name: String should match pattern"),
        ({"tools": [{**TOOL, "strictly": True}]}, "tools.0.custom.strictly: Extra inputs are not permitted"),
        ({"tools": [{**TOOL, "input_schema": {}}]}, "tools.0.custom.input_schema.type: Field required"),
        ({"tools": [{**TOOL, "input_schema": {"type": "array"}}]}, "input_schema.type: Input should be 'object'"),
        ({"tools": [TOOL, TOOL]}, "tools: Tool names must be unique."),
        ({"tools": [TOOL], "tool_choice": {"type": "tool", "name": "find"}}, "Tool 'find' not found in provided tools"),
        ({"tools": [TOOL], "tool_choice": {"type": "tool"}}, "tool_choice.tool.name: Field required"),
        ({"tools": [TOOL], "tool_choice": {"type": "must"}}, "tool_choice: Input tag 'must' found"),
        ({"tools": [TOOL], "tool_choice": {"type": "any", "name": "search"}}, "tool_choice.any.name: Extra inputs"),
    ],
)  # fmt: skip
def test_a_request_of_a_wrong_shape_is_refused(
    client: anthropic.Anthropic, options: dict[str, Any], words: str
) -> None:
    assert words in refused(client, **options)


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "user"}], "messages.0.content: Field required"),
        ([{"content": "a"}], "messages.0.role: Field required"),
        ([{"role": "tool", "content": "a"}], "messages.0.role: Input should be"),
        ([{**HI, "name": "ana"}], "messages.0.name: Extra inputs are not permitted"),
        ([user(text("hi", note=1))], "messages.0.content.0.text.note: Extra inputs are not permitted"),
        ([user({"type": "text"})], "messages.0.content.0.text.text: Field required"),
        ([user({"text": "a"})], "messages.0.content.0.type: Field required"),
        ([user({"type": "opaque", "raw": {}})], "messages.0.content.0: Input tag 'opaque' found using 'type'"),
        ([user(text(""))], "messages: text content blocks must be non-empty"),
        ([user(text(" \t\n"))], "messages: text content blocks must contain non-whitespace text"),
        ([{"role": "user", "content": " "}], "messages: text content blocks must contain non-whitespace text"),
        ([user()], "messages.0: user messages must have non-empty content"),
        ([HI, assistant(), HI], "messages.1: all messages must have non-empty content"),
        ([assistant(text("a")), HI], 'messages: first message must use the "user" role'),
        ([HI, assistant(text("a"))], "This model does not support assistant message prefill"),
        ([HI, assistant(call("a", input=[])), user(result("a"))], "messages.1.content.0.tool_use.input: Input should"),
        ([HI, assistant(call("a b")), user(result("a b"))], "messages.1.content.0.tool_use.id: String should match"),
        ([user(call("a"))], "messages.0: `tool_use` blocks can only be in `assistant` messages"),
        (
            [HI, assistant({"type": "thinking", "thinking": "hm", "signature": "none"}), HI],
            "messages.1.content.0: Invalid `signature` in `thinking` block",
        ),
    ],
)
def test_a_message_of_a_wrong_shape_is_refused(
    client: anthropic.Anthropic, messages: list[dict[str, Any]], words: str
) -> None:
    assert words in refused(client, *messages, tools=[TOOL])


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([HI, assistant(call("a"))], "messages.1: `tool_use` ids were found without `tool_result` blocks"),
        ([HI, assistant(call("a"), call("b")), user(result("a"))], "immediately after: b. Each `tool_use` block must"),
        ([HI, assistant(call("a")), user(text("well"), result("a"))], "immediately after: a."),
        ([HI, assistant(call("a")), HI, assistant(text("b")), user(result("a"))], "messages.1: `tool_use` ids were"),
        ([user(result("a"))], "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a."),
        ([HI, assistant(call("a")), user(result("a"), result("b"))], "messages.2.content.1: unexpected `tool_use_id`"),
        ([HI, assistant(call("a")), user(result("a"), result("a"))], "each tool_use must have a single result."),
        (
            [HI, assistant(call("a")), user(result("a")), assistant(call("a")), user(result("a"))],
            "messages.3.content.0: `tool_use` ids must be unique",
        ),
        ([HI, assistant(call("a")), user(result("a", [text("")]))], "messages: text content blocks must be non-empty"),
        ([HI, assistant(call("a")), user(result("a", why=1))], "messages.2.content.0.tool_result.why: Extra inputs"),
    ],
)  # fmt: skip
def test_a_call_needs_its_one_result_in_the_next_message(
    client: anthropic.Anthropic, messages: list[dict[str, Any]], words: str
) -> None:
    assert words in refused(client, *messages, tools=[TOOL])


def test_calls_need_their_tools(client: anthropic.Anthropic) -> None:
    assert "must define tools" in refused(client, HI, assistant(call("a")), user(result("a")))


@pytest.mark.parametrize(
    "messages",
    [
        [HI, HI, assistant(text("a")), assistant(text("b")), HI],
        [HI, assistant(text("a"), call("a"), call("b")), user(result("b"), result("a", is_error=True), text("so"))],
        [HI, assistant(call("a"), call("b")), user(result("a")), user(result("b", ""))],
        [HI, assistant(call("a")), user(result("a", [text("found")]))],
        [HI, {"role": "system", "content": "from now on in French"}, HI],
    ],
)
def test_what_the_api_takes_is_taken(client: anthropic.Anthropic, messages: list[dict[str, Any]]) -> None:
    """Messages of one side that follow each other are one turn."""
    assert send(client, *messages, tools=[TOOL])["type"] == "message"


def test_other_models_take_what_new_ones_do_not(client: anthropic.Anthropic) -> None:
    old = {"model": "claude-haiku-4-5"}
    assert send(client, HI, assistant(text("It is")), temperature=0.5, **old)["type"] == "message"
    assert "trailing whitespace" in refused(client, HI, assistant(text("It is ")), **old)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"tools": [{**TOOL, **MARK}], "system": [text("a", **MARK), text("b", **MARK)], **MARK,
             "messages": [user(text("c", **MARK))]},
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            {"system": [text("a", **MARK)], "messages": [user(text("c", **LONG))]},
            "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m'",
        ),
        ({"system": [text("a", **LONG)], "tools": [{**TOOL, **MARK}]}, "system.0.cache_control.ttl: a ttl='1h'"),
        ({"system": [text("", **MARK)]}, "system.0.text: cache_control cannot be set for empty text blocks"),
        ({"system": [text("a", cache_control={"type": "ephemeral", "ttl": "2h"})]}, "Input should be '5m' or '1h'"),
        (
            {"system": [text("a", cache_control={"type": "ephemeral", "scope": "all"})]},
            "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted",
        ),
        (
            {"messages": [HI, assistant({"type": "thinking", "thinking": "", "signature": "", **MARK}), HI]},
            "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
        ),
    ],
)  # fmt: skip
def test_wrong_marks_are_refused(client: anthropic.Anthropic, options: dict[str, Any], words: str) -> None:
    assert words in refused(client, **options)


def test_four_marks_from_long_to_short_are_taken(client: anthropic.Anthropic) -> None:
    system = [text("a", **LONG), text("b", **MARK)]
    inner = user(result("a", [text("found", **MARK)]))
    assert send(client, HI, assistant(call("a")), inner, tools=[{**TOOL, **LONG}], system=system)


def post(api: MessagesApi, body: bytes, **headers: str) -> tuple[int, dict[str, Any]]:
    """As no client would send it."""
    connection = http.client.HTTPConnection("127.0.0.1", int(api.url.rpartition(":")[2]), timeout=10)
    said = {"x-api-key": "k", "anthropic-version": "2026-10-21", **headers}
    connection.request("POST", "/v1/messages", body, {name: value for name, value in said.items() if value})
    answer = connection.getresponse()
    found = (answer.status, json.loads(answer.read()))
    connection.close()
    return found


def body(words: str) -> bytes:
    return json.dumps({"model": MODEL, "max_tokens": 9, "messages": [{"role": "user", "content": words}]}).encode()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (body("a").replace(b'"a"', b'"\\ud83d"'), "no low surrogate in string: line 1 column"),
        (body("a").replace(b'"a"', b'"\xff"'), "The request body is not valid JSON"),
        (body("a")[:-1], "The request body is not valid JSON"),
        (body("a").replace(b"9", b"NaN"), "The request body is not valid JSON"),
        (b"[]", "Input should be a valid dictionary"),
    ],
)
def test_what_is_not_text_or_json_is_refused(api: MessagesApi, raw: bytes, words: str) -> None:
    status, said = post(api, raw)
    assert (status, said["error"]["type"]) == (400, "invalid_request_error")
    assert words in said["error"]["message"]


def test_a_whole_character_in_two_escapes_is_taken(api: MessagesApi) -> None:
    assert b"\\ud83d\\udd25" in body("🔥")
    assert post(api, body("🔥"))[0] == 200


def test_a_request_that_is_too_large_is_refused(api: MessagesApi) -> None:
    status, said = post(api, body("a" * (32 * 1024 * 1024)))
    assert (status, said["error"]["type"]) == (413, "request_too_large")


def test_strangers_are_refused(api: MessagesApi) -> None:
    assert post(api, body("a"), **{"x-api-key": ""})[0] == 401
    status, said = post(api, body("a"), **{"anthropic-version": ""})
    assert (status, said["error"]["message"]) == (400, "anthropic-version: header is required")


def test_only_the_one_key_is_taken() -> None:
    with MessagesApi([{"reply": "x"}], key="sk-right") as api:
        assert api.env == {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "sk-right"}
        with anthropic.Anthropic(base_url=api.url, api_key="sk-right", max_retries=0) as right:
            assert send(right)
        with (
            anthropic.Anthropic(base_url=api.url, auth_token="sk-wrong", max_retries=0) as wrong,
            pytest.raises(anthropic.AuthenticationError, match="invalid x-api-key"),
        ):
            send(wrong)


def test_counting_tokens_judges_the_same(client: anthropic.Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="immediately after: a"):
        client.post(
            "/v1/messages/count_tokens", cast_to=object,
            body={"model": MODEL, "messages": [HI, assistant(call("a"))], "tools": [TOOL]},
        )  # fmt: skip


def test_a_lenient_double_takes_everything_that_is_json() -> None:
    with (
        MessagesApi([{"reply": "x"}], strict=False) as api,
        anthropic.Anthropic(base_url=api.url, api_key="x", max_retries=0) as client,
    ):
        assert send(client, HI, assistant(call("a")), max_tokens=None, system=[text("")])


def test_what_the_double_said_is_taken_back_as_it_was() -> None:
    """Thoughts with their signature, kinds of blocks that nobody else knows, a turn that was only paused."""
    own = {"type": "hologram", "light": 1}
    rules = [
        {"turn": 1, "reply": [{"thinking": "hm"}, {"block": own}], "stop_reason": "pause_turn"},
        {"turn": 2, "reply": "x"},
    ]
    with (
        MessagesApi(rules) as api,
        anthropic.Anthropic(base_url=api.url, api_key="x", max_retries=0) as client,
    ):
        content = send(client)["content"]
        assert send(client, HI, {"role": "assistant", "content": content})["content"][0]["text"] == "x"
        assert "prefill" in refused(client, HI, {"role": "assistant", "content": content[:1]})
        changed = [{**content[0], "thinking": "ha"}, content[1]]
        assert "Invalid `signature`" in refused(client, HI, {"role": "assistant", "content": changed}, HI)
