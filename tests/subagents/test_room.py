"""Room for workers: what a process may have open decides how many."""

import resource
import subprocess
import sys

import pytest

from onepen.subagents.process.descriptors import AT_ONCE, make_room, workers_within


@pytest.mark.parametrize(("descriptors", "workers"), [(256, 1), (1024, 192), (4096, 960), (4256, 1000), (20_000, 4936)])
def test_four_descriptors_a_worker(descriptors: int, workers: int) -> None:
    assert workers_within(descriptors) == workers


def test_the_usual_number_fits_anywhere() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert make_room(AT_ONCE) == AT_ONCE
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == before


@pytest.mark.parametrize(("hard", "room", "soft"), [(8000, 1000, 4256), (1000, 186, 1000)])
def test_the_limit_is_raised_as_far_as_it_goes(hard: int, room: int, soft: int) -> None:
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (512, {hard}))
from onepen.subagents.process.descriptors import make_room
print(make_room(1000), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""
    said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == f"{room} {soft} {hard}\n"
