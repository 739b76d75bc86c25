import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.text.clip import boundary, clip

CLUSTERS = [
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "👍🏽",
    "e\u0301",
    "a\u0308\u0301\u0323",
    "\r\n",
    "각",
    "ดี",
    "क्षि",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "1️⃣",
    "か\u3099",
    "🏳️‍🌈",
]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("limit", range(1, 14))
def test_no_cut_falls_inside_what_a_reader_sees_as_one(cluster: str, limit: int) -> None:
    text = "x" + cluster * 3 + "y" * 10
    cut = boundary(text, limit)
    assert cut <= limit
    starts = {0, 1, *(1 + len(cluster) * k for k in range(1, 4)), *range(1 + 3 * len(cluster), len(text) + 1)}
    assert cut in starts


def test_a_run_of_flags_is_cut_between_flags() -> None:
    flags = "🇩🇪🇫🇷🇪🇸"
    assert [boundary(flags, at) for at in range(7)] == [0, 0, 2, 2, 4, 4, 6]


@given(st.text(max_size=80), st.integers(1, 60))
def test_a_clip_is_a_beginning_within_its_limit_and_valid_text(text: str, limit: int) -> None:
    got = clip(text, limit)
    assert len(got) <= limit
    assert got == text or text.startswith(got.removesuffix("…"))


def test_what_fits_is_untouched() -> None:
    assert clip("éclair", 6) == "éclair"
    assert clip("eclairs", 6) == "eclai…"


def test_a_cluster_without_end_is_cut_all_the_same() -> None:
    assert boundary("a" + "\u0301" * 10_000, 5_000) == 5_000
