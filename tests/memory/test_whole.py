"""The doctor finds what is gone or in the way, and goes on past each obstacle."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest

from onepen.memory.change import Change
from onepen.memory.commit.pen import Pen, RecoveryNeeded
from onepen.memory.exam.doctor import examine
from onepen.memory.ids import CardId, ClientId
from onepen.memory.scaffold import init, plan_client
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
NOTE = Change(None, "note", "user:ana", log=(("note", "hi"),))


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace in which three cards and a line of today's log were committed."""
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as made:
        root = Path(made)
        init(root, id="abcdefgh", name="", today=date(2026, 11, 29))
        with Pen.open(open_workspace(root), CLOCK) as pen:
            for name in ("kiln", "loom"):
                pen.commit(adding("projects", name))
            pen.commit(adding("research", "clay"))
            pen.commit(NOTE)
        yield root


def adding(shelf: str, name: str, task: str | None = None) -> Change:
    target = CardTarget("projects" if shelf == "projects" else "research", CardId(name))
    edit = CardEdit(target, "create", text=f"# {name}\n\n## Part\n\nText.\n")
    return Change(None, f"{target}: created", "user:ana", edit=edit, task=task)


def found(root: Path) -> list[tuple[str, str, str]]:
    return [(p.path, p.kind, p.level) for p in examine(View(open_workspace(root)))]


def test_a_workspace_with_all_its_parts_has_no_problem(root: Path) -> None:
    assert found(root) == []


def test_a_shelf_that_is_gone_is_told_with_its_cards(root: Path) -> None:
    shutil.rmtree(root / "projects")
    assert found(root) == [
        ("projects", "folder_missing", "error"),
        ("projects/kiln.md", "card_lost", "warning"),
        ("projects/loom.md", "card_lost", "warning"),
    ]


def test_a_history_that_is_gone_is_told_with_its_numbers(root: Path) -> None:
    shutil.rmtree(root / "logs")
    [problem] = examine(View(open_workspace(root)))
    assert (problem.path, problem.kind, problem.level) == ("logs", "history_lost", "error")
    assert "commits c1…c4" in problem.message
    shutil.rmtree(root / "projects")
    assert {kind for _, kind, _ in found(root)} == {"folder_missing", "history_lost"}


def test_the_end_of_a_history_that_is_gone_is_a_warning_since_it_may_be_on_another_branch(root: Path) -> None:
    log = root / "logs/commits-2026-11.jsonl"
    log.write_text("".join(log.read_text().splitlines(keepends=True)[:-1]))
    [problem] = examine(View(open_workspace(root)))
    assert (problem.kind, problem.level) == ("history_lost", "warning")
    assert "commit c4:" in problem.message


def test_the_tasks_of_commits_that_are_gone_are_told(root: Path) -> None:
    with Pen.open(open_workspace(root), CLOCK) as pen:
        pen.commit(adding("research", "ash", task="20261130-ash"))
    assert found(root) == [("staging", "staging_missing", "warning")]
    (root / "staging").mkdir()
    assert found(root) == []


def test_a_day_log_of_commits_that_is_gone_is_an_error(root: Path) -> None:
    (root / "memory/2026-11-30.md").unlink()
    assert found(root) == [("memory/2026-11-30.md", "day_lost", "error")]


def test_a_card_that_was_archived_may_go(root: Path) -> None:
    (root / "projects/loom.md").unlink()
    index = root / "projects/_index.md"
    whole = index.read_text()
    assert ("projects/_index.md", "card_missing", "error") in found(root)
    head, _, rest = whole.partition("## [loom](loom.md)")
    index.write_text(f"{head}## [loom](loom.md)\n{rest.lstrip().replace('status: active', 'status: archived')}")
    assert ("projects/_index.md", "card_missing", "info") in found(root)
    index.write_text(head)
    assert found(root) == [("projects/loom.md", "card_lost", "warning")]


