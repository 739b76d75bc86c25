"""Amounts in, bars out, at any width."""

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.commands.chart import WIDEST, bars
from onepen.orchestrator.commands.text import width

ROWS = [("B rules", 4.0, "$4.00"), ("釉", 1.0, "$1.00"), ("C chat", 0.01, "$0.01"), ("E cards", 0.0, "$0.00")]


def test_bars_are_to_scale_and_what_is_there_at_all_shows() -> None:
    assert bars(ROWS, 34) == (
        "B rules  ██████████████████  $4.00\n"
        "釉       ████▌               $1.00\n"
        "C chat   ▏                   $0.01\n"
        "E cards                      $0.00\n"
    )


def test_where_there_is_no_room_or_nothing_to_compare_there_is_no_chart() -> None:
    assert bars(ROWS, 20) == bars(ROWS[:1], 80) == bars([], 80) == bars([("a", 0.0, "0"), ("b", 0.0, "0")], 80) == ""


@given(
    st.lists(st.tuples(st.text("ab釉", max_size=9), st.floats(0, 1e9), st.text("0123", max_size=9)), max_size=9),
    st.integers(20, 200),
)
def test_no_line_is_longer_than_the_screen(rows: list[tuple[str, float, str]], columns: int) -> None:
    for line in bars(rows, columns).splitlines():
        assert width(line) <= min(columns, 18 + WIDEST + 9 + 4)
