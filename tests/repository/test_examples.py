"""The example workspace is sound: `doctor` finds nothing, a draft waits, and its quotes stand where they say."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(180)  # it starts programs, which takes its time on a busy machine

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "workspace"
QUOTE = re.compile(r'> "(.+)" \((inputs/\S+):(\d+)\)')


def onepen(workspace: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "onepen", "-C", str(workspace), *arguments]
    return subprocess.run(command, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLE, tmp_path / "workspace"))


def test_doctor_finds_nothing(workspace: Path) -> None:
    done = onepen(workspace, "doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one for one in json.loads(done.stdout)["problems"] if one["level"] != "info"] == []


def test_it_has_what_its_page_promises(workspace: Path) -> None:
    status = json.loads(onepen(workspace, "status", "--all-clients", "--json").stdout)
    assert status["drafts_waiting"] >= 1
    assert {path.name for path in (workspace / "clients").iterdir()} == {"lindgren", "mueller"}
    assert len(list((workspace / "memory").glob("2*.md"))) >= 3
    assert list((workspace / "logs").glob("seals-*.jsonl"))
    commits = json.loads(onepen(workspace, "history", "--json").stdout)["commits"]
    assert {commit["reviewer"] for commit in commits if commit["draft"]} != {None}


def test_the_draft_that_waits_can_be_approved(workspace: Path) -> None:
    waiting = json.loads(onepen(workspace, "drafts", "--all-clients", "--json").stdout)["drafts"]
    draft = waiting[0]["id"]
    assert onepen(workspace, "show", draft).returncode == 0
    done = onepen(workspace, "approve", draft)
    assert done.returncode == 0, done.stdout + done.stderr
    assert onepen(workspace, "doctor").returncode == 0


def quotes() -> Iterator[tuple[str, str, str, str]]:
    for draft in sorted(EXAMPLE.rglob("drafts/*.md")):
        for text, path, line in QUOTE.findall(draft.read_text(encoding="utf-8")):
            yield str(draft.relative_to(EXAMPLE)), text, path, line


def test_every_quote_of_a_draft_stands_in_the_copied_input() -> None:
    found = list(quotes())
    assert found
    for draft, text, path, line in found:
        source = EXAMPLE / Path(draft).parents[2] / path
        assert text in source.read_bytes().decode().split("\n")[int(line) - 1], (draft, path, line)


def test_nothing_of_this_machine_is_in_it() -> None:
    assert not (EXAMPLE / ".onepen" / "machine").is_file() or ".onepen/" in (EXAMPLE / ".gitignore").read_text("utf-8")
    assert not list(EXAMPLE.rglob("*.tmp"))
