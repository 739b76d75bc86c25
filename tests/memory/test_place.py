"""What keeps a commit from being written is found before it stands: nothing is written, and the pen goes on."""

import errno
import os
import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from onepen.memory.change import Change
from onepen.memory.commit import laid
from onepen.memory.commit.pen import Pen, PlaceUnfit, RecoveryNeeded, Unfinished
from onepen.memory.files import is_tmp
from onepen.memory.ids import CardId
from onepen.memory.room import REDO_LOG
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.view import UnreadableText
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
NOTE = Change(None, "note", "user:ana", log=(("note", "hi"),))
ADD = Change(
    None,
    "projects/loom.md: created",
    "user:ana",
    edit=CardEdit(CardTarget("projects", CardId("loom")), "create", text="# Loom\n\n## Warp\n\nTight.\n"),
)
NOBODY = 65534


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """A workspace with one card, in a folder that others than root can reach."""
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as made:
        root = Path(made)
        (root / "projects").mkdir()
        (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
        (root / "projects/kiln.md").write_text("# Kiln\n\n## Firing\n\nAt 1220.\n")
        with Pen.open(open_workspace(root), CLOCK) as pen:
            pen.reconcile(open_workspace(root).house)
        yield open_workspace(root)


@pytest.fixture
def unprivileged(workspace: Workspace) -> Iterator[None]:
    """The test goes on as somebody whom the modes of files bind."""
    if os.geteuid() != 0:
        yield
        return
    root = workspace.root
    for path in (root, *root.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def day(workspace: Workspace) -> str:
    return (workspace.root / "memory/2026-11-30.md").read_text()


def nothing_pending(workspace: Workspace) -> bool:
    left = [path for path in workspace.root.rglob("*") if is_tmp(path.name)]
    return (workspace.root / REDO_LOG).read_bytes() == b"" and not left


def test_an_index_that_is_a_folder_stops_no_other_write(workspace: Workspace) -> None:
    (workspace.root / "projects/_index.md").unlink()
    (workspace.root / "projects/_index.md").mkdir()
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        assert pen.reconcile(workspace.house) is None
        assert [(p.path, p.kind) for p in pen.recovered] == [("projects/_index.md", "passed_over")]
        pen.commit(NOTE)
        with pytest.raises(UnreadableText, match=r"projects/_index\.md: this is a folder"):
            pen.commit(ADD)
        pen.commit(NOTE)
    assert day(workspace).count("hi") == 2
    assert nothing_pending(workspace)


@pytest.mark.parametrize("place", ["memory", "logs"])
def test_a_file_where_a_folder_is_needed_is_refused_before_the_commit(workspace: Workspace, place: str) -> None:
    folder = workspace.root / place
    if folder.exists():
        folder.rename(workspace.root / "moved")
    folder.write_text("")
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        with pytest.raises(PlaceUnfit, match=rf"^{place}: this is a file.*nothing was written"):
            pen.commit(NOTE)
        folder.unlink()
        pen.commit(NOTE)
    assert "hi" in day(workspace)
    assert nothing_pending(workspace)


@pytest.mark.usefixtures("unprivileged")
def test_a_folder_that_may_not_be_written_is_found_before_the_commit(workspace: Workspace) -> None:
    (workspace.root / "projects").chmod(0o500)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        with pytest.raises(PermissionError) as caught:
            pen.commit(ADD)
        assert caught.value.filename == str(workspace.root / "projects")
        pen.commit(NOTE)
    assert nothing_pending(workspace)
    (workspace.root / "projects").chmod(0o700)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        pen.commit(ADD)


@pytest.mark.usefixtures("unprivileged")
def test_a_hand_edit_that_cannot_be_indexed_is_told_and_the_rest_goes_on(workspace: Workspace) -> None:
    (workspace.root / "projects/kiln.md").write_text("# Kiln\n\n## Firing\n\nAt 1220.\n\n## Glaze\n\nCeladon.\n")
    (workspace.root / "projects").chmod(0o500)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        assert pen.reconcile(workspace.house) is None
        assert [p.kind for p in pen.recovered] == ["not_reconciled"]
        assert "Permission denied" in pen.recovered[0].message
        pen.commit(NOTE)
    (workspace.root / "projects").chmod(0o700)
    assert "hi" in day(workspace)


@pytest.mark.usefixtures("unprivileged")
def test_a_day_log_that_may_not_be_written_is_found_before_the_commit(workspace: Workspace) -> None:
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        pen.commit(NOTE)
        (workspace.root / "memory/2026-11-30.md").chmod(0o400)
        with pytest.raises(PermissionError) as caught:
            pen.commit(NOTE)
        assert str(caught.value.filename).endswith("memory/2026-11-30.md")
    assert day(workspace).count("hi") == 1
    assert nothing_pending(workspace)


@pytest.mark.usefixtures("unprivileged")
def test_a_card_and_a_day_that_cannot_be_read_are_passed_over(workspace: Workspace) -> None:
    root = workspace.root
    (root / "projects/dyes.md").write_text("# Dyes\n")
    (root / "projects/kiln.md").chmod(0)
    (root / "memory").mkdir()
    (root / "memory/2026-11-28.md").write_text("- 09:00+01:00 [note] old\n")
    (root / "memory/2026-11-28.md").chmod(0)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        assert pen.reconcile(workspace.house) is not None
        pen.commit(ADD)
        pen.commit(NOTE)
        told = [(p.path, p.kind) for p in pen.recovered]
    assert told == [("projects/kiln.md", "passed_over"), ("memory/2026-11-28.md", "passed_over")]
    assert "[Dyes](dyes.md)" in (root / "projects/_index.md").read_text()
    assert "(kiln.md#firing)" in (root / "projects/_index.md").read_text()
    assert "hi" in day(workspace)


def test_a_limit_on_the_size_of_files_is_met_before_the_commit(workspace: Workspace) -> None:
    (workspace.root / "memory").mkdir()
    (workspace.root / "memory/2026-11-30.md").write_text("- 09:00+01:00 [note] old\n" * 800)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, hard))
        try:
            with pytest.raises(OSError, match="File too large") as caught:
                pen.commit(NOTE)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert str(caught.value.filename).endswith("memory/2026-11-30.md")
        pen.commit(NOTE)
    assert nothing_pending(workspace)


