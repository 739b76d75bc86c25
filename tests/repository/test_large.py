"""Thousands of cards: looking through them, writing one line and beginning take the time that they may."""

import pytest

from benchmarks.doctor import measure


@pytest.mark.long
@pytest.mark.timeout(900)
def test_thousands_of_cards_are_examined_and_written_to_in_time() -> None:
    """Field case 28, in processor time, which a busy machine doesn't change: 5,000 cards, 700 day logs."""
    told = measure(5_000, 1)
    rows, twice = told["figures"], told["twice_the_cards"]
    assert isinstance(rows, list) and isinstance(twice, dict)
    figures = {(row["name"], row["cards"]): row for row in rows}
    assert figures["onepen doctor", 5_000]["cpu_ms"] < 20_000
    assert figures["onepen doctor", 10_000]["cpu_ms"] < 10_000
    assert figures["onepen log", 5_000]["cpu_ms"] < 1_000
    assert all(row["peak_mb"] < 500 for row in rows)
    assert twice["onepen doctor"] < 2.5
