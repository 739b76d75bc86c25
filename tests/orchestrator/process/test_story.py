"""The orchestrator in the background, as a person with several terminals meets it: real processes throughout."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.program import LIMIT, PROGRAM, Program, orchestrators

pytestmark = pytest.mark.timeout(180)  # it starts up to fifteen programs, one after another


def script(delay: float) -> str:
    finding = {"title": "Cones", "text": "# Cones\n\n- cone 6 at 1222 degrees\n"}
    return json.dumps(
        [
            {"turn": 1, "reply": [{"tool": "write_draft", "input": finding}]},
            {"turn": 2, "delay": delay, "reply": [{"tool": "report", "input": {"summary": "done"}}]},
        ]
    )


def until(reached: Callable[[], object], seconds: float = LIMIT) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Home:
    """A workspace, the terminals in front of it, and what runs behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.onepen = Program(folder)
        self.onepen.ok("init", "ws")
        self.say(90)

    def say(self, delay: float) -> None:
        """The model's second reply comes after so many seconds."""
        (self.folder / "script.json").write_text(script(delay))

    def terminal(self, *args: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [PROGRAM, "-C", "ws", *args],
            cwd=self.folder, env=self.onepen.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def delegates(self, *args: str) -> "subprocess.Popen[bytes]":
        """A terminal whose task hangs in its second model call."""
        before = set(self.drafts())
        child = self.terminal("delegate", "Find it", "--model", "scripted:script.json", "--json", *args)
        until(lambda: set(self.drafts()) - before)
        return child

    def drafts(self) -> list[Path]:
        return list(self.folder.glob("ws/staging/*/1/drafts/*.md"))

    def __call__(self, *args: str) -> Any:
        return self.onepen.ok("-C", "ws", *args, "--json").json

    @property
    def pid(self) -> int | None:
        told = self("status")["orchestrator"]
        return None if told is None else int(told["pid"])

    @property
    def tasks(self) -> dict[str, str]:
        return {task["task"]: task["status"] for task in self("status")["tasks"]}

    def log(self) -> list[str]:
        (path,) = self.folder.glob("ws/memory/20*.md")
        return [line.split("] ", 1)[1] for line in path.read_text().splitlines() if "] " in line]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def ended(child: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    out, err = child.communicate(timeout=LIMIT)
    return child.returncode, out.decode(), err.decode()


def test_the_story_of_two_terminals(home: Home) -> None:
    """Delegate in one, look and log in another; close the first: the work goes on. Kill the orchestrator: nothing that
    was told is lost, the next command says how to go on, and it does.
    """
    first = home.delegates()
    pid = home.pid
    assert pid in orchestrators(home.folder)
    (task,) = home.tasks
    assert home.tasks == {task: "running"}
    assert home("log", "called Ana")["commit"]
    first.send_signal(signal.SIGHUP)
    assert ended(first)[0] != 0
    assert (home.pid, home.tasks) == (pid, {task: "running"})

    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: not orchestrators(home.folder))
    assert home.tasks == {task: "interrupted"}
    assert home("log", "and Ben")["commit"]  # nobody runs: the command takes the pen itself
    assert not orchestrators(home.folder)
    home.say(0)
    (resumed,) = home("resume", task)["tasks"]
    assert (resumed["task"], resumed["status"]) == (task, "in_review")
    assert home.pid != pid
    home("approve", resumed["drafts"][0]["id"], "--yes")
    assert home.log()[:2] == ["called Ana", "and Ben"]
    assert home("doctor")["ok"]


def test_it_says_that_it_runs_and_down_ends_it(home: Home) -> None:
    home.say(0)
    ran = home.onepen.ok("-C", "ws", "delegate", "Find it", "--model", "scripted:script.json")
    assert "the orchestrator runs in the background now" in ran.err
    ran = home.onepen.ok("-C", "ws", "delegate", "Find it", "--model", "scripted:script.json")
    assert "in the background" not in ran.err
    told = home("down")
    assert (told["ended"], told["ran"]) == (True, [])
    assert not orchestrators(home.folder)
    assert home("down") == {"orchestrator": None, "started": False, "ended": False, "ran": []}
    assert list(Path(f"/tmp/onepen-{os.getuid()}").glob(f"*-{(home.folder / 'ws').stat().st_ino:x}.sock")) == []


def test_up_is_done_once(home: Home) -> None:
    one, two = home("up"), home("up")
    assert (one["started"], two["started"]) == (True, False)
    assert one["orchestrator"] == two["orchestrator"]
    ran = home.onepen("-C", "ws", "up", "--foreground")
    assert ran.code == 5
    assert f"process {one['orchestrator']['pid']}" in ran.err


def test_detached_it_prints_the_tasks_and_leaves(home: Home) -> None:
    home.say(1)
    told = home("delegate", "Find it", "--model", "scripted:script.json", "--detach")
    (task,) = told["tasks"]
    assert task["status"] in {"queued", "running"}
    until(lambda: home.tasks.get(task["task"]) == "in_review")


def test_ctrl_c_once_lets_it_finish_and_twice_ends_it_but_nobody_elses(home: Home) -> None:
    home.say(5)
    other = home.delegates()
    home.say(90)
    mine = home.delegates()
    mine.send_signal(signal.SIGINT)
    assert mine.stderr is not None
    said = ""
    while "Ctrl-C again" not in said:
        said += mine.stderr.readline().decode()
    mine.send_signal(signal.SIGINT)
    code, out, err = ended(mine)
    assert code == 130, (code, out, err)
    (task,) = json.loads(out)["tasks"]
    assert task["status"] == "interrupted"
    assert f"onepen resume {task['task']}" in err
    code, out, _ = ended(other)
    assert (code, json.loads(out)["tasks"][0]["status"]) == (0, "in_review")


def test_down_lets_what_runs_finish_and_now_doesnt(home: Home) -> None:
    home.say(1.5)
    child = home.delegates()
    ran = home.onepen.ok("-C", "ws", "down")
    assert "waiting for what runs: delegate " in ran.err
    assert ended(child)[0] == 0
    home.say(90)
    child = home.delegates()
    begun = time.monotonic()
    home.onepen.ok("-C", "ws", "down", "--now")
    assert time.monotonic() - begun < 10
    code, out, _ = ended(child)
    assert (code, json.loads(out)["tasks"][0]["status"]) == (130, "interrupted")
    assert "interrupted" in home.tasks.values()


def test_while_it_ends_it_takes_lines_but_no_work(home: Home) -> None:
    child = home.delegates()
    pid = home.pid
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    until(lambda: "told to end" in home.onepen("-C", "ws", "delegate", "More", "--model", "offline").err)
    assert home("log", "still here")["commit"]
    os.kill(pid, signal.SIGTERM)
    assert ended(child)[0] == 130


def test_one_that_is_killed_leaves_no_worker_and_its_client_says_what_it_knows(home: Home) -> None:
    child = home.delegates()
    pid = home.pid
    assert pid is not None
    workers = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert workers
    os.kill(pid, signal.SIGKILL)
    until(lambda: not any(Path(f"/proc/{worker}/cmdline").is_file() for worker in workers), 5)
    code, _, err = ended(child)
    (task,) = home.tasks
    assert code == 1
    assert f"the orchestrator (process {pid}) ended before this was done" in err
    assert f"onepen resume {task}" in err


def test_a_stopped_one_is_not_waited_for_without_end(home: Home) -> None:
    pid = home("up")["orchestrator"]["pid"]
    os.kill(pid, signal.SIGSTOP)
    ran = home.onepen.ok("-C", "ws", "down", "--now")
    assert f"process {pid}" in ran.err
    assert home("log", "x")["commit"]


def test_idle_it_ends_by_itself(home: Home) -> None:
    pid = home("up", "--idle", "0.2")["orchestrator"]["pid"]
    until(lambda: pid not in orchestrators(home.folder))
    assert home("log", "x")["commit"]


def test_no_key_stays_with_it(home: Home) -> None:
    secrets = {"ANTHROPIC_API_KEY": "made-up-key-1", "ANTHROPIC_AUTH_TOKEN": "made-up-2", "AWS_SECRET": "made-up-3"}
    home.say(0)
    home.onepen.ok("-C", "ws", "delegate", "Find it", "--model", "scripted:script.json", env=secrets)
    (pid,) = orchestrators(home.folder)
    assert b"made-up" not in Path(f"/proc/{pid}/environ").read_bytes()
    assert b"made-up" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    home("down")
    log = home.folder / "ws/.onepen/orchestrator.log"
    assert log.stat().st_mode & 0o777 == 0o600
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["event"] for event in events][:2] == ["began", "done"]
    assert "Find it" not in log.read_text()
    assert "made-up" not in log.read_text()


