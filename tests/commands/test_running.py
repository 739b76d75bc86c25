"""Work in the foreground that is stopped: once to start nothing new, twice to stop now; resume goes on."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from onepen.testing.program import LIMIT, PROGRAM, Program


def script(delay: float) -> str:
    finding = {"title": "Cones", "text": "# Cones\n\n- cone 6 at 1222 degrees\n"}
    return json.dumps(
        [
            {"turn": 1, "reply": [{"tool": "write_draft", "input": finding}]},
            {"turn": 2, "delay": delay, "reply": [{"tool": "report", "input": {"summary": "done"}}]},
        ]
    )


class Work:
    """A delegated task that hangs in its second model call for `delay` seconds."""

    def __init__(self, folder: Path, delay: float) -> None:
        self.onepen = Program(folder)
        self.onepen.ok("init", "ws")
        (folder / "slow.json").write_text(script(delay))
        (folder / "quick.json").write_text(script(0))
        self.child = subprocess.Popen(
            [PROGRAM, "-C", "ws", "delegate", "Find it", "--model", "scripted:slow.json", "--json", "--foreground"],
            cwd=folder, env=self.onepen.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            bufsize=0, start_new_session=True,
        )  # fmt: skip
        self.staging = folder / "ws/staging"
        self._until(lambda: bool(list(self.staging.glob("*/1/drafts/*.md"))))

    def _until(self, reached: object) -> None:
        deadline = time.monotonic() + LIMIT
        while not reached():  # type: ignore[operator]
            assert time.monotonic() < deadline and self.child.poll() is None
            time.sleep(0.01)

    @property
    def task(self) -> str:
        (folder,) = self.staging.iterdir()
        return folder.name

    def end(self) -> tuple[int, str, str]:
        out, err = self.child.communicate(timeout=LIMIT)
        return self.child.returncode, out.decode(), err.decode()

    def reads(self, text: str) -> str:
        """What comes on stderr up to the line that holds `text`."""
        assert self.child.stderr is not None
        said = ""
        while text not in said:
            line = self.child.stderr.readline().decode()
            assert line, said
            said += line
        return said

    def processes(self) -> list[str]:
        """Command lines of processes that have this workspace in theirs or as their folder."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    words = (entry / "cmdline").read_bytes().decode().replace("\0", " ")
                    session = os.getsid(int(entry.name))
                except OSError:
                    continue
                if str(self.onepen.home) in words or session == self.child.pid:
                    found.append(words)
        return found


def test_ctrl_c_once_lets_running_work_finish(tmp_path: Path) -> None:
    work = Work(tmp_path, delay=1.5)
    work.child.send_signal(signal.SIGINT)
    code, out, err = work.end()
    assert "Ctrl-C again" in err
    (task,) = json.loads(out)["tasks"]
    assert (task["status"], code) == ("in_review", 0)
    assert work.processes() == []


@pytest.mark.parametrize("signals", [[signal.SIGINT, signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP]])
def test_stopped_now_it_is_quick_says_how_to_go_on_and_leaves_no_process(
    signals: list[signal.Signals], tmp_path: Path
) -> None:
    work = Work(tmp_path, delay=20)
    begun = time.monotonic()
    said = ""
    for number in signals:
        work.child.send_signal(number)
        said += work.reads("Ctrl-C again" if number == signal.SIGINT and not said else "stopping now")
    code, out, err = work.end()
    err = said + err
    assert time.monotonic() - begun < 10
    assert code == 130
    (task,) = json.loads(out)["tasks"]
    assert task["status"] == "interrupted"
    assert f"onepen resume {work.task}" in err
    assert work.processes() == []
    work.onepen.ok("doctor", "-C", "ws")
    assert f"onepen resume {work.task}" in work.onepen.ok("-C", "ws").out


def test_resume_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    work = Work(tmp_path, delay=20)
    work.child.send_signal(signal.SIGTERM)
    work.end()
    (tmp_path / "slow.json").write_text(script(0))
    ran = work.onepen("resume", work.task[:4], "-C", "ws", "--json")
    assert ran.code == 0, ran
    (task,) = ran.json["tasks"]
    assert (task["task"], task["status"], task["attempts"]) == (work.task, "in_review", 2)
    work.onepen.ok("approve", task["drafts"][0]["id"], "-C", "ws")


def test_under_nohup_a_hangup_stops_nothing(tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    (tmp_path / "slow.json").write_text(script(1.0))
    ran = onepen.shell(
        f"nohup {PROGRAM} -C ws delegate Find --model scripted:slow.json --json >out.json 2>err & "
        "sleep 0.8; kill -HUP $!; wait $!"
    )
    assert ran.code == 0
    assert json.loads((tmp_path / "out.json").read_text())["tasks"][0]["status"] == "in_review"


def test_killed_outright_the_next_command_says_so_and_resume_finishes(tmp_path: Path) -> None:
    work = Work(tmp_path, delay=20)
    work.child.kill()
    work.child.communicate(timeout=LIMIT)
    deadline = time.monotonic() + 10
    while work.processes() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert work.processes() == []
    assert f"onepen resume {work.task}" in work.onepen.ok("-C", "ws").out
    (tmp_path / "slow.json").write_text(script(0))
    assert work.onepen.json("resume", work.task, "-C", "ws")["tasks"][0]["status"] == "in_review"
