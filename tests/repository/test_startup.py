"""Commands that only look start light: they import none of the heavy libraries."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import startup
from benchmarks.measure import run

pytestmark = pytest.mark.timeout(180)  # it starts programs, which takes its time on a busy machine

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", startup.COMMANDS)
def test_a_command_that_only_looks_imports_nothing_heavy(command: str, tmp_path: Path) -> None:
    workspace = startup.fresh_copy(REPOSITORY / "examples" / "workspace", tmp_path / "workspace")
    env = startup.surroundings(tmp_path)
    assert startup.heavy_imports(startup.COMMANDS[command], cwd=workspace, env=env) == ()


def test_a_heavy_import_is_seen(tmp_path: Path) -> None:
    """The detector itself: `rich` is imported by `python -m rich`, so it must be told."""
    log = run(startup.interpreter("-X", "importtime", "-c", "import rich.console"), cwd=tmp_path, env={})
    assert startup.imported(log.stderr) == ("rich",)


def test_the_document_has_every_program_and_its_ratios() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.startup", "--json", "--rounds", "1"],
        cwd=REPOSITORY, text=True, capture_output=True, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    names = [figure["name"] for figure in told["figures"]]
    assert names[:2] == ["python -c pass", "python -c 'import typer'"]
    assert names[2:] == [*startup.COMMANDS, "onepen delegate (offline, cold)"]
    assert all(figure["ms"] > 0 and figure["peak_mb"] > 1 and figure["times_bare"] > 0 for figure in told["figures"])
    assert told["heavy_imports"] == {name: [] for name in startup.COMMANDS}
