"""The clock that stands still, and ids that can be foretold."""

from datetime import UTC, datetime, timedelta

import pytest

from onepen.testing.clock import FixedClock
from onepen.testing.ids import CountedIds


def test_the_clock_moves_only_when_told() -> None:
    clock = FixedClock("2026-11-29T23:58:00+01:00")
    assert clock.now() == clock.now() == datetime(2026, 11, 29, 22, 58, tzinfo=UTC)
    clock.move(timedelta(minutes=5))
    assert clock.now().isoformat() == "2026-11-30T00:03:00+01:00"


def test_it_may_take_a_step_at_each_look() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC), step=timedelta(seconds=1))
    assert (clock.now().second, clock.now().second) == (0, 1)


def test_a_time_without_its_offset_is_no_time() -> None:
    with pytest.raises(ValueError, match="offset"):
        FixedClock("2026-11-29T23:58:00")


def test_ids_count() -> None:
    ids = CountedIds("k")
    assert (ids.task(), ids.task()) == ("k1", "k2")
