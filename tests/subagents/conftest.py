"""One bench for each test of this room, and one fork server for all that want it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from onepen.subagents.environment import child_environment
from onepen.subagents.process.forkserver import ForkServer
from onepen.testing.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.make(tmp_path)


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    made = ForkServer(child_environment(os.environ))
    yield made
    anyio.run(made.close)


@pytest.fixture(params=["plain", "forked"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A bench whose workers are plain children, and one whose workers come from the fork server."""
    if request.param == "plain":
        return Bench.make(tmp_path)
    if sys.platform != "linux":
        pytest.skip("the fork server works on Linux only")
    return Bench.make(tmp_path, request.getfixturevalue("server"))
