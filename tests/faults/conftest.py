"""What the fault tests share: a process that commits, a workspace that is hit, and the count of what was tried."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onepen.testing import mounts, strace
from onepen.testing.ground import Ground
from onepen.testing.hands import Hands
from onepen.testing.tally import Tally

MakeTally = Callable[[str, int], Tally]


@pytest.fixture(scope="session")
def hands() -> Iterator[Hands]:
    """A warm process that commits; skips where it can't be traced."""
    reason = strace.missing()
    if reason is not None:
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as folder, Hands(Path(folder)) as hands:
        yield hands


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder in memory for images of file systems; skips where they can't be mounted."""
    reason = mounts.missing()
    if reason is not None:
        pytest.skip(reason)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a sync is a system call there, too, and costs nothing."""
    fast = Path("/dev/shm")
    if not os.access(fast, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=fast, prefix="onepen-test-") as made:
        yield Path(made)


@pytest.fixture(params=[0, 4], ids=["making", "removing"])
def ground(hands: Hands, folder: Path, request: pytest.FixtureRequest) -> Ground:
    """A workspace to be hit while four changes are committed; with the second, files are also taken away."""
    return Ground(hands, folder, request.param)


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> MakeTally:
    """Makes the count of a kind of point, with the least number that is promised."""
    return lambda kind, least: Tally(kind, least, record_property)
