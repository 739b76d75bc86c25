"""The orchestrator is killed in every way while workers run: nothing that they started stays."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onepen.subagents.process.forkserver import ForkServer
from onepen.testing.processes import below, marked, wait_until
from onepen.testing.program import Program

pytestmark = pytest.mark.skipif(not ForkServer.possible(), reason="orphans are taken in on Linux only")

WORKERS = 20
STEPS = [
    ["hello"],
    ["shell", "printf 'Cone 6 was reached.\\n' > note.md"],
    ["background", "setsid sh -c 'sleep 600 & exec sleep 601' & setsid sleep 602 & exec setsid sleep 603"],
    ["shell", "touch up"],
    ["deaf"],
    ["sleep", 600],
]
"""Each worker has four more processes in three sessions of their own, and ignores SIGTERM."""
EACH = 5

PROGRAM = f"""
import sys
from onepen.orchestrator.commands.app import main
from onepen.subagents.pool import ProcessPool
from onepen.testing.worker import worker

made = ProcessPool.__init__

def free(self, command=None, *rest, level=None, **given):
    made(self, worker(*{STEPS!r}), *rest, **given)

ProcessPool.__init__ = free  # workers that nothing confines: the sandbox alone would keep most of this from happening
main()
"""


class Place:
    """A workspace with a home of its own, which all its processes bear in their environment."""

    def __init__(self, home: Path, workers: int = WORKERS) -> None:
        self.onepen = Program(home)
        self.home = home.resolve()
        self.workspace = self.home / "ws"
        self.texts = [f"Task {number}" for number in range(workers)]
        self.onepen.ok("init", "ws")

    def processes(self) -> list[int]:
        return marked(f"HOME={self.home}")

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, *words],
            cwd=self.workspace, env=self.onepen.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    @contextmanager
    def at_work(self, *, background: bool) -> Iterator["subprocess.Popen[bytes]"]:
        """An orchestrator with all its workers at work, each with its processes."""
        before = len(list(self.workspace.glob("staging/*/1/drafts/up")))
        if background:
            process = self.start("up", "--foreground")
            pen = self.workspace / ".onepen/pen.json"
            wait_until(lambda: pen.exists() and json.loads(pen.read_bytes() or b"{}").get("pid") == process.pid)
            self.onepen.ok("delegate", *self.texts, "--detach", cwd=self.workspace)
        else:
            process = self.start("delegate", *self.texts, "--foreground")
        try:
            wait_until(lambda: len(list(self.workspace.glob("staging/*/1/drafts/up"))) == before + len(self.texts))
            wait_until(lambda: len(below(process.pid)) >= EACH * len(self.texts))
            yield process
        finally:
            process.kill()
            process.wait()

    def survived(self, since: float) -> float:
        """Seconds until nobody was left."""
        wait_until(lambda: not self.processes())
        return time.monotonic() - since

    def is_sound(self, tasks: int) -> None:
        """FR-44: what was drafted is there, each task is said to be interrupted, and the memory is whole."""
        assert self.onepen.json("doctor", cwd=self.workspace)["ok"]
        found = self.onepen.json("status", cwd=self.workspace)["tasks"]
        assert [task["status"] for task in found] == ["interrupted"] * tasks
        assert len(list(self.workspace.glob("staging/*/1/drafts/note.md"))) == tasks


def killed(tmp_path: Path, rounds: int) -> list[float]:
    """F23: kill -9 of the orchestrator, again and again; how long the last of each round took to end."""
    took = []
    for number in range(rounds):
        home = tmp_path / f"{number}"
        home.mkdir()
        place = Place(home)
        with place.at_work(background=True) as orchestrator:
            orchestrator.kill()
            began = time.monotonic()
            orchestrator.wait()
            took.append(place.survived(began))
        if number % 10 == 0:
            place.is_sound(WORKERS)
    return took


def test_killed_with_workers_and_what_has_left_them(tmp_path: Path) -> None:
    """F23, FR-44: 0 survivors of 100 processes; in 250 ms where nothing else runs, soon where much does."""
    assert max(killed(tmp_path, 3)) < 5


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_killed_fifty_times(tmp_path: Path) -> None:
    took = killed(tmp_path, 50)
    print(
        f"0 survivors in {len(took)} rounds; {statistics.median(took):.3f} s at the median, {max(took):.3f} s at most"
    )
    assert max(took) < 5


@pytest.mark.parametrize(
    ("number", "times", "background"),
    [
        (signal.SIGHUP, 1, False),
        (signal.SIGTERM, 1, False),
        (signal.SIGINT, 2, False),
        (signal.SIGKILL, 1, False),
        (signal.SIGTERM, 2, True),
    ],
    ids=["terminal closed", "terminated", "Ctrl-C twice", "killed in the foreground", "terminated in the background"],
)
def test_ended_by_a_signal(tmp_path: Path, number: signal.Signals, times: int, background: bool) -> None:
    """FR-44: SIGHUP, SIGTERM and Ctrl-C, too. A worker that ignores SIGTERM takes its grace, no more."""
    place = Place(tmp_path, workers=3)
    with place.at_work(background=background) as orchestrator:
        for _ in range(times):
            orchestrator.send_signal(number)
            time.sleep(0.2)
        began = time.monotonic()
        assert place.survived(began) < 10
    place.is_sound(3)


@pytest.mark.parametrize("who", ["warden", "server"])
def test_the_warden_or_the_server_is_killed(tmp_path: Path, who: str) -> None:
    """F23: whichever of the two it is, the workers and all that had left them end; the orchestrator goes on."""
    place = Place(tmp_path, workers=3)
    with place.at_work(background=True) as orchestrator:
        (warden,) = direct(orchestrator.pid)
        (server,) = direct(warden)
        before = set(place.processes()) - {orchestrator.pid}
        os.kill(warden if who == "warden" else server, signal.SIGKILL)
        wait_until(lambda: not before & set(place.processes()))
        assert orchestrator.poll() is None


def direct(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
