"""Cards that are put to rest and brought back, and cards that get another name, through the service."""

from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.ids import BadId
from onepen.memory.index.index import IndexEntry, parse_index
from onepen.memory.snapshot import take
from onepen.memory.text.refusal import NothingToChange
from onepen.memory.undoable import BuiltUpon
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.door import SecretRefused
from onepen.orchestrator.errors import NoSuchCardHere, NotMovable
from onepen.orchestrator.requests import DelegateRequest, SearchRequest
from onepen.orchestrator.service import Service

KILN = "# Kiln\n\n## Firing\n\n- cold shelf\n\n## Hosting\n\nGandi.\n"


@pytest.fixture
def kiln(service: Service, root: Path) -> Service:
    """A project with a good entry for one of its two sections, and for a file."""
    service.add_project("Kiln", text=KILN)
    service.add_project("Roof")
    (root / "projects/kiln").mkdir()
    (root / "projects/kiln/log.csv").write_text("a,b\n")
    index = root / "projects/_index.md"
    lines = parse_index(index.read_text()).with_entry("kiln", IndexEntry("firing", "Cold.", ("shelf",)))
    lines = lines.with_entry("kiln", IndexEntry("log.csv", "All firings."), link="kiln/log.csv")
    index.write_text(lines.text)
    return service


def problems(service: Service) -> list[str]:
    return [problem.kind for problem in service.doctor().problems]


def test_an_archived_card_leaves_prompts_and_comes_back_as_it_was(kiln: Service, root: Path) -> None:
    before = (root / "projects/_index.md").read_text()
    done = kiln.archive("kiln")
    assert done.paths == ("projects/kiln.md", "projects/_index.md", "memory/2026-11-29.md")
    index = (root / "projects/_index.md").read_text()
    assert "## [Kiln](kiln.md)\nstatus: archived · updated: 2026-11-29\n\n## [Roof]" in index
    assert "kiln.md#" not in index and "kiln/log.csv" not in index
    view = View(open_workspace(root))
    assert "Kiln" not in take(view, view.workspace.house).text("projects.md")
    layer = next(file for layer in kiln.context().layers for file in layer.files if file.path == "projects/_index.md")
    assert "Kiln" not in layer.text and "1 archived card" in layer.text
    assert [hit.path for hit in kiln.search(SearchRequest("cold shelf")).hits][:1] == ["projects/kiln.md"]
    assert problems(kiln) == []
    kiln.log("the indexes are brought into line, and that changes nothing")
    assert (root / "projects/_index.md").read_text() == index
    kiln.archive("projects/kiln.md", undo=True)
    assert (root / "projects/_index.md").read_text() == before
    assert "status: active" in (root / "projects/kiln.md").read_text()
    assert problems(kiln) == []


def test_it_gets_back_the_status_that_it_had_and_no_line_for_what_is_gone(kiln: Service, root: Path) -> None:
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("status: active", "status: done"))
    kiln.archive("Kiln")
    (root / "projects/kiln/log.csv").unlink()
    card.write_text(card.read_text().replace("## Firing", "## Burning"))
    kiln.archive("kiln", undo=True)
    assert "status: done" in card.read_text()
    block = parse_index((root / "projects/_index.md").read_text()).card("kiln")
    assert block is not None
    assert [entry.section_id for entry in block.entries] == ["burning", "hosting"]


def test_a_hand_that_wrote_archived_is_enough(kiln: Service, root: Path) -> None:
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("status: active", "status: archived"))
    kiln.log("reconciles")
    view = View(open_workspace(root))
    assert "Kiln" not in take(view, view.workspace.house).text("projects.md")
    assert problems(kiln) == []
    kiln.archive("kiln", undo=True)
    assert "Kiln" in take(view, view.workspace.house).text("projects.md")


def test_what_is_so_already_is_said(kiln: Service) -> None:
    with pytest.raises(NothingToChange, match=r"projects/kiln\.md is not archived"):
        kiln.archive("kiln", undo=True)
    kiln.archive("kiln")
    with pytest.raises(NothingToChange, match=r"projects/kiln\.md is archived already"):
        kiln.archive("kiln")
    with pytest.raises(NothingToChange, match=r"projects/kiln\.md has this name already"):
        kiln.rename("kiln", "kiln")


