"""One bench for each test of this room."""

from pathlib import Path

import pytest

from onepen.testing.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench.make(tmp_path)
