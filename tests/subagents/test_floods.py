"""F20: workers that flood, as real processes: cut at the cap, and next to nothing of it stays in our memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onepen.subagents.hoard import overfull
from onepen.subagents.pool import Failed, Limits, Reported
from onepen.subagents.toolbox.workfolder import WorkFolder
from onepen.testing.bench import Bench
from onepen.testing.worker import worker

DONE = ["report", {"summary": "done"}]
MIB = 1 << 20

# Runs each flood with a pool of its own process, so that what is measured is the pool's alone.
MEASURED = """
import json, resource, sys, tempfile
from pathlib import Path
from onepen.subagents.pool import Limits
from onepen.testing.bench import Bench
from onepen.testing.worker import worker

def peak():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) << 10

steps = json.loads(sys.argv[1])
bench = Bench.make(Path(sys.argv[2]))
bench.run(worker(["report", {"summary": "warm"}]))
Path("/proc/self/clear_refs").write_text("5")
before = peak()
ending = bench.run(worker(*steps), limits=Limits(seconds=60), attempt=2)
print(json.dumps({"grown": peak() - before, "reason": getattr(ending, "reason", type(ending).__name__)}))
"""
FLOODS: dict[str, tuple[list[list[Any]], str]] = {
    "1 GiB on stdout": ([["flood", 1 << 30]], "it printed more than 8388608 bytes beside the wire"),
    "an endless line": ([["endless", 1 << 30]], "it printed more than 8388608 bytes beside the wire"),
    "an endless message": (
        [["print", '{"v":1,"task":"t1abc","attempt":1,"type":"report","summary":"'], ["endless", 1 << 30]],
        "it printed more than 8388608 bytes beside the wire",
    ),
    "1 GiB on stderr": ([["stderr", 1 << 30], DONE], "it printed more than 67108864 bytes on stderr"),
    "100,000 files": (
        [["shell", "i=0; while [ $i -lt 100000 ]; do : > f$i.md; i=$((i+1)); done"], ["sleep", 60]],
        "it left more than 4,000 files in drafts/",
    ),
    "100,000 files in folders": (
        [["shell", "for d in $(seq 100); do mkdir $d; for f in $(seq 1000); do : > $d/$f; done; done"], ["sleep", 60]],
        "it left more than 4,000 files in drafts/",
    ),
    "a file of 10 GiB with holes": (
        [["shell", "truncate -s 10G big.md"], ["sleep", 60]],
        "it left more than 64 MiB in drafts/",
    ),
    "many large files": (
        [["shell", "for i in $(seq 80); do truncate -s 1M f$i.md; done"], ["sleep", 60]],
        "it left more than 64 MiB in drafts/",
    ),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc to measure memory")
@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_cut_at_the_cap_and_costs_no_memory(name: str, tmp_path: Path) -> None:
    """F20, with what the process that runs the pool took more at its peak: 8 MiB at most."""
    steps, reason = FLOODS[name]
    command = [sys.executable, "-P", "-c", MEASURED, json.dumps(steps), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["reason"] == reason
    assert told["grown"] <= 8 * MIB, f"{told['grown'] / MIB:.1f} MiB"


def test_what_is_allowed_is_left_alone(bench: Bench) -> None:
    steps = (["shell", "for i in $(seq 20); do echo $i > f$i.md; done"], ["sleep", 2.2], DONE)
    assert isinstance(bench.run(worker(*steps), limits=Limits(draft_files=20)), Reported)


def test_one_that_reports_in_time_is_heard_first(bench: Bench) -> None:
    """What it left is then refused where drafts are read; the report is no less true."""
    steps = (["shell", "for i in $(seq 40); do : > f$i.md; done"], DONE)
    assert isinstance(bench.run(worker(*steps), limits=Limits(draft_files=20)), Reported)


def test_one_that_ignores_signals_is_cut_as_well(bench: Bench) -> None:
    steps = (["deaf"], ["shell", "trap '' TERM; for i in $(seq 40); do : > f$i.md; done; sleep 60"])
    ending = bench.run(worker(*steps), limits=Limits(draft_files=20))
    assert isinstance(ending, Failed) and ending.reason == "it left more than 20 files in drafts/"
    assert ending.seconds < 6
    assert "it left more than 20 files in drafts/; the worker was still running and was ended" in bench.log


def test_what_is_measured(tmp_path: Path) -> None:
    assert overfull(tmp_path / "none", 0, 0) is None
    (tmp_path / "a").write_text("x" * 10)
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c").symlink_to("/usr")
    assert overfull(tmp_path, 3, 1000) is None
    assert overfull(tmp_path, 2, 1000) == f"it left more than 2 files in {tmp_path.name}/"
    (tmp_path / "a").write_text("x" * MIB)
    assert overfull(tmp_path, 3, MIB - 1) == f"it left more than 0 MiB in {tmp_path.name}/"


def test_nothing_is_hidden_below_what_a_path_can_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(30):
        os.mkdir("d" * 200)  # noqa: PTH102 - no path is as long as this gets
        os.chdir("d" * 200)
    assert overfull(tmp_path, 100, MIB) == (
        f"it left a folder in {tmp_path.name}/ that can't be looked into: File name too long"
    )
    assert WorkFolder(tmp_path).overfull() == "a folder that can't be looked into"


def test_nothing_is_hidden_in_a_folder_that_cant_be_listed(nobodys: Path) -> None:
    """Who has no rights of root can write into such a folder, and onepen can't count what lies there."""
    (nobodys / "b").mkdir(0o300)
    (nobodys / "b/c").touch()
    told = overfull(nobodys, 100, MIB)
    counted = WorkFolder(nobodys).overfull()
    (nobodys / "b").chmod(0o700)
    assert told == f"it left a folder in {nobodys.name}/ that can't be looked into: Permission denied"
    assert counted == "a folder that can't be looked into"
