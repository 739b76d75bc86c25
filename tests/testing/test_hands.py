import json
from pathlib import Path

import pytest

from onepen.testing import evidence, strace
from onepen.testing.deeds import begin
from onepen.testing.hands import Hands, Way
from onepen.testing.strace import Fault

SEEN = """\
openat(AT_FDCWD</>, "/lib/x.so", O_RDONLY) = 3</lib/x.so>
openat(AT_FDCWD</>, "/tmp/ws/onepen.toml", O_RDONLY) = 3</tmp/ws/onepen.toml>
write(4</tmp/ws/projects/.kiln.md.c2-k3x9ab.tmp>, "text"..., 12) = 12
write(1</dev/null>, "x", 1) = 1
fsync(4</tmp/ws>) = 0
rename("/tmp/wsx/a", "/tmp/wsx/b") = 0
write(4</tmp/ws/a>, "x", 1) = 1
"""


def test_points_are_counted_with_those_that_touch_nothing_of_ours() -> None:
    found = strace.points(SEEN, Path("/tmp/ws"))
    assert [(p.call, p.nth) for p in found] == [("openat", 2), ("write", 1), ("fsync", 1), ("write", 3)]
    assert found[1].shown.startswith("write(4<projects/.kiln.md")


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    begin(tmp_path / "ws")
    return tmp_path / "ws"


def test_an_order_is_carried_out_and_told(ws: Path, tmp_path: Path) -> None:
    with Hands(tmp_path) as hands:
        first = hands.order(ws, to=2, way=Way(drip=5))
        assert (first.code, first.reached, first.stage) == (0, 2, "closed")
        assert hands.order(ws, to=4).reached == 4
        assert evidence.keys(evidence.state(ws)) == ["k1", "k2", "k3", "k4"]
        assert json.loads(hands.order(ws, "doctor").out)["ok"]
        (ws / "onepen.toml").unlink()
        ended = hands.order(ws, "open")
        assert (ended.code, ended.stage) == (9, "begun")
        assert "MemoryFault" in ended.kinds


def test_a_fault_comes_where_it_is_wanted(ws: Path, tmp_path: Path) -> None:
    reason = strace.missing()
    if reason is not None:
        pytest.skip(reason)
    with Hands(tmp_path) as hands:
        points = hands.points(ws, to=1)
        record = next(p for p in points if p.call == "fdatasync" and "redo/log" in p.shown)
        killed = hands.order(ws, to=2, fault=Fault(record))
        assert (killed.killed, killed.reached, killed.stage) == (True, 1, "open")
        failed = hands.order(ws, to=2, fault=Fault(hands.points(ws, to=2)[-1], "EIO", for_good=True))
        assert failed.done or failed.errno == 5, failed
        late = hands.order(ws, to=3, fault=Fault(record, delay=1000, for_good=True))
        assert late.done
