"""A task's folder to fill with drafts, and what the tests of this room say often."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory.ids import TaskId
from onepen.staging.folder import Collected, TaskFolder, collect

TASK = TaskId("k3x9ab")


@pytest.fixture
def folder(tmp_path: Path) -> TaskFolder:
    """staging/k3x9ab/ with one attempt, and beside it memory that no draft may show."""
    memory = tmp_path / "projects"
    memory.mkdir()
    (memory / "kiln.md").write_text("# Kiln\n\nMEMORY-77\n")
    (tmp_path / "MEMORY.md").write_text("MEMORY-77\n")
    made = TaskFolder(tmp_path / "staging" / TASK)
    made.drafts(1).mkdir(parents=True)
    return made


@pytest.fixture
def look(folder: TaskFolder) -> Callable[[], dict[str, Collected]]:
    """What the first attempt left, by name."""
    return lambda: {entry.name: entry for entry in collect(folder, TASK, 1)}