def test_a_card_that_is_not_here_is_named_with_what_comes_closest(kiln: Service) -> None:
    kiln.add_client("Acme", id="acme")
    kiln.add_project("Glaze", client="acme")
    with pytest.raises(NoSuchCardHere, match="'klin': not in the house's own space; did you mean kiln") as caught:
        kiln.archive("klin")
    assert caught.value.hint == "onepen search klin"
    with pytest.raises(NoSuchCardHere) as caught:
        kiln.archive("glaze")
    assert caught.value.hint == "the same with --client acme"
    with pytest.raises(NoSuchCardHere, match="client acme's space"):
        kiln.archive("research/glaze.md", client="acme")
    assert kiln.archive("glaze", client="acme").paths[0] == "clients/acme/projects/glaze.md"


# -- another name ------------------------------------------------------------------------------------------------------


def test_a_renamed_project_keeps_its_entries_its_files_and_their_modes(kiln: Service, root: Path) -> None:
    (root / "projects/kiln/run.sh").write_text("#!/bin/sh\n")
    (root / "projects/kiln/run.sh").chmod(0o755)
    (root / "projects/kiln.md").chmod(0o640)
    kiln.add_project("Shed", text="# Shed\n\nBeside [the kiln](kiln.md#firing).\n")
    before = (root / "projects/_index.md").read_text()
    result = kiln.rename("Kiln", "anagama", title="Anagama kiln")
    assert result.paths[:2] == ("projects/kiln.md", "projects/anagama.md")
    assert result.mentions == ("projects/shed.md:10",)
    after = (root / "projects/_index.md").read_text()
    assert "- [firing](anagama.md#firing) — Cold. `shelf`\n" in after
    assert "- [log.csv](anagama/log.csv) — All firings.\n" in after
    assert "## [Anagama kiln](anagama.md)" in after and "kiln.md" not in after
    assert after.count("\n") == before.count("\n")
    assert (root / "projects/anagama/run.sh").stat().st_mode & 0o777 == 0o755
    assert (root / "projects/anagama.md").stat().st_mode & 0o777 == 0o640
    assert not (root / "projects/kiln").exists()
    assert [kind for kind in problems(kiln) if kind != "file_unindexed"] == []
    assert "[renamed] projects/kiln.md is projects/anagama.md" in (root / "memory/2026-11-29.md").read_text()
    back = kiln.rename("anagama", "kiln", title="Kiln")
    assert back.mentions == ()
    assert (root / "projects/_index.md").read_text() == before


def test_who_brought_a_sentence_is_the_same_after_a_rename(kiln: Service) -> None:
    [made] = kiln.why("cold shelf").brought
    kiln.rename("kiln", "anagama")
    assert [found.commit.id for found in kiln.why("cold shelf").brought] == [made.commit.id]
    part = kiln.why("cold shelf Gandi").brought
    assert {found.commit.id for found in part} <= {made.commit.id}


def test_a_sentence_that_a_hand_took_out_after_a_rename_was_taken_out_by_no_commit(kiln: Service, root: Path) -> None:
    kiln.rename("kiln", "anagama")
    card = root / "projects/anagama.md"
    card.write_text(card.read_text().replace("cold shelf", "warm shelf"))
    found = kiln.why("cold shelf")
    assert found.brought and found.stands == () and found.gone is None


def test_the_history_of_a_card_goes_on_under_the_names_that_it_had(kiln: Service) -> None:
    [made] = [c.id for c in kiln.history(about="kiln").commits]
    kiln.rename("kiln", "anagama")
    kiln.rename("anagama", "ofen")
    told = kiln.history(about="projects/ofen.md").commits
    assert len(told) == 3 and told[-1].id == made
    assert [c.id for c in kiln.history(about="ofen").commits] == [c.id for c in told]
    assert "projects/roof.md" not in {path for c in told for path in c.paths}


