"""What the orchestrator rests on is taken away while it runs: it notices before it writes, says so, and ends."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.testing.program import LIMIT, Program, orchestrators


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
