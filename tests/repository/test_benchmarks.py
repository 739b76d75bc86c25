"""The benchmarks of sub-agents come to figures; that they mean something is told by what stands beside them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.throughput import Came, Load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
REPOSITORY = Path(__file__).resolve().parents[2]


def told(*arguments: str) -> Any:
    command = (sys.executable, "-m", *arguments, "--json")
    return json.loads(subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout)


def test_ideal_is_what_the_model_alone_takes() -> None:
    assert Load(200, 0.25, 50).ideal == 4 * 3 * 0.25
    assert Load(201, 0.25, 50).ideal == 5 * 3 * 0.25


def test_a_ratio_of_one_is_the_ideal() -> None:
    said = Came("one", seconds=6.0, cpu=2.0, own=1.0).as_json(Load(200, 0.25, 50))
    assert (said["ideal_by_measured"], said["cpu_ms_per_task"], said["own_cpu_ms_per_task"]) == (0.5, 10.0, 5.0)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_workers_have_a_figure_for_each_way_and_each_crowd() -> None:
    found = told("benchmarks.workers", "--rounds", "1", "--alive", "1,3")
    ways = {row["name"] for row in found["tasks"]}
    assert ways == {"onepen", "onepen, over HTTP", "floor: asyncio loop", "floor: fork of a warm process"}
    assert all(row["beyond_ms"] > 0 for row in found["tasks"] if row["name"].startswith("onepen"))
    assert [(row["alive"], row["refused"]) for row in found["alive"]] == [(1, 0), (3, 0)]


@pytest.mark.long
@pytest.mark.timeout(300)
def test_throughput_has_a_figure_for_each_way() -> None:
    found = told("benchmarks.throughput", "--tasks", "4", "--at-once", "2", "--seconds", "0.05")
    assert [row["name"] for row in found["ways"]] == [
        "onepen, whole", "onepen, bare", "onepen, whole, over HTTP", "floor: asyncio loop",
        "floor: fork of a warm process",
    ]  # fmt: skip
    assert all(0 < row["ideal_by_measured"] <= 1.01 for row in found["ways"])


@pytest.mark.timeout(120)
def test_a_batch_has_its_figures_for_each_way_each_size_and_a_restart() -> None:
    small = ("--tasks", "6", "--sizes", "6,9", "--restart", "20", "--at-once", "3", "--seconds", "0.02")
    found = told("benchmarks.batch", *small)
    assert [row["name"] for row in found["ways"]] == [
        "onepen, committed", "onepen, in review", "onepen, delegated", "floor: asyncio loop",
        "floor: fork of a warm process",
    ]  # fmt: skip
    assert [(row["name"], row["tasks"]) for row in found["growth"]] == [
        (f"onepen, {way}", tasks) for way in ("committed", "in review") for tasks in (6, 9)
    ]
    assert all(0 < row["ideal_by_measured"] <= 1.01 and row["peak_mb"] > 20 for row in found["growth"])
    assert (found["restart"]["tasks"], found["restart"]["done"]) == (20, 18)
    assert found["restart"]["in_all_s"] > found["restart"]["first_call_s"] > 0
