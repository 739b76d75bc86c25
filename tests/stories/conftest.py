"""A person whose researcher is a program of their own: for stories in which workers misbehave."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing import worker

Workers = Mapping[str, list[list[Any]]]
Install = Callable[[Workers], dict[str, str]]


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
