"""How long a story may take, and a person whose researcher is a program of their own: for workers that misbehave."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing import worker

HERE = Path(__file__).parent
Workers = Mapping[str, list[list[Any]]]
Install = Callable[[Workers], dict[str, str]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A story starts a program for each of its lines, which takes its time on a machine that has other work to do."""
    for item in items:
        if item.path.is_relative_to(HERE) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Writes the person's config, and gives what their shell's environment has besides.

    What a worker does is looked up by the text of its task, see onepen.testing.worker. It is confined as every worker
    is, so it is started by its file, which it may read. The folder stands at the end of its command line: by it the
    worker is found among all processes.
    """

    def make(workers: Workers) -> dict[str, str]:
        command = [sys.executable, "-P", worker.__file__, json.dumps(workers), f"in={tmp_path}"]
        config = tmp_path / ".config/onepen/config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f"[workers.researcher]\ncommand = {json.dumps(command)}\n")
        return {}

    return make
