"""One pen at a time, and whoever doesn't get it is told who has it."""

import os
import socket
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.memory.change import Change
from onepen.memory.commit.lock import network_kind
from onepen.memory.commit.pen import Pen, PenHeld, PenLost, holder
from onepen.memory.holder import Holder
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
NOTE = Change(None, "x", "user:ana", log=(("note", "x"),))
CONTENDER = dedent(
    """\
    import sys
    from pathlib import Path
    from onepen.memory.commit.pen import Pen, PenHeld
    from onepen.memory.workspace import open_workspace
    from onepen.testing.clock import FixedClock

    workspace = open_workspace(Path(sys.argv[1]))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        with Pen.open(workspace, FixedClock("2026-11-30T14:05:00+01:00"), wait=float(sys.argv[2])):
            print("held", flush=True)
            sys.stdin.readline()
    except PenHeld as e:
        print(e.exit_code, e.message, flush=True)
    """
)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    return open_workspace(tmp_path)


def contend(workspace: Workspace, wait: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CONTENDER, str(workspace.root), str(wait)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_of_eight_that_start_at_once_one_holds_and_the_others_say_who(workspace: Workspace) -> None:
    all_of_them = [contend(workspace, 0.5) for _ in range(8)]
    try:
        assert [hear(one) for one in all_of_them] == ["ready"] * 8
        for one in all_of_them:
            say(one)
        heard = {one: hear(one) for one in all_of_them}
        winners = [one for one, said in heard.items() if said == "held"]
        assert len(winners) == 1
        who = f"process {winners[0].pid} on {socket.gethostname()}"
        told = f"5 {workspace.root}: the pen is held by {who} since 2026-11-30"
        assert all(said.startswith(told) for one, said in heard.items() if one is not winners[0])
        found = holder(workspace.root)
        assert found == Holder(winners[0].pid, socket.gethostname(), "2026-11-30T14:05:00+01:00")
        say(winners[0])
    finally:
        for one in all_of_them:
            one.communicate()
    assert [one.returncode for one in all_of_them] == [0] * 8
    assert holder(workspace.root) is None


def test_a_pen_that_is_put_down_is_taken_by_the_one_that_waits(workspace: Workspace) -> None:
    pen = Pen.open(workspace, CLOCK)
    waiting = contend(workspace, 10)
    assert hear(waiting) == "ready"
    say(waiting)
    pen.commit(NOTE)
    pen.close()
    assert hear(waiting) == "held"
    with pytest.raises(PenHeld):
        Pen.open(workspace, CLOCK, wait=0)
    waiting.kill()
    waiting.communicate()
    with Pen.open(workspace, CLOCK, wait=0) as pen:  # a lock dies with its holder
        pen.commit(NOTE)


@pytest.mark.parametrize("note", [b"", b"\xff\x00", b'{"pid": 1, "host": "elsewhere", "since": "2020-01-01"}', b"[]"])
def test_what_is_left_in_the_files_holds_nobody_up(workspace: Workspace, note: bytes) -> None:
    workspace.machine_room.mkdir()
    (workspace.machine_room / "pen.lock").write_bytes(note)
    (workspace.machine_room / "pen.json").write_bytes(note)
    assert holder(workspace.root) is None
    with Pen.open(workspace, CLOCK, wait=0):
        found = holder(workspace.root)
        assert found is not None
        assert found.pid == os.getpid()
        (workspace.machine_room / "pen.json").write_bytes(b"")
        with pytest.raises(PenHeld, match="held by another process"):
            Pen.open(workspace, CLOCK, wait=0)


def test_the_lock_file_is_for_its_owner_only(workspace: Workspace) -> None:
    with Pen.open(workspace, CLOCK, wait=0):
        assert (workspace.machine_room / "pen.lock").stat().st_mode & 0o777 == 0o600
        assert workspace.machine_room.stat().st_mode & 0o777 == 0o700


def written(workspace: Workspace) -> list[str]:
    return sorted(p.name for p in workspace.root.rglob("*.md"))


def test_a_holder_whose_lock_file_was_deleted_writes_no_more(workspace: Workspace) -> None:
    """F15: it notices before its next commit, also when another one has taken the pen."""
    pen = Pen.open(workspace, CLOCK, wait=0)
    (workspace.machine_room / "pen.lock").unlink()
    with pytest.raises(PenLost, match="removed or replaced") as caught:
        pen.commit(NOTE)
    assert caught.value.exit_code == 5
    with Pen.open(workspace, CLOCK, wait=0) as second:
        with pytest.raises(PenLost):
            pen.commit(NOTE)
        assert written(workspace) == []
        second.commit(NOTE)
        pen.close()
        second.commit(NOTE)
    assert written(workspace) == ["2026-11-30.md"]


def test_a_holder_finds_that_another_epoch_began(workspace: Workspace) -> None:
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        pen.commit(NOTE)
        (workspace.machine_room / "epoch").write_text("99 99\n")
        with pytest.raises(PenLost, match="another process"):
            pen.commit(NOTE)


def test_a_machine_room_that_is_deleted_ends_the_pen(workspace: Workspace) -> None:
    import shutil

    with Pen.open(workspace, CLOCK, wait=0) as pen:
        pen.commit(NOTE)
        shutil.rmtree(workspace.machine_room)
        with pytest.raises(PenLost):
            pen.commit(NOTE)
    assert not workspace.machine_room.exists()


def test_a_pen_that_was_put_down_writes_no_more(workspace: Workspace) -> None:
    pen = Pen.open(workspace, CLOCK, wait=0)
    pen.close()
    pen.close()
    with pytest.raises(PenLost, match="put down"):
        pen.commit(NOTE)


MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
30 27 0:45 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
31 27 254:0 / / rw,relatime - ext4 /dev/vda rw
32 27 0:52 / /mnt/share rw,relatime - cifs //server/share rw
"""


@pytest.mark.parametrize(("device", "kind"), [("0:45", "nfs4"), ("0:52", "cifs"), ("254:0", None), ("9:9", None)])
def test_network_file_systems_are_known(device: str, kind: str | None) -> None:
    assert network_kind(MOUNTS, device) == kind
