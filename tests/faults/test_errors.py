"""F2: a system call of a process that commits fails, once or from then on."""

import re
from collections.abc import Callable

import pytest

from onepen.testing.ground import Ground
from onepen.testing.hands import Ended
from onepen.testing.strace import Fault
from onepen.testing.tally import Tally, spread

NAMED = re.compile(r"/ws\b|\.onepen/\w|^[\w/-]+\.(?:md|toml|jsonl)\b")
MANY = pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(900)])


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("most", [5, MANY])
def test_a_call_that_fails(
    most: int, for_good: bool, error: str, ground: Ground, tally: Callable[[str, int], Tally]
) -> None:
    """F2: before the commit point a clean abort that names the path, after it "recovery needed", finished later."""
    points = ground.hands.points(ground.again(), to=ground.to)
    with tally(f"{error} points", min(most, 60)) as errors:
        lock = [point for point in points if point.call == "flock"][:1]  # it has no path of its own to tell
        for point in (*lock, *spread(points, most - 1)):
            fault = Fault(point, error, for_good=for_good)
            with errors.point(fault):
                ended = ground.hands.order(ground.again(), to=ground.to, fault=fault)
                plain(ended, ground)
                ground.judge(ended)


def plain(ended: Ended, ground: Ground) -> None:
    """It went on all the same, or says what it is about."""
    if ended.done:
        assert ended.reached == ground.to
    elif "RecoveryNeeded" in ended.kinds:
        assert "recovery is needed" in ended.message
    else:
        assert "OSError" in ended.kinds or "MemoryFault" in ended.kinds, ended
        assert NAMED.search(ended.message), ended


@pytest.mark.parametrize("most", [5, pytest.param(60, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_a_call_that_is_interrupted(most: int, ground: Ground, tally: Callable[[str, int], Tally]) -> None:
    """F2: EINTR is no failure, the call is made again; Linux interrupts no opening of a folder."""
    calls = ("write", "openat", "fsync", "fdatasync", "ftruncate", "flock")
    points = [
        p for p in ground.hands.points(ground.again(), to=ground.to) if p.call in calls and "O_DIRECTORY" not in p.shown
    ]
    with tally("EINTR points", min(most, 60)) as interrupted:
        for point in spread(points, most):
            fault = Fault(point, "EINTR")
            with interrupted.point(fault):
                ended = ground.hands.order(ground.again(), to=ground.to, fault=fault)
                assert (ended.code, ended.reached) == (0, ground.to), ended
                assert ground.judge(ended) == ground.to
