"""The fault tests are tested: bugs that were put in on purpose are noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

from onepen.testing import mounts, strace

REPOSITORY = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "tests.faults.mutants")


def mutants() -> list[str]:
    listed = subprocess.run([*COMMAND, "--list"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [line.partition(":")[0] for line in listed.stdout.splitlines()]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", mutants())
def test_a_bug_is_noticed(name: str) -> None:
    """What must never be: an index before its record, a sync left out, a key forgotten."""
    reason = strace.missing() or mounts.missing()
    if reason is not None:
        pytest.skip(reason)
    done = subprocess.run([*COMMAND, name], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
