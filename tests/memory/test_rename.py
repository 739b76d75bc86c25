"""A card under another name: what follows it and what doesn't, and that a crash leaves it with one name."""

import shutil
from datetime import date
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.memory.change import Change, Rename
from onepen.memory.commit.compose import IdTaken
from onepen.memory.commit.identity import ACCEPTED, folder_name, machine_mark
from onepen.memory.commit.pen import Pen
from onepen.memory.commit.rename import RenameRefused, renamed_block, renamed_card
from onepen.memory.exam.doctor import examine
from onepen.memory.files import is_tmp
from onepen.memory.ids import CardId
from onepen.memory.index.index import parse_index
from onepen.memory.mention import mentions
from onepen.memory.target import CardTarget
from onepen.memory.text.document import parse_document
from onepen.memory.text.refusal import EditRefused, NoSuchCard, NothingToChange, TextRefused
from onepen.memory.view import View
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
TODAY = date(2026, 11, 30)
KILN = CardTarget("projects", CardId("kiln"))
CARD = dedent("""\
    ---
    title: Kiln
    updated: 2026-11-01
    mine: "[kept](kiln.md)"
    ---

    # Kiln

    ## Firing

    [below](kiln.md#hosting), [log](./kiln/log.csv), [not mine](mykiln.md), [nor this](kiln2.md), <kiln.md>
    [with a title](<kiln/a.md> "A"), prose about kiln/roof.

    [ref]: kiln/b.md

    ```
    [code](kiln.md)
    ```
    """)


def renamed(text: str, title: str | None = None) -> str:
    return renamed_card(text, CardId("kiln"), CardId("anagama"), title, TODAY)


def test_links_to_the_card_and_its_folder_follow_and_everything_else_stays() -> None:
    assert renamed(CARD) == (
        CARD.replace("updated: 2026-11-01", "updated: 2026-11-30")
        .replace("[below](kiln.md#", "[below](anagama.md#")
        .replace("(./kiln/log", "(./anagama/log")
        .replace("(<kiln/a", "(<anagama/a")
        .replace("[ref]: kiln/", "[ref]: anagama/")
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\ntitle: Kiln\n---\n\n# Kiln\n", "---\ntitle: New\n---\n\n# New\n"),
        ("---\ntitle: Kiln\n---\n\n# Another\n", "---\ntitle: New\n---\n\n# Another\n"),
        ("# Kiln\r\n\r\nText.\r\n", "# New\r\n\r\nText.\r\n"),
        ("---\nmine: 1\n---\n# Kiln\n", "---\nmine: 1\n---\n# New\n"),
        ("---\nmine: 1\n---\nText.\n", "---\nmine: 1\ntitle: New\n---\nText.\n"),
    ],
)
def test_a_title_is_changed_where_it_stands(before: str, after: str) -> None:
    assert renamed(before, "New") == after


def test_a_text_without_a_title_gets_none() -> None:
    with pytest.raises(TextRefused, match="no title"):
        renamed("Only text.\n", "New")


def test_the_block_keeps_what_people_wrote_in_it() -> None:
    before = parse_index(
        "# Projects\n\nMine: [kiln](kiln.md)\n\n"
        "## [Roof](roof.md)\nstatus: active\n\n- [kiln](roof.md#kiln) — Theirs.\n\n"
        "## [Kiln](./kiln.md) and more\nstatus: active · mine\n\n- [Fire](kiln.md#firing) — Hot. `a`\n"
        "- [log.csv](kiln/log.csv) — Log.\nA stray line about kiln.md.\n"
    )
    card = parse_document("# Kiln\n\n## Firing\n\nText.\n")
    after = renamed_block(before, KILN, CardId("anagama"), card).text
    assert after == (
        before.text.replace("(./kiln.md)", "(./anagama.md)").replace("(kiln.md#firing", "(anagama.md#firing")
    ).replace("(kiln/log", "(anagama/log")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("see [it](kiln.md#firing)", True), ("(projects/kiln/log.csv:4)", True), ("clients/a/projects/kiln.md", True),
        ("[x](../projects/kiln.md)", True), ("[x](kiln/log.csv)", True), ("kiln.md says", True),
        ("the kiln is hot", False), ("mykiln.md", False), ("research/kiln.md", False), ("kiln/roof", False),
        ("projects/roof/kiln.md", False), ("kiln.mdx", False),
    ],
)  # fmt: skip
def test_what_names_a_card_is_found_and_prose_is_not(line: str, found: bool) -> None:
    assert list(mentions(f"first\n{line}\n", KILN)) == ([2] if found else [])


# -- through the pen ---------------------------------------------------------------------------------------------------


