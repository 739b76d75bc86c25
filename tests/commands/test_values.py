"""Values typed on the command line."""

from datetime import date

import pytest

from onepen.orchestrator.commands.failure import BadText, NeedsAnswer
from onepen.orchestrator.commands.shell import Common, Shell
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.commands.values import day, given_ids, places, reason

NOWHERE = Shell(Common(), Terminal(can_ask=False, colour=False, live=False, columns=80), {})
KNOWN = ("cards", "log", "chat", "research")


def test_a_day() -> None:
    assert day("2026-11-01", "--since") == date(2026, 11, 1)
    assert day(None, "--since") is None


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1.11.2026", "2026-11-01T10:00"])
def test_no_day(text: str) -> None:
    with pytest.raises(BadText, match="--until"):
        day(text, "--until")


def test_places() -> None:
    assert places(None, KNOWN) == frozenset(KNOWN)
    assert places("cards, log", KNOWN) == {"cards", "log"}


@pytest.mark.parametrize(
    ("text", "said"), [("card", "did you mean cards"), ("web", "not one of"), (",", "names no place")]
)
def test_no_place(text: str, said: str) -> None:
    with pytest.raises(BadText, match=said):
        places(text, KNOWN)


def test_ids_are_taken_once_each() -> None:
    assert given_ids(NOWHERE, ["a-1", "b-1", "a-1"]) == ("a-1", "b-1")


def test_a_reason_that_is_blank_is_none() -> None:
    with pytest.raises(BadText, match="empty"):
        reason(NOWHERE, "reject", ("a-1",), "  ")


def test_without_a_terminal_the_option_for_a_reason_is_named() -> None:
    with pytest.raises(NeedsAnswer) as caught:
        reason(NOWHERE, "send-back", ("a-1", "b-1"), None)
    assert caught.value.hint == 'onepen send-back a-1 b-1 -m "why"'
