"""The marks of a chat follow its pace: what is written for an hour is what five minutes would lose."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.chat.lines import Asked, Line, Replied
from onepen.orchestrator.chat.marking import FIRST, Pace, caching, cost, ends, lives, pace_of
from onepen.subagents.messages import Text
from onepen.subagents.model import Caching, Usage

LAYERS = ("B", "A", "I", "S")
BEGAN = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def chat(*seconds: float, prompt: int = 6_000, growth: int = 400) -> tuple[Line, ...]:
    """A chat of exchanges with one call each, so many seconds apart."""
    at = BEGAN
    lines: list[Line] = []
    for turn, gap in enumerate((0.0, *seconds), 1):
        at += timedelta(seconds=gap)
        lines.append(Asked(turn, at.isoformat(), (Text("and?"),)))
        used = Usage(0, growth, prompt - growth + turn * growth, 50)
        lines.append(Replied(turn, at.isoformat(), (Text("so"),), "end_turn", used, "m"))
    return tuple(lines)


def after(lines: tuple[Line, ...], seconds: float, spaces: int = 1) -> Pace:
    """The pace when the next exchange begins so many seconds later."""
    last = lines[-1]
    assert isinstance(last, Replied)
    return pace_of(lines, 5_000, datetime.fromisoformat(last.at) + timedelta(seconds=seconds), spaces)


def test_a_chat_that_begins_has_marks_at_persona_index_and_synthesis() -> None:
    assert caching(LAYERS) == Caching((1, 2, 3), "5m", "5m")


def test_several_spaces_share_the_rules() -> None:
    assert ends(LAYERS, spaces=2) == (0, 1, 3)


@pytest.mark.parametrize(
    ("parts", "one", "several"),
    [
        (("B", "A", "I"), (1, 2), (0, 1, 2)),
        (("B", "I", "S"), (0, 1, 2), (0, 2)),
        (("B", "A"), (1,), (0, 1)),
        (("A", "S"), (0, 1), (0, 1)),
        ((), (0, 1, 2), (0, 1, 2)),
    ],
)
def test_a_layer_without_a_block_leaves_its_mark_to_the_one_before(
    parts: tuple[str, ...], one: tuple[int, ...], several: tuple[int, ...]
) -> None:
    assert (ends(parts, 1), ends(parts, 2)) == (one, several)


@pytest.mark.parametrize(
    ("seconds", "lived"),
    [
        ((), ("5m", "5m")),
        ((60,) * 10, ("5m", "5m")),
        ((299,) * 10, ("5m", "5m")),
        ((300,), ("1h", "1h")),
        ((400,) * 10, ("1h", "1h")),
        ((60, 60, 60, 900, 60, 60), ("1h", "1h")),
        ((4_000,) * 10, ("5m", "5m")),
        ((86_400,) * 3, ("5m", "5m")),
    ],
    ids=["first", "quick", "just so", "one pause", "slow", "a break", "hours", "days"],
)
def test_lives_follow_the_pace(seconds: tuple[float, ...], lived: tuple[str, str]) -> None:
    lines = chat(*seconds[:-1])
    assert lives(after(lines, seconds[-1]) if seconds else FIRST) == lived


def test_a_pause_is_forgotten_after_twenty_exchanges() -> None:
    assert lives(after(chat(900, *[60] * 18), 60)) == ("1h", "1h")
    assert lives(after(chat(900, *[60] * 25), 60)) == ("5m", "5m")


def test_where_the_conversation_is_short_and_grows_much_only_the_layers_live_for_an_hour() -> None:
    assert lives(Pace((60, 60, 60, 400), before=5_000, conversation=500, growth=2_000, exchanges=4)) == ("1h", "5m")


def test_a_long_tool_loop_does_not_hide_that_each_exchange_comes_late() -> None:
    pace = Pace((*[2.0] * 30, 900, *[2.0] * 30, 900), before=5_000, conversation=20_000, growth=400, exchanges=3)
    assert lives(pace) == ("1h", "1h")


@pytest.mark.parametrize(
    ("spaces", "pause", "prefix"),
    [
        (1, 0.0, "5m"),
        (1, 299.0, "5m"),
        (1, 300.0, "1h"),
        (1, 3_600.0, "5m"),
        (4, 60.0, "5m"),
        (5, 60.0, "1h"),
        (20, 1.0, "5m"),
        (2, 1_800.0, "5m"),
    ],
)
def test_the_layers_of_a_chat_that_begins_take_the_pace_of_the_spaces(spaces: int, pause: float, prefix: str) -> None:
    """Questions, each in a chat of its own, read what the one before wrote; clients in turn, what they wrote before."""
    assert lives(pace_of((), 5_000, BEGAN, spaces, pause)) == (prefix, "5m")


gaps = st.lists(st.floats(0, 90_000), max_size=12).map(tuple)


@given(gaps, st.integers(0, 10**5), st.integers(0, 10**6), st.integers(0, 10**5), st.integers(0, 20))
def test_the_lives_are_the_cheapest_and_no_hour_comes_after_five_minutes(
    gaps: tuple[float, ...], before: int, conversation: int, growth: int, exchanges: int
) -> None:
    pace = Pace(gaps, before, conversation, growth, exchanges)
    prefix, tail = lives(pace)
    assert (prefix, tail) != ("5m", "1h")
    assert not gaps or cost(pace, prefix, tail) <= min(
        cost(pace, "5m", "5m"), cost(pace, "1h", "1h"), cost(pace, "1h", "5m")
    )


def test_the_pace_is_read_from_a_chats_lines() -> None:
    pace = after(chat(60, 400), 30, spaces=3)
    assert pace == Pace((60.0, 400.0, 30.0), 5_000, 2_200, 400, 3, 3)


def test_a_line_without_a_time_is_passed_over() -> None:
    broken = Replied(1, "yesterday", (Text("so"),), "end_turn", Usage(), "m")
    assert pace_of((broken,), 5_000, BEGAN) == Pace(before=5_000)
