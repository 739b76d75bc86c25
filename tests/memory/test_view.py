import os
import shutil
from datetime import date
from pathlib import Path

import pytest

from onepen.memory.change import Change, Remove
from onepen.memory.commit.pen import Pen
from onepen.memory.commit.redo import ForeignRedo
from onepen.memory.commit.rehearsal import Foreseen, Rehearsal
from onepen.memory.exam.doctor import examine
from onepen.memory.files import sha256
from onepen.memory.history import read_commits
from onepen.memory.ids import CardId, ClientId
from onepen.memory.links import LinkLeadsOut
from onepen.memory.target import CardTarget, NoteTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.view import UnreadableText, View
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
REDO = ".onepen/redo/log"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    for folder in ("projects", "memory", "clients/acme"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (tmp_path / "projects" / "kiln.md").write_bytes(b"# Kiln\r\n\r\n## Firing\r\n")
    (tmp_path / "MEMORY.md").write_text("# Memory\n")
    return open_workspace(tmp_path)


def test_files_are_read_as_they_are(workspace: Workspace) -> None:
    view = View(workspace)
    assert view.bytes("projects/kiln.md") == b"# Kiln\r\n\r\n## Firing\r\n"
    assert view.text("projects/kiln.md") == "# Kiln\r\n\r\n## Firing\r\n"
    assert view.text("projects/nothing.md") is None
    assert view.text("MEMORY.md/x") is None
    assert view.bytes("projects") is None
    card = view.document(workspace.house, CardTarget("projects", CardId("kiln")))
    assert card is not None
    assert [s.id for s in card.sections] == ["kiln", "firing"]
    note = view.document(workspace.house, NoteTarget("MEMORY.md"))
    assert note is not None
    assert note.title == "Memory"


def test_cards_are_files_whose_name_is_an_id(workspace: Workspace) -> None:
    for name in ("_index.md", "Loom.md", "a b.md", "kiln (conflicted copy).md", "kiln.txt", ".kiln.md.c1-aaaaaa.tmp"):
        (workspace.root / "projects" / name).write_text("x")
    (workspace.root / "projects" / "dyes.md").write_text("x")
    view = View(workspace)
    assert view.cards(workspace.house, "projects") == ("dyes", "kiln")
    assert view.cards(workspace.house, "research") == ()
    assert view.cards(workspace.space("acme"), "projects") == ()


def test_days_are_files_named_by_a_date(workspace: Workspace) -> None:
    for name in ("2026-11-30.md", "2026-02-30.md", "2026-11-29.md", "synthesis.md", "2026-11-28.md.bak", "20261127.md"):
        (workspace.root / "memory" / name).write_text("x")
    assert View(workspace).days(workspace.house) == (date(2026, 11, 29), date(2026, 11, 30))


def test_a_shelf_without_an_index_has_an_empty_one(workspace: Workspace) -> None:
    assert View(workspace).index(workspace.house, "projects").text == "# Projects\n"
    assert View(workspace).index(workspace.house, "research").cards == ()


def test_what_is_no_text_is_named(workspace: Workspace) -> None:
    (workspace.root / "projects" / "bad.md").write_bytes(b"line\n\xff")
    with pytest.raises(UnreadableText, match=r"projects/bad\.md: not UTF-8 text: byte 5, line 2"):
        View(workspace).text("projects/bad.md")


def test_a_fifo_keeps_nobody_waiting(workspace: Workspace) -> None:
    import os

    os.mkfifo(workspace.root / "projects" / "pipe.md")
    with pytest.raises(UnreadableText, match="no regular file"):
        View(workspace).text("projects/pipe.md")


def test_links_that_lead_out_are_refused(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (workspace.root / "research").symlink_to(outside)
    view = View(workspace)
    with pytest.raises(LinkLeadsOut):
        view.cards(workspace.house, "research")
    with pytest.raises(LinkLeadsOut):
        view.text("research/kiln.md")


def create(name: str, client: str | None = None) -> Change:
    edit = CardEdit(CardTarget("research", CardId(name)), "create", text=f"## Found\n\n{name} text.\n")
    return Change(ClientId(client) if client else None, "x", "user:ana", edit=edit, log=(("note", name),))


def test_pending_commits_are_seen_whole_before_their_files_are_written(workspace: Workspace) -> None:
    """A record is copied into the log while its files are as before, as after a crash at the commit point."""
    view = View(workspace)
    assert view.cards(workspace.house, "research") == ()
    with Pen.open(workspace, CLOCK) as pen:
        pen.commit(create("cones"))
        records = (workspace.root / REDO).read_bytes()
    for path in ("research/cones.md", "research/_index.md", "memory/2026-11-30.md", "logs/commits-2026-11.jsonl"):
        (workspace.root / path).unlink()
    assert view.cards(workspace.house, "research") == ()
    (workspace.root / REDO).write_bytes(records)
    assert view.cards(workspace.house, "research") == ("cones",)
    assert "cones text" in (view.text("research/cones.md") or "")
    assert [entry.section_id for entry in view.index(workspace.house, "research").cards[0].entries] == ["found"]
    assert view.days(workspace.house) == (date(2026, 11, 30),)
    assert view.text("memory/2026-11-30.md") == "- 14:05+01:00 [note] cones\n"
    assert not (workspace.root / "research" / "cones.md").exists()
    (workspace.root / REDO).write_bytes(records[:-1])  # a record that isn't whole didn't happen
    assert view.cards(workspace.house, "research") == ()


def test_a_view_follows_a_pen_that_writes_and_trims(workspace: Workspace) -> None:
    view = View(workspace)
    with Pen.open(workspace, CLOCK) as pen:
        for k in range(5):
            pen.commit(create(f"card-{k}"))
            assert len(view.cards(workspace.house, "research")) == k + 1
            assert (view.text("memory/2026-11-30.md") or "").count("[note]") == k + 1
            if k % 2:
                pen.checkpoint()
                assert view.pending_paths() == ()
        pen.commit(create("acme-card", "acme"))
        assert "clients/acme/research/acme-card.md" in view.pending_paths()
    assert view.pending_paths() == ()
    assert view.cards(workspace.space("acme"), "research") == ("acme-card",)


def test_an_edit_by_hand_is_seen_while_a_commit_is_pending(workspace: Workspace) -> None:
    view = View(workspace)
    with Pen.open(workspace, CLOCK) as pen:
        pen.commit(create("cones"))
        (workspace.root / "research" / "cones.md").write_text("by hand\n")
        assert view.text("research/cones.md") == "by hand\n"


@pytest.mark.parametrize("planted", ["another workspace", "another folder"])
def test_nothing_is_shown_of_a_redo_log_from_elsewhere(workspace: Workspace, tmp_path: Path, planted: str) -> None:
    with Pen.open(workspace, CLOCK) as pen:
        pen.commit(create("cones"))
        records = (workspace.root / REDO).read_bytes()
    for path in ("research/cones.md", "research/_index.md", "memory/2026-11-30.md", "logs/commits-2026-11.jsonl"):
        (workspace.root / path).unlink()
    if planted == "another workspace":
        (workspace.root / "onepen.toml").write_text('id = "zyxwvuts9876"\n')
    else:
        workspace.machine_room.rename(tmp_path / "old")
        shutil.copytree(tmp_path / "old", workspace.machine_room)
    (workspace.root / REDO).write_bytes(records)
    view = View(open_workspace(workspace.root))
    for _ in range(2):
        assert view.cards(workspace.house, "research") == ()
        assert view.text("research/cones.md") is None
        assert read_commits(view, workspace.house) == ()
        assert view.pending_paths() == ()
        refused = view.refused()
        assert refused is not None
        assert planted in refused.message
    found = [(p.path, p.level) for p in examine(view) if p.kind == "redo_foreign"]
    assert found == [(REDO, "error")]
    with pytest.raises(ForeignRedo, match=planted):
        Pen.open(open_workspace(workspace.root), CLOCK)
    with pytest.raises(ForeignRedo, match=planted):
        Rehearsal.open(Foreseen(open_workspace(workspace.root)), CLOCK)


def test_what_a_pending_commit_removes_is_gone_for_readers(workspace: Workspace) -> None:
    """A reader never sees half of it: neither the card without its block nor the block without its card."""
    card = workspace.root / "projects" / "kiln.md"
    data = card.read_bytes()
    with Pen.open(workspace, CLOCK) as pen:
        pen.reconcile(workspace.house)
        index = (workspace.root / "projects" / "_index.md").read_bytes()
        pen.checkpoint()
        removes = (Remove("projects/kiln.md", sha256(data)),)
        pen.commit(Change(None, "x", "user:ana", removes=removes, log=(("removed", "kiln"),)))
        for path, old in ((card, data), (card.with_name("_index.md"), index)):
            path.write_bytes(old)  # as the disk may have it after a power cut
            os.utime(path, (0, 0))
        view = View(workspace)
        assert view.cards(workspace.house, "projects") == ()
        assert view.bytes("projects/kiln.md") is None
        assert view.names("projects") == {"_index.md"}
        assert view.index(workspace.house, "projects").cards == ()
        card.write_bytes(data + b"by hand\n")
        assert view.cards(workspace.house, "projects") == ("kiln",)
        assert view.names("projects") == {"_index.md", "kiln.md"}
