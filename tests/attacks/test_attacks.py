"""What a hostile worker can do: nothing but what docs/explanation/sandbox.md lists by name. T1, T6, T7, F20, F22.

The attacks are run by `python -m tests.attacks`, in processes of their own; here their outcomes are read.
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from onepen.subagents.sandbox.level import probe
from tests.attacks.stage import Outcome
from tests.attacks.table import remaining

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs/explanation/sandbox.md").read_text(encoding="utf-8")
USERS = ("ordinary", "root")

pytestmark = [
    pytest.mark.timeout(600),  # hundreds of processes, which takes its time on a busy machine
    pytest.mark.skipif(probe().kind != "landlock+seccomp", reason=f"no sandbox of the kernel here: {probe().why}"),
]


@cache
def outcomes(user: str, modes: str, landlock: int | None = None) -> tuple[Outcome, ...]:
    if user == "root" and os.getuid() != 0:
        pytest.skip("only root can try what root can do")
    older = [] if landlock is None else ["--landlock", str(landlock)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.attacks", "--json", "--user", user, "--modes", modes, *older],
        cwd=REPOSITORY, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return tuple(Outcome(**one) for one in json.loads(done.stdout)[user])


def listed(heading: str) -> set[str]:
    """The names in bold of a list on the page."""
    part = PAGE.partition(f"### {heading}\n")[2].partition("\n#")[0]
    assert part, heading
    return {
        name for line in part.splitlines() if line.startswith("- **") for name in re.findall(r"\*\*(.+?)\*\*", line)
    }


IN_EVERY_WORKER = listed("In every worker")
WITH_COMMANDS = IN_EVERY_WORKER | listed("Where commands may run, in addition")


@pytest.mark.parametrize("user", USERS)
def test_nothing_works_in_a_worker_but_what_is_listed(user: str) -> None:
    assert set(remaining(outcomes(user, "free,worker"), "worker")) == IN_EVERY_WORKER


@pytest.mark.parametrize("user", USERS)
def test_the_attacks_do_work_without_a_sandbox(user: str) -> None:
    """An attack that works nowhere proves nothing: it doesn't count."""
    found = outcomes(user, "free,worker")
    assert len(remaining(found, "free")) >= 60
    assert f"{len({one.attack for one in found})} attacks" in PAGE


@pytest.mark.long
@pytest.mark.parametrize("user", USERS)
def test_nothing_works_where_commands_may_run_but_what_is_listed(user: str) -> None:
    left = set(remaining(outcomes(user, "free,commands"), "commands"))
    assert left == WITH_COMMANDS


@pytest.mark.long
@pytest.mark.parametrize("landlock", [1, 2, 3, 4, 5])
def test_an_older_kernel_holds_a_worker_as_well(landlock: int) -> None:
    """What Landlock can't say yet, the filter denies: ports, cutting files short, signals."""
    assert set(remaining(outcomes("ordinary", "free,worker", landlock), "worker")) == IN_EVERY_WORKER


@pytest.mark.long
def test_on_an_older_kernel_a_command_can_signal_the_persons_programs() -> None:
    signals = {"end the orchestrator", "stop the orchestrator", "signal a whole group of processes"}
    left = set(remaining(outcomes("ordinary", "free,commands", 5), "commands"))
    assert left - WITH_COMMANDS == {*signals, "signal a thread of the orchestrator (tgkill)"}
