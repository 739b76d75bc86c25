"""`onepen status --watch` beside work in the background, and what the orchestrator makes of one who watches."""

import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.program import PROGRAM
from onepen.testing.story import Story, wait_until

from .conftest import Install
from .test_silent import NOTE, delegate, writes

WORKERS: dict[str, list[list[Any]]] = {
    "works": [
        ["hello"],
        ["send", "progress", {"text": "reads the note"}],
        ["sleep", 1.0],
        writes("works"),
        ["send", "progress", {"text": "wrote it down"}],
        ["sleep", 1.0],
        ["report", {"summary": "done"}],
    ],
}


@pytest.fixture
def story(install: Install, tmp_path: Path) -> Story:
    (tmp_path / "n.md").write_text(NOTE)
    return Story(tmp_path, install(WORKERS))


def watching(story: Story, *options: str, out: Any) -> "subprocess.Popen[bytes]":
    env = {"PATH": f"{PROGRAM.parent}:{os.environ['PATH']}", "HOME": str(story.home), "TERM": "xterm"}
    command = [str(PROGRAM), "-C", str(story.workspace), "status", "--watch", *options]
    return subprocess.Popen(command, env=env, cwd="/", stdin=subprocess.DEVNULL, stdout=out)


def whole_lines(out: Path) -> list[str]:
    return out.read_text().rpartition("\n")[0].splitlines()


def test_each_change_is_told_until_ctrl_c_also_through_a_kill(story: Story) -> None:
    with story:
        story.tell("onepen init ws")
        plain, documents = story.home / "plain", story.home / "documents"
        with plain.open("wb") as one, documents.open("wb") as other:
            both = [watching(story, out=one), watching(story, "--json", out=other)]
            assert wait_until(lambda: "no orchestrator runs" in plain.read_text())
            story.tell(delegate("works", limit=50))
            assert wait_until(lambda: "researcher: committed" in plain.read_text()), plain.read_text()
            assert wait_until(lambda: '"status": "committed"' in documents.read_text())
            assert story.kill()
            assert wait_until(lambda: plain.read_text().count("no orchestrator runs") == 2)
            assert wait_until(lambda: json.loads(whole_lines(documents)[-1])["orchestrator"] is None)
            for process in both:
                process.send_signal(signal.SIGINT)
            assert [process.wait(10) for process in both] == [0, 0]
        said = [line.partition(" ")[2] for line in plain.read_text().splitlines()]
        task = said[2].split()[0]
        wanted = [f"{task} researcher: {words}" for words in ("reads the note", "wrote it down", "committed")]
        assert [line for line in said if line in wanted] == wanted
        told = [json.loads(line) for line in documents.read_text().splitlines()]
        assert {worker["doing"] for one in told for worker in one["workers"]} >= {"reads the note", "wrote it down"}
        assert [left["status"] for one in told for left in one["left"]] == ["committed"]
        assert told[-1]["orchestrator"] is None and told[-1]["cards"] == 1


def test_on_a_terminal_it_is_one_screen_and_ctrl_c_leaves(story: Story) -> None:
    with story:
        story.tell("onepen init ws", "onepen -C ws up")
        ours, theirs = pty.openpty()
        process = watching(story, out=theirs)
        os.close(theirs)
        said = b""
        story.tell(delegate("works", limit=50, more="--detach"))
        deadline = time.monotonic() + 20
        while b"committed" not in said and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.2)[0]:
                said += os.read(ours, 1 << 16)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        os.close(ours)
        text = said.decode()
        assert "1 at work" in text and "reads the note" in text and "wrote it down" in text
        assert "\x1b[J" in text and "Traceback" not in text


def test_who_watches_keeps_no_orchestrator_from_ending(story: Story) -> None:
    with story:
        story.tell("onepen init ws")
        out = story.home / "out"
        with out.open("wb") as file:
            process = watching(story, out=file)
            assert wait_until(lambda: "no orchestrator runs" in out.read_text())
            story.tell("onepen -C ws up --idle 4")
            assert wait_until(lambda: "0 at work" in out.read_text())
            assert wait_until(lambda: story.orchestrator() is None, 15), "idle for four seconds"
            story.tell("onepen -C ws up")
            assert wait_until(lambda: out.read_text().count("0 at work") == 2)
            began = time.monotonic()
            story.tell("onepen -C ws down")
            assert time.monotonic() - began < 5
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0


def test_a_reader_that_goes_away_ends_it(story: Story) -> None:
    with story:
        ran = story.tell("onepen init ws", "timeout 20 onepen -C ws status --watch --json | head -n 1")[-1]
        assert ran.json["drafts_waiting"] == 0 and ran.err == ""
