"""What not each server takes is left out for one that refuses it, and only for that; nothing fails for it."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from onepen.orchestrator.gateway.extras import Extras, Understood
from onepen.orchestrator.gateway.failure import CallFailed, CallNeeds
from onepen.subagents.model import Caching, Miss
from onepen.testing.messages_api import Asked
from onepen.testing.messages_api.marks import marks

from .conftest import Calls, MakeCalls, request

HOUR = Caching((0, 1), "1h", "1h")
ASKS = {"diagnostics": True}
ByHand = Callable[[Asked], Mapping[str, Any] | None]


def refuses(*words: str, message: str = "{word}: Extra inputs are not permitted", status: int = 400) -> ByHand:
    """A server that takes no request with one of these words in it."""

    def rule(asked: Asked) -> Mapping[str, Any]:
        found = next((word for word in words if f"'{word}'" in str(asked.body)), None)
        if found is None:
            return {"reply": "fine"}
        return {"fault": {"status": status, "message": message.format(word=found)}}

    return rule


def lived(call: Calls) -> list[set[str]]:
    """The lives of the marks of each request that came."""
    return [{mark.get("ttl", "5m") for _, mark in marks(seen.body)} for seen in call.api.asked]


def test_a_server_that_takes_no_hour_gets_five_minutes_from_then_on(calls: MakeCalls) -> None:
    call = calls([refuses("ttl")])
    replies = call(request(caching=HOUR), request(caching=HOUR))
    assert [reply.stop_reason for reply in replies] == ["end_turn"] * 2
    assert lived(call) == [{"1h"}, {"5m"}, {"5m"}]
    assert [notice.partition(": ")[2] for notice in call.notices] == [
        "the server takes no cache marks that live an hour, so they live five minutes there"
    ]
    assert not call.lost and not call.waits, "a refusal costs nothing, and nobody waits for it"


def test_one_that_says_not_what_it_minds_is_asked_without_all_of_it(calls: MakeCalls) -> None:
    call = calls([refuses("ttl", "diagnostics", message="bad request", status=422)], profile=ASKS)
    assert [reply.stop_reason for reply in call(request(caching=HOUR), request(caching=HOUR))] == ["end_turn"] * 2
    assert [("diagnostics" in seen.body, lives) for seen, lives in zip(call.api.asked, lived(call), strict=True)] == [
        (True, {"1h"}),
        (False, {"5m"}),
        (False, {"5m"}),
    ]
    assert len(call.notices) == 2


def test_one_is_left_out_after_the_other(calls: MakeCalls) -> None:
    call = calls([refuses("ttl", "diagnostics")], profile=ASKS)
    assert [reply.stop_reason for reply in call(request(caching=HOUR), request(caching=HOUR))] == ["end_turn"] * 2
    assert len(call.api.asked) == 4 and len(call.notices) == 2


def test_a_request_that_is_refused_without_them_too_is_refused(calls: MakeCalls) -> None:
    call = calls([{"fault": {"status": 400, "message": "prompt is too long"}}])
    with pytest.raises((CallNeeds, CallFailed), match="too long"):
        call(request(caching=HOUR))
    assert lived(call) == [{"1h"}, {"5m"}] and not call.notices


def test_what_a_server_has_taken_once_is_no_reason_to_ask_twice(calls: MakeCalls) -> None:
    call = calls([{"nth": 1, "reply": "fine"}, {"fault": {"status": 400, "message": "prompt is too long"}}])
    with pytest.raises((CallNeeds, CallFailed), match="too long"):
        call(request(caching=HOUR), request(caching=HOUR))
    assert len(call.api.asked) == 2


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_another_status_is_about_something_else(status: int) -> None:
    assert Understood(print).fewer("here", Extras(True, True), status, "ttl") is None


def test_nothing_is_sent_that_nobody_wishes(calls: MakeCalls) -> None:
    call = calls([{"reply": "fine"}], profile=ASKS)
    call(request(), request(caching=Caching((0, 1))))
    first, second = (seen.body for seen in call.api.asked)
    assert "diagnostics" not in first and second["diagnostics"] == {"previous_message_id": None}
    assert lived(call) == [{"5m"}] * 2 and b'"ttl"' not in call.api.asked[1].raw


def test_a_server_of_ones_own_is_not_asked_for_diagnostics_unless_the_profile_says_so(calls: MakeCalls) -> None:
    call = calls([{"reply": "fine"}])
    call(request(caching=Caching((0, 1)), after="msg_1"))
    assert "diagnostics" not in call.api.asked[0].body


def test_a_reply_says_its_name_and_why_the_cache_missed(calls: MakeCalls) -> None:
    call = calls([{"reply": "fine"}], profile=ASKS, cache=1)
    here, there = Caching((0, 1)), ("You are long.\n", "You know pots.\n")
    [first] = call(request(caching=here))
    [again] = call(request(caching=here, after=first.id))
    [other] = call(request(caching=here, after=again.id, system=there))
    [lost] = call(request(caching=here, after="msg_of_another_day"))
    assert first.id.startswith("msg_") and first.miss is None and again.miss is None
    assert other.miss is not None and other.miss.reason == "system_changed" and other.miss.tokens
    assert lost.miss == Miss("previous_message_not_found")
    assert call.api.asked[1].body["diagnostics"] == {"previous_message_id": first.id}


@pytest.mark.parametrize(
    ("told", "miss"),
    [
        ({"cache_miss_reason": None}, None),
        ({"cache_miss_reason": {"type": "unavailable"}}, Miss("unavailable")),
        ({"cache_miss_reason": {"type": "new_reason", "cache_missed_input_tokens": 7}}, Miss("new_reason", 7)),
        ({"cache_miss_reason": {"type": "no word\n", "cache_missed_input_tokens": 7}}, None),
        ({"cache_miss_reason": {"type": "tools_changed", "cache_missed_input_tokens": -7}}, Miss("tools_changed")),
        ({"cache_miss_reason": "tools"}, None),
    ],
)
def test_any_diagnostics_can_be_read(calls: MakeCalls, told: dict[str, Any], miss: Miss | None) -> None:
    call = calls([{"reply": "fine", "diagnostics": told}], profile=ASKS)
    assert [reply.miss for reply in call()] == [miss]
