"""Many shells at once on one workspace, and an orchestrator that is killed among them."""

import json
import os
import random
import re
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from onepen.testing.program import PROGRAM
from onepen.testing.story import Story

HANGS = 60
NOTES = "Cones\ncone 6 was reached at 1222 degrees\nthe kiln was cold again at noon\n"


@dataclass
class Crowd:
    """Shells that work until told to stop; what they were told is kept."""

    story: Story
    logged: list[str] = field(default_factory=list)
    approved: list[str] = field(default_factory=list)
    delegated: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def shell(self, *words: str) -> tuple[int, str, str]:
        try:
            done = subprocess.run(
                [PROGRAM, "-C", self.story.workspace, *words], cwd=self.story.home, stdin=subprocess.DEVNULL,
                env={"PATH": os.environ["PATH"], "HOME": str(self.story.home)}, capture_output=True, timeout=HANGS,
            )  # fmt: skip
        except subprocess.TimeoutExpired as e:
            return -1, "", f"hung for {HANGS} s: {(e.stderr or b'').decode()}"
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def work(self, number: int) -> None:
        """One client: what it does first depends on its number, then it goes round."""
        steps = (self.log, self.delegate, self.log, self.approve, self.search)
        turn = number
        while not self.over.is_set():
            steps[turn % len(steps)](f"{number}-{turn}")
            turn += 1

    def log(self, mark: str) -> None:
        code, out, err = self.shell("log", f"line <{mark}>", "--json")
        self._told("log", code, err, allowed={0, 1, 5})
        if code == 0:
            assert json.loads(out)["commit"]
            self.logged.append(mark)

    def delegate(self, mark: str) -> None:
        code, out, err = self.shell("delegate", "When was cone 6 reached?", "--input", "notes.md", "--json")
        self._told("delegate", code, err, allowed={0, 1, 5})
        if code == 0:
            self.delegated += [task["task"] for task in json.loads(out)["tasks"]]

    def approve(self, mark: str) -> None:
        code, out, err = self.shell("drafts", "--json")
        self._told("drafts", code, err, allowed={0})
        waiting = [draft for draft in json.loads(out)["drafts"] if draft["status"] == "waiting"]
        if waiting:
            draft = random.choice(waiting)
            code, out, err = self.shell("approve", draft["id"], "--sha256", draft["sha256"], "--json")
            self._told("approve", code, err, allowed={0, 1, 3, 5})
            if code == 0:
                self.approved.append(draft["id"])

    def search(self, mark: str) -> None:
        code, _, err = self.shell("search", "cone 6", "--json")
        self._told("search", code, err, allowed={0})

    def _told(self, verb: str, code: int, err: str, allowed: set[int]) -> None:
        self.tried[f"{verb} {code}"] += 1
        if code not in allowed or "internal error" in err or "Traceback" in err:
            self.wrong.append(f"{verb}: exit {code}: {err}")


@pytest.mark.parametrize(
    ("clients", "kills", "seconds"),
    [
        pytest.param(6, 5, 6, marks=pytest.mark.timeout(240)),
        pytest.param(20, 50, 60, marks=[pytest.mark.long, pytest.mark.timeout(1_800)]),
    ],
)
def test_nothing_that_was_acknowledged_is_lost(clients: int, kills: int, seconds: int, tmp_path: Path) -> None:
    with Story(tmp_path) as story:
        (story.home / "notes.md").write_text(NOTES)
        story.tell("onepen init ws", "onepen -C ws add project Kiln --id kiln")
        crowd = Crowd(story)
        shells = [threading.Thread(target=crowd.work, args=(n,)) for n in range(clients)]
        for shell in shells:
            shell.start()
        done, writers = 0, set()
        until = time.monotonic() + seconds
        while done < kills or time.monotonic() < until:
            time.sleep(random.uniform(0.05, 2 * seconds / max(1, kills)))
            writers |= {pid} if (pid := story.orchestrator()) else set()
            done += story.kill() if done < kills else 0
        crowd.over.set()
        for shell in shells:
            shell.join(120)
        story.tell("onepen -C ws doctor --json", "onepen -C ws status")
        log = "".join(path.read_text() for path in (story.workspace / "memory").glob("*-*-*.md"))
        lines = Counter(re.findall(r"line <([\d-]+)>", log))
        commits = [
            json.loads(line)
            for path in (story.workspace / "logs").glob("commits-*.jsonl")
            for line in path.read_text().splitlines()
        ]
        print(f"{clients} clients, {done} kills, {len(writers)} orchestrators: {dict(crowd.tried)}")
        assert crowd.wrong == []
        assert [mark for mark in crowd.logged if lines[mark] != 1] == []
        assert max(lines.values(), default=0) <= 1
        ids = Counter(commit["id"] for commit in commits)
        assert max(ids.values()) == 1
        committed = {commit["draft"] for commit in commits if commit.get("draft")}
        assert set(crowd.approved) <= committed
        assert max(Counter(commit["draft"] for commit in commits if commit.get("draft")).values(), default=0) <= 1
        assert done == kills
