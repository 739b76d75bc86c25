import pytest

from onepen.testing.tally import Tally, spread, summary


def test_too_few_points_fail() -> None:
    with pytest.raises(AssertionError, match="1 kills were tried, 2 are promised"):  # noqa: SIM117
        with Tally("kills", 2) as tally, tally.point("a"):
            pass


def test_all_points_are_tried_and_those_that_did_harm_are_told() -> None:
    seen: list[tuple[str, object]] = []
    with pytest.raises(AssertionError, match="1 of 3 kills did harm:\nthe second\n    mixed"):  # noqa: SIM117
        with Tally("kills", 3, lambda name, value: seen.append((name, value))) as tally:
            for what in ("the first", "the second", "the third"):
                with tally.point(what):
                    assert what != "the second", "mixed"
    told = [str(value) for _, value in seen]
    assert summary([*told, *told]) == ["kills: 6 tried (at least 6), 2 did harm"]


def test_a_point_that_was_not_come_to_does_not_count() -> None:
    with pytest.raises(AssertionError, match="1 kills were tried, 2 are promised"), Tally("kills", 2) as tally:
        for what in ("a", "b"):
            with tally.point(what):
                if what == "b":
                    tally.not_reached()


def test_what_goes_wrong_elsewhere_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError), Tally("kills", 1) as tally, tally.point("a"):
        _ = 1 / 0


def test_points_are_spread_evenly() -> None:
    assert spread(range(10), 20) == range(10)
    assert spread(range(10), 3) == [0, 3, 6]