@pytest.fixture
def start(tmp_path: Path) -> Path:
    root = tmp_path / "start"
    (root / "projects/kiln/sub").mkdir(parents=True)
    (root / "research").mkdir()
    (root / "agents").mkdir()
    (root / ".onepen").mkdir()
    (root / ".onepen/ballast").touch()
    (root / ".onepen/machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / "projects/kiln.md").write_text(CARD)
    (root / "projects/roof.md").write_text("# Roof\n\n## Tiles\n\nAs in [kiln](kiln.md).\n")
    (root / "projects/kiln/log.csv").write_text("a,b\n")
    (root / "projects/kiln/empty").touch()
    (root / "projects/kiln/sub/b.bin").write_bytes(b"\xff\0")
    with Pen.open(open_workspace(root), CLOCK, disk=BreakingDisk()) as pen:
        pen.reconcile(open_workspace(root).house)
    return root


def again(start: Path) -> Workspace:
    root = start.parent / "ws"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(start, root)
    (root / ".onepen/machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    (root / ACCEPTED).write_text(folder_name(root))
    return open_workspace(root)


def change(new: str, title: str | None = None, files: tuple[str, ...] = ("log.csv", "empty", "sub/b.bin")) -> Change:
    rename = Rename(KILN, CardId(new), title, files)
    return Change(None, "renamed", "user:ana", rename=rename, log=(("renamed", "kiln"),))


def state(root: Path) -> dict[str, bytes]:
    found = (path for path in root.rglob("*") if path.is_file() and ".onepen" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_card_files_and_block_move_together_and_nothing_is_left(start: Path) -> None:
    place = again(start)
    old = state(place.root)
    with Pen.open(place, CLOCK, disk=BreakingDisk()) as pen:
        commit = pen.commit(change("anagama"))
    new = state(place.root)
    moved = ("log.csv", "empty", "sub/b.bin")
    assert [new[f"projects/anagama/{name}"] for name in moved] == [old[f"projects/kiln/{name}"] for name in moved]
    assert not (place.root / "projects/kiln").exists() and "projects/kiln.md" not in new
    assert new["projects/roof.md"] == old["projects/roof.md"]
    assert {change.path for change in commit.changes} == {
        "projects/kiln.md", "projects/anagama.md", "projects/_index.md"
    }  # fmt: skip
    assert [p.kind for p in examine(View(place)) if p.level != "info"] == []


def test_a_crash_at_any_operation_leaves_the_card_with_one_name(start: Path) -> None:
    place = again(start)
    old = state(place.root)
    counting = BreakingDisk()
    with Pen.open(place, CLOCK, disk=counting) as pen:
        pen.commit(change("anagama"))
    new = state(place.root)
    seen = {"old": 0, "new": 0}
    for n in range(1, counting.count + 1):
        place = again(start)
        acknowledged = False
        with pytest.raises(Stopped), Pen.open(place, CLOCK, disk=BreakingDisk(n)) as pen:
            pen.commit(change("anagama"))
            acknowledged = True
        with Pen.open(place, CLOCK, disk=BreakingDisk()):
            pass
        found = state(place.root)
        assert found in (old, new)
        assert found == new or not acknowledged
        assert not [path for path in place.root.rglob("*") if is_tmp(path.name)]
        seen["new" if found == new else "old"] += 1
    assert min(seen.values()) > 5


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (change("roof"), RenameRefused),
        (change("cone"), IdTaken),
        (change("full"), RenameRefused),
        (change("new", files=("gone.txt",)), RenameRefused),
        (change("new", files=("large",)), RenameRefused),
        (change("kiln"), NothingToChange),
        (change("kiln", title="Kiln"), NothingToChange),
    ],
)
def test_what_can_not_be_is_refused_and_nothing_changes(start: Path, wanted: Change, error: type[EditRefused]) -> None:
    place = again(start)
    (place.root / "research/cone.md").write_text("# Cone\n")
    (place.root / "projects/full").mkdir()
    (place.root / "projects/full/x").touch()
    with (place.root / "projects/kiln/large").open("wb") as file:
        file.truncate((16 << 20) + 1)
    before = state(place.root)
    with Pen.open(place, CLOCK, disk=BreakingDisk()) as pen, pytest.raises(error):
        pen.commit(wanted)
    assert state(place.root) == before


def test_a_card_that_is_gone_is_named(start: Path) -> None:
    place = again(start)
    (place.root / "projects/kiln.md").unlink()
    with Pen.open(place, CLOCK, disk=BreakingDisk()) as pen, pytest.raises(NoSuchCard, match=r"projects/kiln\.md"):
        pen.commit(change("anagama"))
