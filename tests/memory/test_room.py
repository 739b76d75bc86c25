"""What a stranger may have put where a file of `.onepen/` should be: nobody waits for it, and the error names it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory.commit.pen import Pen
from onepen.memory.exam.doctor import examine
from onepen.memory.holder import holder
from onepen.memory.room import RoomUnfit
from onepen.memory.view import UnreadableText, View
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
FILES = ["redo/log", "pen.json", "pen.lock", "machine", "epoch"]
MAKERS: list[Callable[[Path], None]] = [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("../MEMORY.md")]


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / ".onepen" / "redo").mkdir(parents=True)
    (tmp_path / "logs").mkdir()
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (tmp_path / "MEMORY.md").write_text("mine\n")
    return open_workspace(tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("make", MAKERS)
def test_the_pen_is_not_taken(workspace: Workspace, name: str, make: Callable[[Path], None]) -> None:
    make(workspace.machine_room / name)
    with pytest.raises(RoomUnfit, match=rf"^\.onepen/{name}: is ") as caught:
        Pen.open(workspace, CLOCK, wait=0)
    assert caught.value.exit_code == 6
    assert (workspace.root / "MEMORY.md").read_text() == "mine\n"
    assert (f".onepen/{name}", "room_unfit") in [(p.path, p.kind) for p in examine(View(workspace))]


@pytest.mark.parametrize("make", MAKERS)
def test_readers_do_not_wait_for_the_redo_log(workspace: Workspace, make: Callable[[Path], None]) -> None:
    make(workspace.machine_room / "redo" / "log")
    with pytest.raises(RoomUnfit, match=r"redo/log"):
        View(workspace).text("MEMORY.md")
    assert (".onepen/redo/log", "room_unfit", "error") in [(p.path, p.kind, p.level) for p in examine(View(workspace))]


def test_nobody_waits_for_the_lock(workspace: Workspace) -> None:
    os.mkfifo(workspace.machine_room / "pen.lock")
    with pytest.raises(RoomUnfit, match=r"pen\.lock: is no regular file"):
        holder(workspace.root)


def test_a_room_that_is_a_link_is_not_written(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (workspace.machine_room / "redo").rmdir()
    workspace.machine_room.rmdir()
    workspace.machine_room.symlink_to(outside)
    with pytest.raises(RoomUnfit, match="link"):
        Pen.open(workspace, CLOCK, wait=0)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", [".onepen", ".onepen/redo"])
@pytest.mark.parametrize("make", [lambda path: path.write_text(""), lambda path: path.symlink_to("nowhere")])
def test_what_stands_in_the_place_of_its_folder_is_named(
    workspace: Workspace, name: str, make: Callable[[Path], None]
) -> None:
    (workspace.machine_room / "redo").rmdir()
    if name == ".onepen":
        workspace.machine_room.rmdir()
    make(workspace.root / name)
    with pytest.raises(RoomUnfit, match=rf"^{name}: is a (file|link), .* Move it away to go on"):
        Pen.open(workspace, CLOCK, wait=0)
    assert not (workspace.root / "nowhere").exists()


def test_nobody_waits_for_a_log_of_commits(workspace: Workspace) -> None:
    os.mkfifo(workspace.root / "logs" / "commits-2026-11.jsonl")
    with pytest.raises(UnreadableText, match=r"logs/commits-2026-11\.jsonl: is no regular file"):
        Pen.open(workspace, CLOCK, wait=0)
