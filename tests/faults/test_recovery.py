"""F3: faults while a crash is being repaired; the next repair succeeds."""

from collections.abc import Callable

import pytest

from onepen.testing.ground import Ground
from onepen.testing.hands import Ended
from onepen.testing.strace import Fault, Point
from onepen.testing.tally import Tally, spread

LONG = [pytest.mark.long, pytest.mark.timeout(900)]


def crashes(ground: Ground, most: int) -> list[Point]:
    """Points behind the third commit point: three records are there, and the files of the last are written in part."""
    points = ground.hands.points(ground.again(), to=ground.to)
    records = [k for k, point in enumerate(points) if point.call == "fdatasync" and ".onepen/redo/log" in point.shown]
    behind = [p for p in points[records[2] + 1 : records[3]] if p.call in ("renameat2", "unlink", "write", "mkdir")]
    return list(spread(behind, most))


@pytest.mark.parametrize("error", [None, "EIO", "ENOSPC"])
@pytest.mark.parametrize(("states", "most"), [(1, 6), pytest.param(5, 12, marks=LONG)])
def test_a_fault_while_recovering(
    states: int, most: int, error: str | None, ground: Ground, tally: Callable[[str, int], Tally]
) -> None:
    """F3: what had been acknowledged before the crash is there after the second recovery."""
    with tally("faults during recovery", states * most * 3 // 4) as faults:
        for crash in crashes(ground, states):
            first = crashed(ground, crash)
            points = ground.hands.points(ground.root, "open")
            for point in spread(points, most):
                fault = Fault(point, error, for_good=error is not None)
                with faults.point(f"{fault} after {crash}"):
                    assert crashed(ground, crash) == first
                    ended = ground.hands.order(ground.root, "open", fault=fault)
                    assert ended.killed == (error is None), ended
                    assert ended.killed or ended.done or {"OSError", "MemoryFault"} & {*ended.kinds}, ended
                    assert ground.judge(first) == ground.first + 3


def crashed(ground: Ground, at: Point) -> Ended:
    """The workspace as a kill leaves it there."""
    ended = ground.hands.order(ground.again(), to=ground.to, fault=Fault(at))
    assert ended.killed
    return ended
