"""The orchestrator's own log: lines of JSON for the person alone, masked, and never more than two files."""

import errno
import json
import os
import sys
from pathlib import Path

import pytest

from onepen.memory.room import RoomUnfit
from onepen.orchestrator.process import log as logs
from onepen.orchestrator.process.log import ProcessLog, open_log
from onepen.testing.clock import FixedClock


def read(root: Path, name: str = "orchestrator.log") -> list[dict[str, object]]:
    return [json.loads(line) for line in (root / ".onepen" / name).read_text().splitlines()]


def test_lines_come_in_the_order_in_which_they_were_noted(root: Path, clock: FixedClock) -> None:
    log = ProcessLog(root, clock)
    log.note("began", version="0.1.0")
    assert read(root) == []
    log.note("done", op="log")
    log.catch_up()
    log.note("ended", reason="idle")
    log.close()
    assert [line["event"] for line in read(root)] == ["began", "done", "ended"]
    assert read(root)[0]["time"] == "2026-11-29T09:30:00.000+01:00"
    assert (root / ".onepen/orchestrator.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), ImportError("no room to load it")])
def test_lines_are_held_where_the_library_that_writes_them_can_not_be_read(
    error: Exception, root: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with no descriptor left in a process's first moments: that ends nothing, and no line is lost."""

    class Unreadable:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "structlog":
                raise error

    log = ProcessLog(root, clock)
    with monkeypatch.context() as patch:
        for name in [name for name in sys.modules if name.partition(".")[0] == "structlog"]:
            patch.delitem(sys.modules, name)
        patch.setattr(sys, "meta_path", [Unreadable(), *sys.meta_path])
        log.note("began")
        log.catch_up()
        log.failed("failed", ValueError("x"))
        assert read(root) == []
    log.catch_up()
    log.close()
    assert [line["event"] for line in read(root)] == ["began", "failed"]


def test_an_error_comes_at_once_with_its_traceback_and_without_the_values_of_variables(
    root: Path, clock: FixedClock
) -> None:
    log = ProcessLog(root, clock, lambda text: text.replace("made-up-key", "[key]"))
    held = "made-up-" + "value"
    try:
        raise ValueError(f"refused made-up-key, {len(held)}")
    except ValueError as e:
        log.failed("failed", e, op="delegate")
    (line,) = read(root)
    log.close()
    assert (line["level"], line["op"]) == ("error", "delegate")
    assert "ValueError: refused [key], 13" in str(line["exception"])
    assert "made-up-value" not in str(line)


def test_a_log_that_has_grown_becomes_the_old_one(
    root: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MOST", 2_000)
    log = ProcessLog(root, clock)
    for number in range(100):
        log.note("done", number=number)
    log.close()
    room = root / ".onepen"
    assert sorted(path.name for path in room.glob("orchestrator.log*")) == ["orchestrator.log", "orchestrator.log.1"]
    kept = [line["number"] for name in ("orchestrator.log.1", "orchestrator.log") for line in read(root, name)]
    assert kept == list(range(100))[-len(kept) :]
    assert all(path.stat().st_size < 2_300 for path in room.glob("orchestrator.log*"))


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_came_with_a_clone_in_its_place_is_not_written_to(kind: str, root: Path, tmp_path: Path) -> None:
    room = root / ".onepen"
    room.mkdir(exist_ok=True)
    place, outside = room / "orchestrator.log", tmp_path / "outside"
    outside.write_text("kept")
    match kind:
        case "link":
            place.symlink_to(outside)
        case "fifo":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
    with pytest.raises((OSError, RoomUnfit)):
        open_log(root)
    assert outside.read_text() == "kept"
