"""Text that comes in pieces, on a screen."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.commands.flow import Flow
from onepen.orchestrator.commands.text import width
from onepen.testing.screen import Screen


def flowed(pieces: Sequence[str], columns: int) -> str:
    flow = Flow(columns)
    return "".join([*map(flow.feed, pieces), flow.end()])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one two three four", "one two\nthree four"),
        ("- one two three", "- one two\n  three"),
        ("12. one two three", "12. one\n    two\n    three"),
        ("  - a bc de fg", "  - a bc\n    de fg"),
        ("one two\nthree", "one two\nthree"),
        ("a\n\n\nb", "a\n\n\nb"),
        ("oneverylongword and more", "oneverylongword and\nmore"),
        ("- oneverylongword a", "-\n  oneverylongword a"),
        ("```\none two three four\n```\none two three", "```\none two three four\n```\none two\nthree"),
        ("窯の温度は千二百です", "窯の温度は\n千二百です"),
        ("one two thr", "one two\nthr"),
        ("ten chars.", "ten chars."),
        ("end  ", "end  "),
    ],
)
def test_words_stay_whole(text: str, shown: str) -> None:
    assert flowed([text], 10) == shown
    assert flowed(list(text), 10) == shown, "in pieces, too"


TEXTS = st.text(st.sampled_from("ab窯é-*1. \n`"), max_size=80)


@given(TEXTS, st.integers(4, 20), st.lists(st.integers(0, 80)))
def test_how_it_is_cut_into_pieces_changes_nothing(text: str, columns: int, cuts: list[int]) -> None:
    edges = sorted({0, len(text), *(cut for cut in cuts if cut <= len(text))})
    pieces = [text[a:b] for a, b in pairwise(edges)]
    assert flowed(pieces, columns) == flowed([text], columns)


@given(TEXTS, st.integers(4, 20))
def test_only_blanks_and_line_ends_change(text: str, columns: int) -> None:
    assert flowed([text], columns).split() == text.split() or "窯" in text
    assert "".join(flowed([text], columns).split()) == "".join(text.split())


@given(st.lists(st.text("abé", min_size=1, max_size=6), max_size=20), st.integers(10, 20))
def test_no_word_is_torn_by_the_screen(words: list[str], columns: int) -> None:
    shown = flowed([" ".join(words)], columns)
    assert all(width(line) <= columns for line in shown.split("\n"))
    screen = Screen(columns, 200)
    screen.feed(shown.replace("\n", "\r\n"))
    assert screen.text.split() == words
