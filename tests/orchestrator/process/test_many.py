"""Many commands at once on one workspace: one orchestrator, nothing lost, and nobody waits without end."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from onepen.testing.program import LIMIT, PROGRAM, Program, orchestrators

pytestmark = pytest.mark.timeout(300)


def at_once(onepen: Program, *commands: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """The commands started together: how each ended."""
    children = [
        subprocess.Popen(
            [PROGRAM, "-C", "ws", *command], cwd=onepen.home, env=onepen.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for command in commands
    ]  # fmt: skip
    ended = [(child, *child.communicate(timeout=240)) for child in children]
    return [(child.returncode, out, err) for child, out, err in ended]


def day_log(onepen: Program) -> list[str]:
    (day,) = onepen.home.glob("ws/memory/20*.md")
    return [line.rpartition("] ")[2] for line in day.read_text().splitlines() if "[note]" in line]


@pytest.mark.parametrize("many", [6, pytest.param(50, marks=pytest.mark.long)])
def test_of_many_that_start_at_once_one_runs_and_the_others_are_its_clients(many: int, tmp_path: Path) -> None:
    """F14: 6, and 50, at once."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    ended = at_once(onepen, *[("up", "--json")] * many)
    told = [json.loads(out)["orchestrator"]["pid"] for code, out, _ in ended if code == 0]
    busy = [err for code, _, err in ended if code == 5]
    assert len(told) + len(busy) == many, ended
    assert all("process" in err for err in busy)
    assert len(set(told)) == 1
    deadline = time.monotonic() + LIMIT
    while len(orchestrators(tmp_path)) > 1:  # those that found it held are on their way out
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert list(orchestrators(tmp_path)) == [told[0]]


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_lines_and_work_at_once_lose_nothing(rounds: int, tmp_path: Path) -> None:
    """Starting, handing over and writing by oneself happen side by side; each line stands there once."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    wanted: set[str] = set()
    for number in range(rounds):
        lines = [f"line {number}.{n}" for n in range(4)]
        wanted.update(lines)
        work = ("delegate", "Find it", "--model", "offline", "--answer", "--json")
        ended = at_once(onepen, *(("log", line) for line in lines), work)
        assert [code for code, _, _ in ended] == [0] * 5, ended
        onepen.ok("-C", "ws", "down", "--now")
    assert sorted(day_log(onepen)) == sorted(wanted)
    assert json.loads(onepen.ok("-C", "ws", "doctor", "--json").out)["ok"]


def test_one_that_waits_for_its_place_is_watched_and_after_a_kill_each_is_resumed(tmp_path: Path) -> None:
    """What goes on by itself needs no `resume`; when it was cut, `status` names what does, one after the other."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    (tmp_path / ".config/onepen").mkdir(parents=True)
    (tmp_path / ".config/onepen/config.toml").write_text("[workers]\nat_once = 1\n")
    rule = {"contains": "Wait", "delay": 60, "reply": [{"text": "done"}]}
    (tmp_path / "slow.json").write_text(json.dumps([rule]))
    work = ("delegate", "Wait one", "Wait two", "--answer", "--model", "scripted:slow.json")
    child = subprocess.Popen(
        [PROGRAM, "-C", "ws", *work], cwd=onepen.home, env=onepen.env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + LIMIT
    while True:
        told = json.loads(onepen.ok("-C", "ws", "status", "--json").out)
        if sorted(task["status"] for task in told["tasks"]) == ["queued", "running"]:
            break
        assert time.monotonic() < deadline, told
        time.sleep(0.05)
    assert told["next"] == "onepen status --watch"
    os.kill(told["orchestrator"]["pid"], signal.SIGKILL)
    _, err = child.communicate(timeout=60)
    assert "(next: onepen status)" in " ".join(err.split())
    for _ in told["tasks"]:
        command, verb, task = json.loads(onepen.ok("-C", "ws", "status", "--json").out)["next"].split()
        assert (command, verb) == ("onepen", "resume")
        onepen.ok("-C", "ws", "cancel", task)


@pytest.mark.parametrize("left", [b'{"pid": 1}', b"other-host 4242", b"", b"\x00\xff\x80"])
def test_a_lock_that_was_left_behind_stops_nobody(left: bytes, tmp_path: Path) -> None:
    """The kernel frees the lock with its holder, so what files say of another holder is only said (field case 69)."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    room = tmp_path / "ws/.onepen"
    room.mkdir(exist_ok=True)
    (room / "pen.lock").write_bytes(left)
    note = {"pid": 1, "host": "elsewhere", "since": "2020-01-01T00:00:00+00:00", "socket": "/nowhere/x.sock"}
    (room / "pen.json").write_bytes(left if b"\xff" in left else json.dumps(note).encode())
    onepen.ok("-C", "ws", "up")
    assert json.loads(onepen.ok("-C", "ws", "status", "--json").out)["orchestrator"]["pid"] in orchestrators(tmp_path)
