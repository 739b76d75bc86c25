"""The picture of a batch: what it shows, that it stands alone, and what stands for it in words."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch.picture import Point, picture, told

SVG = "{http://www.w3.org/2000/svg}"
NIGHT = [
    *(Point(60.0 * n, n, 0, 0.01 * n) for n in range(1, 81)),
    *(Point(4_800 + 30.0 * n, 80 + n, n // 2, 0.8 + 0.01 * n) for n in range(1, 41)),
]


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str) -> dict[str, list[tuple[float, float]]]:
    """The points of each line, by what it is of."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    return {
        node.attrib["class"].removeprefix("line "): [
            (float(x), float(y)) for x, y in (pair.split(",") for pair in node.attrib["points"].split())
        ]
        for node in found
    }


def test_it_tells_how_many_are_over_what_they_cost_and_how_long_it_ran() -> None:
    shown = texts(picture(NIGHT, title="500-ab12cd34", total=140, pauses=(4_800.0,)))
    assert {"120 done", "20 failed", "$1.20"} <= set(shown)
    assert {"0", "50", "100"} <= set(shown) and {"20 min", "40 min", "1 h"} & set(shown)
    assert "time in which it ran: 1 h 40 min; dotted: it stood still here" in shown


def test_what_stands_for_it_in_words_is_in_it() -> None:
    words = told(NIGHT, 140, (4_800.0,))
    assert words == (
        "Of 140 tasks 120 were done and 20 failed in 1 h 40 min of work; half of these had ended after 1 h 10 min, "
        "and it cost $1.20. It stood still once in between."
    )
    root = ElementTree.fromstring(picture(NIGHT, title="a<b&c", total=140, pauses=(4_800.0,)))
    assert root.attrib["role"] == "img" and root.attrib["aria-labelledby"] == "title told"
    assert [(node.attrib["id"], node.text) for node in root if "id" in node.attrib] == [
        ("title", "Progress and cost of a<b&c"),
        ("told", words),
    ]


def test_it_needs_nothing_from_outside_and_runs_nothing() -> None:
    svg = picture(NIGHT, title="x", total=140)
    assert re.findall(r"https?://\S+?(?=\")", svg) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|<foreignObject|href|url\(|@import|\bon\w+=", svg)
    assert "prefers-color-scheme: dark" in svg


@pytest.mark.parametrize(
    ("usd", "said"),
    [(None, "Nobody can say: a part has no known price."), (0.0, "Nothing."), (0.00123, "$0.0012")],
)
def test_a_cost_that_nobody_knows_is_no_zero(usd: float | None, said: str) -> None:
    svg = picture([Point(5.0, 1, 0, usd)])
    assert said in texts(svg)
    assert ("cost" in lines(svg)) == bool(usd)


def test_before_anything_is_over_there_is_a_picture_too() -> None:
    svg = picture([], title="x", total=9)
    assert "0 done" in texts(svg) and "No task has come to its end yet." in svg
    assert lines(svg) == {}


def test_words_at_the_ends_of_two_lines_stand_apart() -> None:
    svg = picture([Point(9.0, 10, 10, 0.0)])
    places = [
        float(node.attrib["y"])
        for node in ElementTree.fromstring(svg).iter(f"{SVG}text")
        if (node.text or "").endswith((" done", " failed"))
    ]
    assert abs(places[0] - places[1]) >= 15


steps = st.lists(
    st.tuples(st.floats(0, 1e5), st.integers(0, 3), st.integers(0, 2), st.floats(0, 9)), min_size=1, max_size=1_200
)


@given(steps)
def test_lines_go_on_rise_and_stay_within(moves: list[tuple[float, int, int, float]]) -> None:
    """Whatever happened, and however much of it: nothing leaves the picture, and it stays small."""
    points, at = [], Point(0.0, 0, 0, 0.0)
    for seconds, done, failed, usd in moves:
        at = Point(at.seconds + seconds, at.done + done, at.failed + failed, (at.usd or 0.0) + usd)
        points.append(at)
    svg = picture(points)
    assert len(svg) < 40_000
    for drawn in lines(svg).values():
        assert drawn[0][0] == 64.0
        for (x, y), (after, higher) in pairwise(drawn):
            assert 0 <= x <= after <= 800 and 0 <= higher <= y <= 418
