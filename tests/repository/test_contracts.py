"""The import contracts hold, and they would notice: each is broken on purpose in a copy of the repository."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(180)  # it starts programs, which takes its time on a busy machine

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("memory", "staging", "subagents", "orchestrator")

# contract name (a part of it) → the module that breaks it, and the line that does.
VIOLATIONS = {
    "falls one way": ("memory/clock.py", "import onepen.staging.draft"),
    "holds the pen": ("orchestrator/review/reviewer.py", "from ...memory.commit import pen"),
    "model library": ("staging/checks.py", "import anthropic"),
    "never reaches the pen": ("subagents/toolbox/tools.py", "import onepen.memory.commit.redo"),
    "deciding is pure": ("orchestrator/tasks/plan.py", "import subprocess"),
}


def contracts() -> list[str]:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    return [contract["name"] for contract in settings["tool"]["importlinter"]["contracts"]]


def copy(place: Path) -> Path:
    """The repository's code with its links, without anything else."""
    shutil.copytree(REPOSITORY / "src", place / "src", symlinks=True)
    for room in ROOMS:
        shutil.copytree(REPOSITORY / room, place / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", place)
    return place


def verdicts(place: Path) -> dict[str, str]:
    """What lint-imports says of each contract in `place`: KEPT or BROKEN."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    env = {**os.environ, "PYTHONPATH": str(place / "src"), "NO_COLOR": "1", "COLUMNS": "200"}
    done = subprocess.run(command, cwd=place, env=env, text=True, capture_output=True, check=False)
    said = dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", done.stdout, flags=re.MULTILINE))
    assert set(said) == set(contracts()), done.stdout + done.stderr
    assert done.returncode == (1 if "BROKEN" in said.values() else 0), done.stdout
    return said


def test_every_contract_has_a_violation_here() -> None:
    for name in contracts():
        assert sum(part in name for part in VIOLATIONS) == 1, name


def test_all_contracts_hold(tmp_path: Path) -> None:
    assert set(verdicts(copy(tmp_path)).values()) == {"KEPT"}


@pytest.mark.parametrize("part", VIOLATIONS)
def test_a_violation_is_noticed_behind_the_links(part: str, tmp_path: Path) -> None:
    place = copy(tmp_path)
    module, line = VIOLATIONS[part]
    path = place / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    broken = [name for name, verdict in verdicts(place).items() if verdict == "BROKEN"]
    assert any(part in name for name in broken), broken
