"""Sub-agents that start together pay for what they share once: real workers, a real server's double with its cache."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.herd import EXAMPLE, TARGET, ran
from benchmarks.startup import fresh_copy

REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_small_herd_stays_near_its_lower_bound(tmp_path: Path) -> None:
    herd = ran(fresh_copy(EXAMPLE, tmp_path / "ws"), ("writer", "researcher"), 5, 0.1, gate=True)
    assert herd.workers.calls == 15 and herd.everything.calls == 20
    assert 0.9 < herd.workers.ratio <= TARGET


@pytest.mark.long
@pytest.mark.timeout(300)
def test_twenty_at_once_with_the_gate_and_without() -> None:
    # A server so slow that all have begun before its first reply does, however busy the machine is.
    command = (sys.executable, "-m", "benchmarks.herd", "--json", "--latency", "3")
    found = json.loads(subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout)
    for row in found["herds"]:
        assert row["calls"] == 60
        assert row["times_bound"] <= TARGET if row["gate"] else row["times_bound"] > 1.9, row
