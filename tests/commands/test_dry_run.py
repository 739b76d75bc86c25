"""`--dry-run` at the command line: offered wherever something is written or spent, and told as such."""

import inspect
from pathlib import Path

import pytest

from onepen.orchestrator.commands.table import ROWS
from onepen.testing.program import Program

WRITING = {
    "init", "add client", "add project", "add agent", "add research", "log", "delegate", "resume", "send-back",
    "approve", "reject", "undo", "trust", "ask", "archive", "prune", "rename", "doctor", "cancel", "batch run",
    "batch resume", "batch retry", "batch pause", "batch cancel",
}  # fmt: skip


def files(folder: Path) -> dict[Path, bytes]:
    """All but the orchestrator's own log: what it notes of a command before this one may come late."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "orchestrator.log")
    return {path: path.read_bytes() for path in found}


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.ok("init", "ws")
    (tmp_path / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    return program


def test_every_command_that_writes_can_be_rehearsed() -> None:
    assert {row.name for row in ROWS if "dry_run" in inspect.signature(row.run).parameters} == WRITING


def test_additions_are_told_and_not_made(onepen: Program) -> None:
    before = files(onepen.home)
    told = onepen.ok("add", "project", "Kiln", "--dry-run", "-C", "ws")
    assert told.out.startswith("Would add project Kiln; nothing was written\n  projects/kiln.md\n")
    assert onepen.json("log", "x", "--dry-run", "-C", "ws")["commit"] is None
    assert files(onepen.home) == before


def test_work_is_told_and_not_done(onepen: Program) -> None:
    before = files(onepen.home)
    told = onepen.ok("delegate", "cone 6?", "--input", "cones.md", "--dry-run", "-C", "ws")
    assert told.out.startswith("(new)  researcher  queued\n  attempt 1 would start\n")
    assert "  result: research/cone-6.md\n" in told.out
    assert told.out.endswith("Nothing was written, nobody was asked.\n")
    refused = onepen("delegate", "a poem", "--agent", "writer", "--dry-run", "-C", "ws")
    assert (refused.code, refused.out) == (2, "")
    assert files(onepen.home) == before


def test_decisions_are_told_with_their_exit_code(onepen: Program) -> None:
    made = onepen.json("delegate", "At what was cone 6 reached?", "--input", "cones.md", "-C", "ws")
    [draft] = made["tasks"][0]["drafts"]
    onepen.ok("show", draft["id"], "-C", "ws")
    before = files(onepen.home)
    told = onepen.ok("approve", draft["id"], "--dry-run", "-C", "ws").out
    assert told.startswith(f"{draft['id']}: would be committed\n")
    assert told.endswith("  by the policy it has to pass: checks, person\nNothing was written.\n")
    assert "would be refused: no" in onepen.ok("reject", draft["id"], "-m", "no", "--dry-run", "-C", "ws").out
    assert onepen("send-back", draft["id"], "-m", "no", "--dry-run", "-C", "ws").code == 2  # offline follows no remarks
    assert files(onepen.home) == before
    (onepen.home / "ws" / draft["path"]).write_text("nothing that is a draft\n")
    before = files(onepen.home)
    assert onepen("approve", draft["id"], "--dry-run", "-C", "ws").code == 1
    assert onepen.terminal("approve", draft["id"], "--dry-run", "-C", "ws").code == 1  # and no question is asked
    assert files(onepen.home) == before
