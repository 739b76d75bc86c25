"""What an index says of quotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.index.entry import SUMMARY_LIMIT
from onepen.memory.text.oneline import flaw
from onepen.staging.summary import bare, summary_of, sums_up, words_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The state is in_review, never in_stock_.", "The state is in_review, never in_stock_."),
        ("The **state** is `in_review`.", "The state is in_review."),
        ("_All_ of *it* and ***more***, 2*3*4.", "All of it and more, 2*3*4."),
        ("Call `__init__` first.", "Call __init__ first."),
        ("~5 mm, #3, a | b", "~5 mm, #3, a b"),
        ("Lead is <not> safe, <b>never</b>.", "Lead is not safe, never."),
        ("See [the table](t.md).", "See the table."),
    ],
)
def test_only_marks_go_and_every_word_stays(text: str, expected: str) -> None:
    assert bare(text) == expected
    assert sums_up(expected, [text])


def test_keywords_are_whole_words() -> None:
    assert words_of("state: `in_review`, 1222 °C") == ("state", "in_review", "1222", "C")


def test_of_a_long_statement_the_sentence_that_says_most_is_taken() -> None:
    filler = "Nothing of note happened in the studio on that long and rainy day of the year. " * 2
    text = f"{filler}The glaze cracked at noon. It was hot. {filler}"
    made = summary_of(text.strip(), lambda piece: "glaze" in piece)
    assert made.startswith("The glaze cracked at noon. It was hot. Nothing")
    assert made.endswith("year.")


@given(st.text(max_size=600), st.integers(0, 9))
def test_what_sums_up_a_statement_is_known_to_and_fits_an_index(text: str, digit: int) -> None:
    made = summary_of(text, lambda piece: piece.count(str(digit)))
    assert len(made) <= SUMMARY_LIMIT
    assert flaw(made) is None
    assert not made or sums_up(made, [text]) or made.endswith("…")
