import pytest

from onepen.staging.finding import Finding, at_most, blocked

WARN, BLOCK = Finding("html", "warn", "w"), Finding("html", "block", "b", 3)


def test_a_few_findings_are_all_shown() -> None:
    assert at_most([WARN] * 20) == (WARN,) * 20
    assert str(BLOCK) == "line 3: b" and str(WARN) == "w"


@pytest.mark.parametrize("at", [0, 19, 20, 5_000])
def test_nothing_that_blocks_hides_behind_a_flood_of_warnings(at: int) -> None:
    flood = [WARN] * 5_001
    assert not blocked(at_most(flood))
    flood[at] = BLOCK
    got = at_most(flood)
    assert blocked(got) and len(got) == 21
    assert got[-1].message == "and 4,981 more like these"
