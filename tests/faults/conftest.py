"""What the fault tests share: a process that commits, a workspace that is hit, and the count of what was tried."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def in_fast_memory() -> Iterator[Path]:
    """A folder in memory where there is one: a sync is a system call there, too, and costs nothing."""
    fast = Path("/dev/shm")
    where = fast if os.access(fast, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where, prefix="onepen-test-") as made:
        yield Path(made)


@pytest.fixture
def folder() -> Iterator[Path]:
    with in_fast_memory() as made:
        yield made


@pytest.fixture(scope="session")
def making(hands: Hands) -> Iterator[Ground]:
    """A workspace to be hit while the changes 1 to 4 are committed."""
    with in_fast_memory() as made:
        yield Ground(hands, made)


@pytest.fixture(scope="session")
def removing(hands: Hands) -> Iterator[Ground]:
    """The same for the changes 5 to 8, which also take files away."""
    with in_fast_memory() as made:
        yield Ground(hands, made, first=4)


@pytest.fixture(params=["making", "removing"])
def ground(request: pytest.FixtureRequest) -> Ground:
    """Each of the two."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Ground)
    return found


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> MakeTally:
    """Makes the count of a kind of point, with the least number that is promised."""
    return lambda kind, least: Tally(kind, least, record_property)