def test_foreground_needs_no_orchestrator_and_leaves_none(home: Home) -> None:
    home.say(0)
    told = home("delegate", "Find it", "--model", "scripted:script.json", "--foreground")
    assert told["tasks"][0]["status"] == "in_review"
    assert not orchestrators(home.folder)
    home("up")
    ran = home.onepen("-C", "ws", "delegate", "Find it", "--model", "scripted:script.json", "--foreground")
    assert (ran.code, "the pen is held by process" in ran.err) == (5, True)
    assert "onepen down" in " ".join(ran.err.split())


def test_a_start_that_fails_is_told_with_its_reason(home: Home) -> None:
    """The workspace's lock can't be opened: the command says so, not the log alone."""
    home.onepen.ok("-C", "ws", "log", "x")
    lock = home.folder / "ws/.onepen/pen.lock"
    lock.unlink()
    lock.mkdir()
    ran = home.onepen("-C", "ws", "up")
    assert ran.code != 0
    assert ".onepen/pen.lock" in ran.err


def test_a_folder_that_came_with_a_note_of_its_own_leads_nowhere(home: Home, tmp_path: Path) -> None:
    """A cloned `.onepen/pen.json` names a socket of somebody else: nothing is sent to it."""
    trap = tmp_path / "trap"
    trap.mkdir(mode=0o700)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(trap / "agent.sock"))
    listening.listen()
    listening.setblocking(False)
    room = home.folder / "ws/.onepen"
    room.mkdir(exist_ok=True)
    note = {"pid": os.getpid(), "host": "vm", "since": "x", "socket": str(trap / "agent.sock"), "version": "0.1.0"}
    (room / "pen.json").write_text(json.dumps(note))
    assert home("log", "x")["commit"]
    with pytest.raises(BlockingIOError):
        listening.accept()
    listening.close()