def test_drafts_that_aim_at_the_old_name_are_told(kiln: Service, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    request = DelegateRequest(("At what was cone 6 reached?",), inputs=(tmp_path / "a.md",), target="research/cone.md")
    [task] = anyio.run(partial(kiln.delegate, request)).tasks
    kiln.approve([task.drafts[0].id])
    [task] = anyio.run(partial(kiln.delegate, request)).tasks
    assert kiln.rename("cone", "cone-6").drafts == (task.drafts[0].id,)


def test_what_can_not_go_along_is_named_before_anything_is_done(kiln: Service, root: Path) -> None:
    (root / "projects/kiln/My notes.txt").touch()
    (root / "projects/kiln/link").symlink_to("log.csv")
    with pytest.raises(NotMovable, match=r"projects/kiln/: onepen can't move 'My notes.txt', 'link'"):
        kiln.rename("kiln", "anagama")
    assert (root / "projects/kiln.md").exists()
    assert kiln.rename("kiln", "kiln", title="Only its title").paths[0] == "projects/kiln.md"


def test_a_text_with_a_secret_does_not_get_into_the_history_by_a_rename(kiln: Service, root: Path) -> None:
    card = root / "projects/kiln.md"
    card.write_text(card.read_text() + "\nkey: sk-ant-api03-" + "a1B2" * 23 + "AA\n")
    with pytest.raises(SecretRefused, match=r"projects/kiln\.md"):
        kiln.rename("kiln", "anagama")
    assert kiln.rename("kiln", "anagama", allow_secret=True).commit


@pytest.mark.parametrize("new", ["", "Kiln", "../x", "con", "a b"])
def test_a_new_name_that_is_no_id_is_refused(kiln: Service, new: str) -> None:
    with pytest.raises(BadId):
        kiln.rename("kiln", new)


def test_a_rename_is_rehearsed_and_told(kiln: Service, root: Path) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    result = kiln.rename("kiln", "anagama", dry_run=True)
    assert (result.commit, result.dry_run) == (None, True)
    assert "projects/anagama/log.csv" in result.paths
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_rename_is_undone_by_the_old_name_and_keeps_what_was_written_since(kiln: Service, root: Path) -> None:
    (root / "projects/kiln/run.sh").write_text("#!/bin/sh\n")
    (root / "projects/kiln/run.sh").chmod(0o755)
    (root / "projects/kiln/raw.bin").write_bytes(b"\xff\0")
    before = (root / "projects/_index.md").read_text()
    renamed = kiln.rename("kiln", "anagama", title="Anagama")
    card = root / "projects/anagama.md"
    card.write_text(card.read_text() + "\n## Later\n\nWritten since.\n")
    (root / "projects/anagama/new.txt").write_text("new\n")
    kiln.log("in between")
    undone = kiln.undo()
    assert undone.undone == renamed.commit
    text = (root / "projects/kiln.md").read_text()
    assert "title: Kiln\n" in text and "# Kiln\n" in text and "Written since." in text
    assert sorted(path.name for path in (root / "projects/kiln").iterdir()) == [
        "log.csv",
        "new.txt",
        "raw.bin",
        "run.sh",
    ]
    assert (root / "projects/kiln/run.sh").stat().st_mode & 0o777 == 0o755
    assert not (root / "projects/anagama").exists()
    index = (root / "projects/_index.md").read_text()
    assert index.replace("- [later](kiln.md#later) — Later: Written since. (auto)\n", "") == before
    assert [kind for kind in problems(kiln) if kind != "file_unindexed"] == []
    again = kiln.undo(undone.commit)
    assert (again.undone, (root / "projects/anagama/raw.bin").read_bytes()) == (undone.commit, b"\xff\0")
    assert "title: Anagama\n" in (root / "projects/anagama.md").read_text()


def test_of_two_renames_the_later_has_to_be_undone_first(kiln: Service, root: Path) -> None:
    first = kiln.rename("kiln", "a")
    second = kiln.rename("a", "b")
    with pytest.raises(BuiltUpon, match=f"{second.commit}.*undo the newest of them first"):
        kiln.undo(first.commit)
    kiln.undo(second.commit)
    kiln.undo(first.commit)
    assert (root / "projects/kiln.md").exists()


def test_another_title_alone_is_undone_as_any_edit_is(kiln: Service, root: Path) -> None:
    before = (root / "projects/kiln.md").read_text(), (root / "projects/_index.md").read_text()
    kiln.rename("kiln", "kiln", title="Another")
    kiln.undo()
    assert ((root / "projects/kiln.md").read_text(), (root / "projects/_index.md").read_text()) == before


def test_an_undo_of_the_archive_brings_everything_back(kiln: Service, root: Path) -> None:
    before = (root / "projects/kiln.md").read_text(), (root / "projects/_index.md").read_text()
    kiln.archive("kiln")
    kiln.undo()
    assert ((root / "projects/kiln.md").read_text(), (root / "projects/_index.md").read_text()) == before
