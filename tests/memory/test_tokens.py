import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.tokens import estimate


def test_nothing_is_no_token() -> None:
    assert estimate("") == 0


@given(st.text(min_size=1))
def test_any_text_is_at_least_one_token(text: str) -> None:
    assert estimate(text) >= 1


@given(st.text(), st.text())
def test_two_texts_together_are_no_more_than_apart(one: str, other: str) -> None:
    assert max(estimate(one), estimate(other)) <= estimate(one + other) <= estimate(one) + estimate(other)


@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("The kiln is fired to cone six and left to cool for fourteen hours. " * 10, 150, 190),
        ("| 2026-06-11 | shop | disk full | 52 |\n" * 10, 110, 260),
        ("窯を焼きました", 6, 9),
        ("Обжиг при тысяче градусов", 9, 16),
        ("🐙🐙", 4, 6),
    ],
)
def test_the_estimate_follows_the_script(text: str, fewest: int, most: int) -> None:
    assert fewest <= estimate(text) <= most
