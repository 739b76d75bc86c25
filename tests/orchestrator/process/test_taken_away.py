"""What the orchestrator rests on is taken away while it runs: it notices before it writes, and ends or mends it."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory.holder import noted_holder
from onepen.testing.program import LIMIT, PROGRAM, Program, orchestrators

pytestmark = pytest.mark.timeout(180)  # each starts up to ten programs, one after another


def until(reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def lock_deleted(room: Path, other: Path) -> None:
    (room / "pen.lock").unlink()


def lock_replaced(room: Path, other: Path) -> None:
    (room / "pen.lock").unlink()
    (room / "pen.lock").touch(mode=0o600)


def redo_deleted(room: Path, other: Path) -> None:
    (room / "redo/log").unlink()


def redo_swapped(room: Path, other: Path) -> None:
    (other / "redo/log").replace(room / "redo/log")


@pytest.mark.parametrize("harm", [lock_deleted, lock_replaced, redo_deleted, redo_swapped])
def test_it_notices_before_the_next_commit_and_ends(harm: Callable[[Path, Path], None], tmp_path: Path) -> None:
    """F15: of a lock or a redo log that is deleted or swapped under it."""
    onepen = Program(tmp_path)
    for name in ("ws", "other"):
        onepen.ok("init", name)
        onepen.ok("-C", name, "log", "before")
    ws, other = tmp_path / "ws", tmp_path / "other"
    onepen.ok("-C", "ws", "up")
    (pid,) = orchestrators(tmp_path)
    harm(ws / ".onepen", other / ".onepen")
    ran = onepen("-C", "ws", "log", "meanwhile")
    until(lambda: pid not in orchestrators(tmp_path))
    again = onepen.ok("-C", "ws", "log", "after")
    (day,) = (ws / "memory").glob("20*.md")
    said = [line.rpartition("] ")[2] for line in day.read_text().splitlines()]
    # Refused and told so, or taken by a command that found the process gone: never half.
    assert said == (["before", "after"] if ran.code else ["before", "meanwhile", "after"])
    if ran.code:
        assert ran.code == 5
        assert "lost the pen" in ran.err
    assert json.loads(onepen.ok("-C", "ws", "doctor", "--json").out)["ok"], again


@pytest.mark.parametrize("what", ["the socket", "its folder"])
def test_a_socket_that_was_taken_away_is_made_again(what: str, tmp_path: Path) -> None:
    """As after the temporary folder was cleaned: who holds the pen has to be reachable."""
    onepen = Program(tmp_path)
    onepen.env["TMPDIR"] = str(tmp_path)
    onepen.ok("init", "ws")
    onepen.ok("-C", "ws", "up")
    (pid,) = orchestrators(tmp_path)
    place = Path(noted_holder(tmp_path / "ws").socket)
    if what == "the socket":
        place.unlink()
    else:
        shutil.rmtree(place.parent)
    onepen.ok("-C", "ws", "log", "x")
    assert list(orchestrators(tmp_path)) == [pid]
    onepen.ok("-C", "ws", "down")
    assert not orchestrators(tmp_path)
    assert not place.exists()


def test_a_workspace_that_was_moved_is_served_where_it_is_and_not_begun_anew_where_it_was(tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    script = [{"turn": 1, "delay": 60, "reply": [{"tool": "report", "input": {"summary": "done"}}]}]
    (tmp_path / "script.json").write_text(json.dumps(script))
    child = subprocess.Popen(
        [PROGRAM, "-C", "ws", "delegate", "x", "--model", "scripted:script.json"],
        cwd=tmp_path, env=onepen.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: list(tmp_path.glob("ws/staging/*/1/drafts")))
    (tmp_path / "ws").rename(tmp_path / "moved")
    assert json.loads(onepen.ok("-C", "moved", "log", "x", "--json").out)["commit"]
    assert child.wait(LIMIT) != 0
    until(lambda: not orchestrators(tmp_path))
    assert not (tmp_path / "ws").exists()
    assert json.loads(onepen.ok("-C", "moved", "doctor", "--json").out)["ok"]
    (task,) = json.loads(onepen.ok("-C", "moved", "status", "--json").out)["tasks"]
    assert task["status"] == "interrupted"
