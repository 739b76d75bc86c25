"""The double says why a prompt could not begin as the one before it, as the API documents it."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from onepen.testing.messages_api.decider import Decider
from onepen.testing.messages_api.http import Request
from onepen.testing.messages_api.seen import endpoint

MARK: Any = {"cache_control": {"type": "ephemeral"}}
RULES = {"type": "text", "text": "rule " * 3000, **MARK}
TOOL = {"name": "look", "input_schema": {"type": "object"}}
BASE: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 10,
    "system": [RULES],
    "tools": [TOOL],
    "messages": [{"role": "user", "content": "hi"}],
}


class Server:
    """The double without its network."""

    def __init__(self, *rules: Mapping[str, Any], cache: bool = True) -> None:
        self._decider = Decider(rules or ({"reply": "x"},), cache=cache)

    def ask(self, before: str | None = None, **changes: Any) -> dict[str, Any]:
        return self.take({**BASE, **changes, "diagnostics": {"previous_message_id": before}})

    def take(self, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}
        request = Request("POST", "/v1/messages", headers, b"", json.dumps(body).encode())
        assert endpoint(request) == "messages"
        answer = self._decider.decide(request, "req_1", 0.0)
        self._decider.begins(answer, 0.0)
        found: dict[str, Any] = json.loads(b"".join(answer.parts))
        return found


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "assistant" if k % 2 else "user", "content": text} for k, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": "claude-opus-5-5"}, "model_changed"),
        ({"system": [{**RULES, "text": RULES["text"] + "!"}]}, "system_changed"),
        ({"tools": [{**TOOL, "description": "Looks."}]}, "tools_changed"),
        ({"tools": [{**TOOL, "description": "Looks."}], "system": []}, "tools_changed"),
        ({"messages": said("ho", "x", "on")}, "messages_changed"),
        ({"messages": said("ho")}, "messages_changed"),
        ({"tool_choice": {"type": "any"}}, "unavailable"),
    ],
)
def test_the_first_thing_that_differs_is_told(changes: dict[str, Any], reason: str) -> None:
    server = Server()
    first = server.ask()
    told = server.ask(first["id"], **changes)["diagnostics"]["cache_miss_reason"]
    assert told["type"] == reason
    assert ("cache_missed_input_tokens" in told) == (reason != "unavailable")


def test_what_was_read_all_the_same_is_not_missed() -> None:
    """The layers are read again; what the conversation had marked is not."""
    server = Server()
    long = {"role": "user", "content": [{"type": "text", "text": "word " * 4000, **MARK}]}
    first = server.ask(messages=[long])
    told = server.ask(first["id"], messages=said("other"))["diagnostics"]["cache_miss_reason"]
    assert told["type"] == "messages_changed"
    assert 4_000 < told["cache_missed_input_tokens"] < 6_000


@pytest.mark.parametrize("changes", [{}, {"messages": said("hi", "x", "on")}, {"max_tokens": 99}])
def test_a_conversation_that_goes_on_has_missed_nothing(changes: dict[str, Any]) -> None:
    server = Server()
    first = server.ask()
    assert first["diagnostics"] is None
    assert server.ask(first["id"], **changes)["diagnostics"] is None


def test_marks_are_no_part_of_a_prompt() -> None:
    server = Server()
    first = server.ask()
    unmarked = {"type": "text", "text": RULES["text"]}
    assert server.ask(first["id"], system=[unmarked])["diagnostics"] is None


def test_only_a_request_that_asked_is_kept() -> None:
    server = Server()
    first = server.take(BASE)
    told = server.ask(first["id"])["diagnostics"]
    assert told == {"cache_miss_reason": {"type": "previous_message_not_found"}}
    assert first["diagnostics"] is None


def test_a_rule_may_say_it_itself() -> None:
    server = Server({"reply": "x", "diagnostics": {"cache_miss_reason": None}})
    assert server.ask()["diagnostics"] == {"cache_miss_reason": None}


@pytest.mark.parametrize("asked", ["msg_1", {"previous_message_id": 1}, {"previous": "msg_1"}])
def test_other_diagnostics_are_refused(asked: object) -> None:
    found = Server().take({**BASE, "diagnostics": asked})
    assert found["error"]["message"].startswith("diagnostics")
