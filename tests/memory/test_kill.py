"""A process that commits is killed with signal 9 at random moments; what it acknowledged is there, and all of it."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.memory.commit.pen import Pen
from onepen.memory.files import is_tmp
from onepen.memory.history import read_commits
from onepen.memory.index.reconcile import drift
from onepen.memory.target import CardTarget
from onepen.memory.text.document import Document
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
WRITER = dedent(
    """\
    import sys
    from pathlib import Path
    from onepen.memory.text.card import CardEdit
    from onepen.memory.change import Change
    from onepen.memory.index.index import IndexEntry
    from onepen.memory.commit.pen import Pen
    from onepen.memory.target import parse_target
    from onepen.memory.workspace import open_workspace
    from onepen.testing.clock import FixedClock

    n = int(sys.argv[2])
    kiln = parse_target("projects/kiln.md")
    with Pen.open(open_workspace(Path(sys.argv[1])), FixedClock("2026-11-30T14:05:00+01:00")) as pen:
        print("open", flush=True)
        while True:
            pen.commit(Change(
                None, f"number {n}", "user:ana",
                edit=CardEdit(kiln, "replace", "count", f"number {n - 1}\\n", f"number {n}\\n"),
                index=(IndexEntry("count", f"Now at {n}."),),
                log=(("count", f"number {n}"),),
                key=f"k{n} projects/kiln.md",
            ))
            print(n, flush=True)
            n += 1
    """
)


def start(root: Path) -> int:
    """Where the writer goes on: one more than the card says."""
    return int((View(open_workspace(root)).text("projects/kiln.md") or "").split("number ")[1].split()[0]) + 1


def killed_after(root: Path, seconds: float) -> int:
    """Run a writer, kill it that long after it took the pen, give the last number that it acknowledged."""
    begin = start(root)
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(root), str(begin)], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    with writer.stdout as out:
        assert out.readline() == b"open\n"
        time.sleep(seconds)  # the moment of the kill is what is random here
        os.kill(writer.pid, signal.SIGKILL)
        said = out.read().splitlines()
    assert writer.wait() == -signal.SIGKILL
    return int(said[-1]) if said else begin - 1


def check(root: Path, acknowledged: int) -> None:
    workspace = open_workspace(root)
    reached = start(root) - 1  # as a reader sees it before recovery
    with Pen.open(workspace, CLOCK) as pen:
        assert {p.kind for p in pen.recovered} <= {"redo_rolled_forward", "redo_torn"}
    view = View(workspace)
    card = view.document(workspace.house, CardTarget("projects", view.cards(workspace.house, "projects")[0]))
    assert isinstance(card, Document)
    assert f"number {reached}\n" in card.text
    assert reached in (acknowledged, acknowledged + 1)
    index = view.index(workspace.house, "projects")
    assert drift(index, {"kiln": card}) == ()
    if reached:
        assert [entry.summary for entry in index.cards[0].entries] == [f"Now at {reached}."]
    day = view.text("memory/2026-11-30.md") or ""
    assert day.splitlines() == [f"- 14:05+01:00 [count] number {n}" for n in range(1, reached + 1)]
    keys = [commit.key for commit in read_commits(view, workspace.house) if commit.key]
    assert keys == [f"k{n} projects/kiln.md" for n in range(1, reached + 1)]
    assert [p for p in root.rglob("*") if is_tmp(p.name)] == []


def test_kill_9_at_twenty_random_moments(tmp_path: Path) -> None:
    kills(tmp_path, 20)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_kill_9_at_many_random_moments(tmp_path: Path) -> None:
    kills(tmp_path, 400)


def kills(root: Path, times: int) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    moments = random.Random(seed)
    (root / "projects").mkdir()
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / "projects" / "kiln.md").write_text("# Kiln\n\n## Count\n\nnumber 0\n")
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.reconcile(open_workspace(root).house)
    for _ in range(times):
        acknowledged = killed_after(root, moments.uniform(0, 0.06))
        check(root, acknowledged)