def test_the_folders_of_a_client_are_told_when_it_was_made_here(root: Path) -> None:
    for planned in plan_client(ClientId("acme"), "Acme"):
        (root / "clients/acme" / planned.path).parent.mkdir(parents=True, exist_ok=True)
        (root / "clients/acme" / planned.path).write_bytes(planned.data)
    assert found(root) == []
    shutil.rmtree(root / "clients/acme/research")
    assert found(root) == [("clients/acme/research", "folder_missing", "error")]


@pytest.mark.parametrize("folder", ["memory", "logs", "staging", "research", "agents", "projects"])
def test_a_file_where_a_folder_should_be_is_told_and_the_rest_goes_on(root: Path, folder: str) -> None:
    (root / "BRIEF.md").write_bytes(b"\xff")
    shutil.rmtree(root / folder, ignore_errors=True)
    (root / folder).write_text("")
    problems = found(root)
    assert (folder, "folder_unusable", "error") in problems
    assert ("BRIEF.md", "not_text", "error") in problems


@pytest.mark.parametrize(
    "make",
    [lambda path: path.write_text(""), lambda path: path.symlink_to("nowhere"), lambda path: path.symlink_to("logs")],
)
def test_what_stands_in_the_place_of_the_machines_folder_is_told(root: Path, make: Callable[[Path], None]) -> None:
    (root / "BRIEF.md").write_bytes(b"\xff")
    shutil.rmtree(root / ".onepen")
    make(root / ".onepen")
    assert found(root) == [(".onepen", "room_unfit", "error"), ("BRIEF.md", "not_text", "error")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("folder", ["projects", "memory", "logs", "agents", "staging", ".onepen"])
def test_a_folder_that_may_not_be_read_is_told_and_the_rest_goes_on(root: Path, folder: str) -> None:
    (root / "staging").mkdir()
    (root / "BRIEF.md").write_bytes(b"\xff")
    for path in (root, *root.rglob("*")):
        os.chown(path, 65534, 65534)
    (root / folder).chmod(0)
    os.seteuid(65534)
    try:
        problems = found(root)
    finally:
        os.seteuid(0)
    assert [kind for path, kind, _ in problems if path == folder] in (["folder_unusable"], ["room_unfit"])
    assert ("BRIEF.md", "not_text", "error") in problems


def test_what_has_a_cards_name_and_is_no_file_is_told_once_and_is_no_card(root: Path) -> None:
    os.mkfifo(root / "projects/pipe.md")
    (root / "projects/folder.md").mkdir()
    (root / "projects/device.md").symlink_to("/dev/zero")
    (root / "projects/dangling.md").symlink_to("gone.md")
    (root / "projects/inside.md").symlink_to("../research/clay.md")
    workspace = open_workspace(root)
    assert View(workspace).cards(workspace.house, "projects") == ("inside", "kiln", "loom")
    told = {p.path: p for p in examine(View(workspace)) if p.kind in ("not_a_file", "link_leads_out")}
    assert "a pipe" in told["projects/pipe.md"].message
    assert "a folder" in told["projects/folder.md"].message
    assert "a link that leads to nothing" in told["projects/dangling.md"].message
    assert told["projects/device.md"].kind == "link_leads_out"
    paths = [path for path, _, _ in found(root) if path.startswith("projects/") and "inside" not in path]
    assert sorted(paths) == sorted(told)


def test_a_commit_that_cannot_be_finished_is_an_error_that_says_why(root: Path) -> None:
    class Failing(BreakingDisk):
        def exchange(self, one: Path, other: Path) -> bool:
            raise OSError(5, "Input/output error", str(other))

    change = adding("projects", "dyes")
    with Pen.open(open_workspace(root), CLOCK, disk=Failing()) as pen, pytest.raises(RecoveryNeeded):
        pen.commit(change)
    assert found(root) == [(".onepen/redo/log", "commit_pending", "info")]
    (root / "projects/_index.md").unlink()
    (root / "projects/_index.md").mkdir()
    told = [p for p in examine(View(open_workspace(root))) if p.kind == "commit_unsettled"]
    assert [(p.path, p.level) for p in told] == [("projects/_index.md", "error")]
    assert "this is a folder" in told[0].message
