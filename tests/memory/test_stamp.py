"""A stamp speaks for a file once the clock that made it has ticked on."""

import pytest

from onepen.memory.stamp import settled

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("written", "age", "speaks"),
    [
        pytest.param(7 * SECOND + 1, SECOND, True, id="a second ago"),
        pytest.param(7 * SECOND + 1, 1_000_000, False, id="in this tick"),
        pytest.param(7 * SECOND + 1, -SECOND, False, id="in the future"),
        pytest.param(7 * SECOND, SECOND, False, id="in whole seconds"),
        pytest.param(7 * SECOND, 3 * SECOND, True, id="in whole seconds, long ago"),
    ],
)
def test_a_stamp_speaks_once_the_clock_has_ticked_on(written: int, age: int, speaks: bool) -> None:
    assert settled((1, 2, written, 1), written + age) is speaks
    assert settled((1, 2, 1, written), written + age) is speaks
