from collections.abc import Callable

from onepen.memory.ids import AgentId, TaskId
from onepen.staging.draft import draft_sha
from onepen.staging.folder import Collected, TaskFolder, TaskSheet, collect, render_sheet

GOOD = "---\ntarget: projects/kiln.md\nedit: append\n---\n- fire at 1220\n"
Look = Callable[[], dict[str, Collected]]


def test_places_of_a_task(folder: TaskFolder) -> None:
    assert folder.attempts() == (1,)
    for name in ("2", "10", "01", "x", "0", "²"):
        (folder.path / name).mkdir()
    (folder.path / "3").write_text("no folder")
    assert folder.attempts() == (1, 2, 10)
    assert folder.drafts(2) == folder.path / "2" / "drafts"
    assert TaskFolder(folder.path / "none").attempts() == ()


def test_the_sheet_is_read_from_its_file(folder: TaskFolder) -> None:
    sheet = TaskSheet(
        TaskId("k3x9ab"), AgentId("researcher"), None, None, None, "Which cone?", "2026-11-29T14:05+01:00"
    )
    folder.sheet_file.write_text(render_sheet(sheet))
    assert folder.sheet() == sheet


def test_what_was_read_is_kept_and_hashed(folder: TaskFolder, look: Look) -> None:
    (folder.drafts(1) / "a.md").write_text(GOOD)
    first = look()["a.md"]
    assert first.raw == GOOD.encode() and first.text == GOOD
    assert first.draft is not None
    assert first.sha256 == first.draft.sha256 == draft_sha(GOOD.encode(), None)
    (folder.drafts(1) / "a.md").write_text(GOOD + "\n")
    assert look()["a.md"].sha256 != first.sha256
    assert first.text == GOOD


def test_a_file_beside_belongs_to_the_draft_that_names_it(folder: TaskFolder, look: Look) -> None:
    text = GOOD.replace("projects/kiln.md", "projects/kiln/launch.csv").replace("append", "create\nfile: launch.csv")
    (folder.drafts(1) / "note.md").write_text(text)
    (folder.drafts(1) / "launch.csv").write_bytes(b"a,b\n\xff")
    (folder.drafts(1) / "other.csv").write_bytes(b"a")
    found = look()
    assert list(found) == ["note.md", "other.csv"]
    draft = found["note.md"].draft
    assert draft is not None and draft.file_data == b"a,b\n\xff"
    assert found["note.md"].sha256 == draft_sha(text.encode(), b"a,b\n\xff")


def test_names_in_any_script_are_fine(folder: TaskFolder, look: Look) -> None:
    names = ["Neue Übersicht.md", "窯.md", "newsletter-2.v1.md"]
    for name in names:
        (folder.drafts(1) / name).write_text(GOOD)
    assert all(entry.draft is not None for entry in look().values())


def test_three_thousand_drafts_are_read(folder: TaskFolder) -> None:
    for number in range(3_000):
        (folder.drafts(1) / f"{number:04}.md").write_text(GOOD)
    found = collect(folder, TaskId("k3x9ab"), 1)
    assert len(found) == 3_000 and all(entry.draft is not None for entry in found)
    assert found[-1].id == "k3x9ab-3000"
