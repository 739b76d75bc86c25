"""kill -9 at random moments, with real processes: nothing is lost, nothing twice, no process stays."""

import json
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from onepen.testing.program import LIMIT, PROGRAM, Program, end_orchestrators

QUESTION = "At how many degrees was cone 6 reached?"


def processes_of(home: Path) -> list[int]:
    """The processes that were started with this HOME, by /proc."""
    mark = f"HOME={home}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            alive = (entry / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
            if alive and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def no_process_stays(home: Path) -> None:
    deadline = time.monotonic() + 5
    while processes_of(home):
        assert time.monotonic() < deadline, f"still there: {processes_of(home)}"
        time.sleep(0.01)


def committed(ws: Path, what: str) -> Counter[str]:
    """How many commits each task or draft has, by the history's own files."""
    lines = [json.loads(line) for log in (ws / "logs").glob("commits-*") for line in log.read_text().splitlines()]
    return Counter(line[what] for line in lines if line[what])


def rounds(tmp_path: Path, count: int, *options: str) -> None:
    """Kills the orchestrator at random moments of a `delegate`: with --foreground that is the command itself."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    ws = tmp_path / "ws"
    source = tmp_path / "cones.md"
    source.write_text("# Cones\n\nCone 6 was reached at 1222 degrees.\n")
    command = [str(PROGRAM), "delegate", QUESTION, "--input", str(source), "--review", "auto", "--json", *options]
    began = time.monotonic()
    onepen.ok(*command[1:], cwd=ws)
    usual = time.monotonic() - began
    finished = 1
    for _ in range(count):
        process = subprocess.Popen(
            command,
            cwd=ws,
            env=onepen.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(timeout=random.uniform(0.1, 1.1) * usual)
        except subprocess.TimeoutExpired:
            if options:
                process.kill()
            end_orchestrators(tmp_path)
            process.wait(LIMIT)
        end_orchestrators(tmp_path)
        no_process_stays(tmp_path)
        assert onepen.json("doctor", cwd=ws)["ok"]
        for task in onepen.json("status", cwd=ws)["tasks"]:
            assert task["status"] in {"interrupted", "queued", "in_review"}, task
            done = onepen.json("resume", task["task"], cwd=ws)
            assert [t["status"] for t in done["tasks"]] == ["committed"], done
        begun = [p for p in (ws / "staging").iterdir() if (p / "task.md").exists()]
        finished = len(begun)
    assert onepen.json("doctor", cwd=ws)["ok"]
    assert committed(ws, "task") == {p.name: 1 for p in begun}
    assert len(list((ws / "research").glob("at-how-many*.md"))) == finished
    lines = [json.loads(line) for log in (ws / "logs").glob("usage-*") for line in log.read_text().splitlines()]
    booked = Counter((line["task"], line["attempt"], line.get("call", 0)) for line in lines)
    assert set(booked.values()) == {1}, "each response is booked once"


def test_delegate_killed_at_random_moments(tmp_path: Path) -> None:
    rounds(tmp_path, 3, "--foreground")


def test_the_orchestrator_killed_at_random_moments_of_a_delegate(tmp_path: Path) -> None:
    rounds(tmp_path, 3)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("options", [("--foreground",), ()])
def test_delegate_killed_at_many_random_moments(tmp_path: Path, options: tuple[str, ...]) -> None:
    rounds(tmp_path, 60, *options)


def approvals(tmp_path: Path, count: int) -> None:
    """F29: kills `approve` instead: what was answered is in memory, and in the end each draft is there once."""
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    ws = tmp_path / "ws"
    source = tmp_path / "cones.md"
    source.write_text("# Cones\n\nCone 6 was reached at 1222 degrees.\n")
    texts = [f"Note {k}: at how many degrees was cone 6 reached?" for k in range(count)]
    onepen.ok("delegate", *texts, "--input", source, "--foreground", cwd=ws)
    waiting = [d["id"] for d in onepen.json("drafts", cwd=ws)["drafts"]]
    assert len(waiting) == count
    began = time.monotonic()
    onepen.ok("approve", waiting[0], cwd=ws)
    usual = time.monotonic() - began
    for draft in waiting[1:]:
        process = subprocess.Popen(
            [PROGRAM, "approve", draft], cwd=ws, env=onepen.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(random.uniform(0.4, 1.1) * usual)
        process.kill()
        process.wait()
        assert onepen.json("doctor", cwd=ws)["ok"]
    for draft in waiting:
        onepen.ok("approve", draft, cwd=ws)
    assert committed(ws, "draft") == dict.fromkeys(waiting, 1)
    assert len(list((ws / "research").glob("note-*.md"))) == count
    assert onepen.json("doctor", cwd=ws)["ok"]


@pytest.mark.timeout(240)
def test_approve_killed_at_random_moments(tmp_path: Path) -> None:
    approvals(tmp_path, 4)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_approve_killed_at_many_random_moments(tmp_path: Path) -> None:
    approvals(tmp_path, 40)