def test_a_disk_that_fills_while_cards_are_laid_refuses_the_commit(workspace: Workspace) -> None:
    class Full(BreakingDisk):
        def write(self, fd: int, data: memoryview) -> int:
            if b"Tight" in bytes(data) and not bytes(data).startswith(b'{"'):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(fd, data)

    with Pen.open(workspace, CLOCK, wait=0, disk=Full()) as pen:
        with pytest.raises(OSError, match="No space left") as caught:
            pen.commit(ADD)
        assert "loom.md" in str(caught.value.filename)
        assert nothing_pending(workspace)
        pen.commit(NOTE)


def test_what_was_laid_and_may_be_a_persons_text_stays(workspace: Workspace) -> None:
    root = workspace.root
    note = '{"commit": "c9-abcdef", "files": [["projects/kiln.md", "0", "1"], ["projects/dyes.md", null, "1"]]}\n'
    (root / laid.NOTE).write_text(note)
    (root / "projects/.kiln.md.c9-abcdef.tmp").write_text("my own words")
    (root / "projects/.dyes.md.c9-abcdef.tmp").write_text("half of a ca")
    Pen.open(workspace, CLOCK, wait=0).close()
    assert [p.name for p in root.rglob("*") if is_tmp(p.name)] == [".kiln.md.c9-abcdef.tmp"]


@pytest.mark.parametrize(
    "note",
    [
        "",
        "{",
        "[]",
        '{"commit": "c9-abcdef"}',
        '{"commit": 1, "files": [1]}',
        '{"commit": "../../x", "files": [["MEMORY.md", null, ""]]}',
    ],
)
def test_a_note_that_was_cut_short_is_no_obstacle(workspace: Workspace, note: str) -> None:
    (workspace.root / laid.NOTE).write_text(note)
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        pen.commit(ADD)


@pytest.mark.parametrize("note", ["", "\0\0\0\0", '{"commit": "c9-abc'])
def test_a_note_that_a_power_cut_left_empty_has_what_was_laid_searched_for(workspace: Workspace, note: str) -> None:
    """F4: the file that was laid is on the disk, and the note that told of it isn't."""
    root = workspace.root
    with Pen.open(workspace, CLOCK, wait=0) as pen:
        pen.commit(ADD)
    for name in ("projects/.kiln.md.c9-abcdef.tmp", "projects/.kiln.md.c1-abcdef.tmp", "projects/.kiln.md.x.tmp"):
        (root / name).write_text("")
    (root / laid.NOTE).write_text(note)
    Pen.open(workspace, CLOCK, wait=0).close()
    left = sorted(p.name for p in root.rglob("*") if is_tmp(p.name))
    assert left == [
        ".kiln.md.c1-abcdef.tmp",
        ".kiln.md.x.tmp",
    ]  # a commit that was may have swapped a person's text out


def test_a_commit_that_cannot_be_finished_says_so_at_each_opening(workspace: Workspace) -> None:
    class Failing(BreakingDisk):
        def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
            if path.parent.name == "memory":
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return super().open(path, flags, mode)

    with Pen.open(workspace, CLOCK, wait=0, disk=Failing()) as pen, pytest.raises(RecoveryNeeded):
        pen.commit(NOTE)
    (workspace.root / "memory").rmdir()
    (workspace.root / "memory").write_text("")
    for _ in range(2):
        with pytest.raises(Unfinished, match="what you asked for was not done"):
            Pen.open(workspace, CLOCK, wait=0)
    (workspace.root / "memory").unlink()
    Pen.open(workspace, CLOCK, wait=0).close()
    assert "hi" in day(workspace)
