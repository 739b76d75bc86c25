"""What a failure means."""

from datetime import UTC, datetime

import pytest

from onepen.orchestrator.gateway.failure import Again, Answered, Final, failed, judged, retry_after
from onepen.orchestrator.gateway.patience import pause

NOW = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)
IN_20_S = "Sun, 29 Nov 2026 08:30:20 GMT"


def verdict(status: int, kind: str | None = None, message: str = "", code: str | None = None, **headers: str) -> object:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return judged(Answered(status, message, kind, code), named, place="m at h", now=NOW)


@pytest.mark.parametrize("status", [400, 402, 413, 418, 422, 451])
def test_what_the_same_request_would_meet_again_is_final(status: int) -> None:
    assert isinstance(verdict(status), Final)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_missing_key_right_or_model_ends_with_2(status: int) -> None:
    found = verdict(status)
    assert isinstance(found, Final) and found.hint and failed(found).exit_code == 2


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529, 599])
def test_what_passes_is_tried_again(status: int) -> None:
    found = verdict(status)
    assert isinstance(found, Again) and found.throttled is (status in {429, 503, 529})


@pytest.mark.parametrize(
    ("kind", "final"),
    [
        ("overloaded_error", False),
        ("rate_limit_error", False),
        ("api_error", False),
        ("timeout_error", False),
        ("an_error_to_come", False),
        ("invalid_request_error", True),
        ("authentication_error", True),
        ("request_too_large", True),
    ],
)
def test_an_error_after_200_counts_like_the_status_of_its_type(kind: str, final: bool) -> None:
    assert isinstance(verdict(200, kind), Final) is final


@pytest.mark.parametrize(
    "found",
    [
        verdict(429, "rate_limit_error", "You have reached your specified API usage limits."),
        verdict(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        verdict(429, "rate_limit_error", "", "enforced_spend_limit_reached"),
        verdict(402),
        verdict(200, "billing_error"),
    ],
)
def test_a_spending_limit_at_the_provider_is_final_and_ends_with_4(found: object) -> None:
    assert isinstance(found, Final) and failed(found).exit_code == 4


def test_the_server_may_say_whether_to_try_again() -> None:
    assert isinstance(verdict(429, x_should_retry="false"), Final)
    assert isinstance(verdict(500, x_should_retry="false"), Final)
    assert isinstance(verdict(418, x_should_retry="true"), Again)


def test_a_redirect_says_where_it_leads() -> None:
    found = judged(Answered(308, "it leads to https://b", "redirect"), {}, place="m at a", now=NOW)
    assert isinstance(found, Final) and "https://b" in found.reason


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "20"}, 20.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "604800"}, 604_800.0),
        ({"retry-after": IN_20_S}, 20.0),
        ({"retry-after": IN_20_S, "date": "Sun, 29 Nov 2026 08:30:15 GMT"}, 5.0),  # our clock is wrong
        ({"retry-after": "Sun, 29 Nov 2026 08:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_how_long_the_server_asks_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_what_the_server_asks_for_is_never_shortened() -> None:
    assert [pause(n, 900.0, 0.0) for n in (1, 5)] == [900.0, 900.0]


@pytest.mark.parametrize("drawn", [0.0, 0.5, 1.0])
def test_our_own_waits_grow_and_are_bounded(drawn: float) -> None:
    waits = [pause(n, None, drawn) for n in range(1, 6)]
    assert waits == sorted(waits) and 1 / 3 <= waits[0] <= 1 and waits[-1] <= 60
    assert all(pause(n, None, 1.0) <= pause(n + 1, None, 0.0) + 1e-9 for n in range(1, 4))


def test_a_long_message_of_a_server_is_cut_to_one_line() -> None:
    found = verdict(500, "api_error", "line\n" * 500)
    assert isinstance(found, Again) and "\n" not in found.reason and len(found.reason) < 400
