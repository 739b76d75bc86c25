"""F1: a process that commits is killed as it enters a system call, at one after the other."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from onepen.testing.ground import Ground
from onepen.testing.hands import Way
from onepen.testing.strace import Fault
from onepen.testing.tally import Tally, spread

WAYS = {
    "one by one": Way(),
    "together": Way(group=4),
    "two and two": Way(group=2),
    "lazy": Way(lazy="waiting"),
    "lazy, flushed": Way(group=2, lazy="flushed"),
}
LONG = pytest.param(10_000, id="all", marks=[pytest.mark.long, pytest.mark.timeout(900)])


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("most", [pytest.param(10, id="some"), LONG])
def test_killed_at_a_system_call(most: int, name: str, ground: Ground, tally: Callable[[str, int], Tally]) -> None:
    """F1: opening, four commits and the checkpoint: the state is that of a commit, and none that was told is lost."""
    way = WAYS[name]
    most = most if name == "one by one" else min(most, 40)
    points = ground.hands.points(ground.again(), to=ground.to, way=way)
    with tally("kill points", 9 if most == 10 else 35) as kills:
        found = []
        for point in spread(points, most):
            fault = Fault(point)
            with kills.point(fault):
                ended = ground.hands.order(ground.again(), to=ground.to, fault=fault, way=way)
                if not ended.killed:
                    kills.not_reached()
                found.append(ground.judge(ended, group=way.group))
    assert found == sorted(found)
    assert set(found) >= {ground.first, ground.to}


@pytest.mark.parametrize("most", [6, pytest.param(120, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_killed_between_two_parts_of_one_write(most: int, ground: Ground, tally: Callable[[str, int], Tally]) -> None:
    """F2: the system takes at most 700 bytes of a write, so a record or a card stands there in part."""
    points = [
        p
        for p in ground.hands.points(ground.again(), to=ground.to, way=Way(drip=700))
        if p.call in ("write", "fdatasync")
    ]
    behind = [p for before, p in pairwise(points) if "redo/log" in before.shown]  # part of a record is written
    records = [p for p in behind if "redo/log" in p.shown and p.call == "write"]
    others = [p for p in points if p not in records]
    with tally("kill points in short writes", min(most - 1, 30)) as kills:
        for point in (*spread(records, most // 2), *spread(others, most // 2)):
            fault = Fault(point)
            with kills.point(fault):
                ended = ground.hands.order(ground.again(), to=ground.to, way=Way(drip=700), fault=fault)
                if not ended.killed:
                    kills.not_reached()
                ground.judge(ended)
