"""Reading commands start fast: what they never need, they never import."""

import subprocess
import sys
from pathlib import Path

import pytest

from onepen.testing.program import Program

HEAVY = {"anthropic", "pydantic_settings", "prompt_toolkit", "rich", "anyio", "structlog", "asyncio"}
HELP_ONLY = {"pydantic", "yaml", "filelock"}
PARSERS = {"yaml", "frontmatter", "rapidfuzz", "snowballstemmer", "filelock", "onepen.staging.draft"}
CHECK = """
import sys
from onepen.orchestrator.commands.app import call
code = call(sys.argv[2:])
found = sorted(set(sys.argv[1].split(",")) & set(sys.modules))
sys.exit(f"imported: {found}" if found else code)
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    onepen = Program(tmp_path_factory.mktemp("startup"))
    onepen.ok("init", "ws")
    onepen.ok("add", "project", "Kiln", "-C", "ws")
    return onepen.home / "ws"


def imported(unwanted: set[str], *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHECK, ",".join(unwanted), *args], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stderr


@pytest.mark.parametrize("command", ["status", "drafts", "search kiln", "history", "context", "doctor", ""])
def test_reading_imports_nothing_heavy(command: str, workspace: Path) -> None:
    assert imported(HEAVY, *command.split(), "-C", str(workspace)) == ""


@pytest.mark.parametrize("command", ["status", ""])
def test_standing_parses_no_card_and_no_draft(command: str, workspace: Path) -> None:
    """Where no task is open, nothing has to be parsed; YAML, search and checks are half of what status took."""
    assert imported(PARSERS, *command.split(), "-C", str(workspace)) == ""


@pytest.mark.parametrize(
    "command", ["log called Ana", "add project Ofen", "reject x-1 -m no", "approve x-1 --sha256 ab"]
)
def test_what_a_running_orchestrator_does_needs_next_to_nothing_here(command: str, workspace: Path) -> None:
    Program(workspace.parent).ok("up", "-C", str(workspace))
    found = imported(HEAVY | HELP_ONLY | PARSERS, *command.split(), "-C", str(workspace))
    assert "imported" not in found


@pytest.mark.parametrize("command", ["--help", "--version"])
def test_help_imports_next_to_nothing(command: str) -> None:
    assert imported(HEAVY | HELP_ONLY, *command.split()) == ""


def test_the_check_sees_an_import() -> None:
    assert imported({"typer"}, "--version") == "imported: ['typer']\n"
