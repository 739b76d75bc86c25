"""Commits taken back: a workspace in, an undo, the workspace out; told by the history alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.memory.change import Change, FileEntry, Put
from onepen.memory.commit.pen import AlreadyCommitted, Pen
from onepen.memory.commit.revert import RevertRefused
from onepen.memory.exam.doctor import examine
from onepen.memory.files import sha256
from onepen.memory.history import Commit, read_commits
from onepen.memory.ids import AgentId, CardId
from onepen.memory.index.index import IndexEntry
from onepen.memory.target import CardTarget, NoteTarget, parse_target
from onepen.memory.text.card import CardEdit, EditKind
from onepen.memory.undoable import (
    NotUndoable,
    UndoneAlready,
    built_upon,
    check_undoable,
    last_undoable,
)
from onepen.memory.undone import puts_back, root_of
from onepen.memory.view import View
from onepen.memory.workspace import Workspace, open_workspace
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
KILN = """\
---
title: Kiln
status: active
created: 2026-11-02
updated: 2026-11-02
---

# Kiln

Ours.

## Firing

- cold
- fire at 1200
- soak

## Glaze

- celadon
- cold
"""


class Bench:
    """A workspace with a pen, whose commits are taken back by what its history tells."""

    def __init__(self, root: Path) -> None:
        for folder in ("projects", "research", "memory", "agents"):
            (root / folder).mkdir(parents=True)
        (root / "onepen.toml").write_text('id = "abcdefgh1234"\ntimezone = "Europe/Berlin"\n')
        (root / ".gitignore").write_text(".onepen/\n")
        self.workspace: Workspace = open_workspace(root)
        self.pen = Pen.open(self.workspace, CLOCK, wait=0)

    def read(self, path: str) -> str:
        return (self.workspace.root / path).read_text()

    def write(self, path: str, text: str) -> None:
        (self.workspace.root / path).write_text(dedent(text))

    def exists(self, path: str) -> bool:
        return (self.workspace.root / path).exists()

    def files(self) -> dict[str, str]:
        """Cards, notes, indexes and files; not the logs, which only grow."""
        root = self.workspace.root
        found = (path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
        return {path: self.read(path) for path in found if not path.startswith((".", "logs/", "memory/", "onepen"))}

    @property
    def history(self) -> tuple[Commit, ...]:
        return read_commits(View(self.workspace), self.workspace.house)

    def commit(self, change: Change) -> Commit:
        return self.pen.commit(change)

    def edit(self, kind: EditKind, target: str = "projects/kiln.md", key: str | None = None, **fields: str) -> Commit:
        parsed = parse_target(target)
        assert isinstance(parsed, CardTarget | NoteTarget)
        section, text = fields.get("section"), fields.get("text", "")
        told = IndexEntry(section, f"About {section}: {' '.join(text.split())}", ("one",)) if section and text else None
        index = (told,) if told is not None and isinstance(parsed, CardTarget) and "#" not in text else ()
        what = f"{target}: {kind}"
        log = (("draft", what),)
        edit = CardEdit(parsed, kind, **fields)
        return self.commit(Change(None, what, "user:ana", edit=edit, index=index, log=log, key=key))

    def undo(self, commit: Commit) -> Commit:
        told = next(one for one in self.history if one.id == commit.id)
        check_undoable(told, self.history)
        log = (("undone", told.what),)
        change = Change(None, f"undone: {told.what}", "user:ana", reverts=told.changes, undoes=told.id, log=log)
        return self.commit(change)

    def refused(self, commit: Commit) -> str:
        before, days = self.files(), sorted((self.workspace.root / "memory").glob("*.md"))
        logs = [day.read_bytes() for day in days]
        with pytest.raises(RevertRefused) as refused:
            self.undo(commit)
        assert self.files() == before and [day.read_bytes() for day in days] == logs
        return refused.value.message

    def doctor(self) -> None:
        assert [problem for problem in examine(View(self.workspace)) if problem.level == "error"] == []


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "ws")
    kiln = CardEdit(CardTarget("projects", CardId("kiln")), "create", text=KILN)
    bench.commit(Change(None, "projects/kiln.md: created", "user:ana", edit=kiln, log=(("added", "kiln"),)))
    with bench.pen:
        yield bench
        bench.doctor()


def dateless(files: dict[str, str]) -> dict[str, str]:
    return {path: text.replace("2026-11-02", "DAY").replace("2026-11-30", "DAY") for path, text in files.items()}


EDITS: Sequence[tuple[EditKind, dict[str, str]]] = [
    ("replace", {"section": "firing", "old_text": "- fire at 1200\n", "text": "- fire at 1220\n"}),
    ("replace", {"section": "firing", "old_text": "- cold\n", "text": "- warm\n- hot\n"}),
    ("remove", {"section": "firing", "old_text": "- fire at 1200\n"}),
    ("remove", {"section": "firing", "old_text": "- cold\n"}),
    ("remove", {"section": "glaze", "old_text": "- cold\n"}),
    ("remove", {"old_text": "\n## Glaze\n\n- celadon\n- cold\n"}),
    ("remove", {"old_text": "Ours.\n\n"}),
    ("remove", {"old_text": "\n# Kiln\n\nOurs.\n"}),
    ("append", {"section": "firing", "text": "- and again\n"}),
    ("append", {"text": "\n## Sales\n\nBy post.\n"}),
    ("append", {"text": "a line at the end"}),
    ("replace", {"section": "firing", "old_text": "## Firing", "text": "## Burning"}),
    ("replace", {"old_text": "- soak\n\n## Glaze\n", "text": "- soak\n\n## Glazes\n\n## Tiles\n"}),
    ("replace", {"section": "firing", "old_text": "## Firing\n\n- cold\n", "text": "## Firing\n- cold\n"}),
    ("replace", {"old_text": "Ours.", "text": "Ours,\nand theirs.\n\n```\n# no heading\n```"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields"), EDITS)
def test_what_was_undone_is_as_it_was_and_undone_again_as_it_was_made(
    kind: EditKind, fields: dict[str, str], bench: Bench
) -> None:
    before = dateless(bench.files())
    commit = bench.edit(kind, **fields)
    made = dateless(bench.files())
    undoing = bench.undo(commit)
    assert dateless(bench.files()) == before
    assert undoing.undoes == commit.id and undoing.changes
    again = bench.undo(undoing)
    orphan = "- [glaze](kiln.md#glaze) — Glaze: celadon (auto)\n"  # an edit leaves it to a person, an undo doesn't
    now = dateless(bench.files())
    assert now == made or now == {path: text.replace(orphan, "") for path, text in made.items()}
    bench.undo(again)
    assert dateless(bench.files()) == before
    assert bench.read("memory/2026-11-30.md").count("[undone]") == 3


@pytest.mark.parametrize(("kind", "fields"), EDITS)
def test_other_lines_stay_whoever_wrote_them(kind: EditKind, fields: dict[str, str], bench: Bench) -> None:
    commit = bench.edit(kind, **fields)
    card = bench.read("projects/kiln.md").replace("- celadon\n", "- celadon\n- by hand\n")
    bench.write("projects/kiln.md", card)
    bench.edit("append", text="\n## Later\n\nBy another commit.\n")
    index = bench.read("projects/_index.md")
    bench.write("projects/_index.md", index.replace("# Projects\n", "# Projects\n\nMy own words.\n"))
    if "- celadon" in card:
        bench.undo(commit)
        assert "- by hand\n" in bench.read("projects/kiln.md")
    else:
        bench.undo(commit)
    assert "By another commit.\n" in bench.read("projects/kiln.md")
    assert "My own words.\n" in bench.read("projects/_index.md")
    assert "kiln.md#later" in bench.read("projects/_index.md")


def test_a_line_is_put_back_where_it_stood_not_where_an_equal_one_stands(bench: Bench) -> None:
    commit = bench.edit("remove", section="glaze", old_text="- cold\n")
    bench.undo(commit)
    assert bench.read("projects/kiln.md").endswith("## Glaze\n\n- celadon\n- cold\n")


def test_a_card_that_was_made_goes_and_comes_back_with_its_index_block(bench: Bench) -> None:
    before = bench.files()
    made = bench.edit("create", "research/cones.md", text="# Cones\n\n## Heat\n\nCone 6 at 1222.\n")
    then = bench.files()
    undoing = bench.undo(made)
    assert not bench.exists("research/cones.md")
    assert {path: text for path, text in bench.files().items() if path != "research/_index.md"} == before
    assert bench.read("research/_index.md").strip() == "# Research"
    bench.undo(undoing)
    assert bench.files() == then


def test_a_file_of_a_project_and_its_index_line(bench: Bench) -> None:
    before = bench.files()
    entry = FileEntry(CardId("kiln"), "sales/launch.md", IndexEntry("sales/launch.md", "Launch post.", ("post",)))
    put = Put("projects/kiln/sales/launch.md", b"# Launch\n\nSoon.\n")
    made = bench.commit(Change(None, "launch", "user:ana", puts=(put,), files=(entry,), log=(("draft", "launch"),)))
    then = bench.files()
    assert "still holds sales" in bench.refused(bench.history[0]), "a card is not taken from above its files"
    undoing = bench.undo(made)
    assert bench.files() == before and not bench.exists("projects/kiln")
    bench.undo(undoing)
    assert bench.files() == then
    changed = Put(put.path, b"# Launch\n\nToday.\n", sha256(put.data))
    edit = bench.commit(Change(None, "launch", "user:ana", puts=(changed,), log=(("draft", "launch"),)))
    bench.undo(edit)
    assert bench.files() == then


def test_an_agent_and_its_line_in_the_registry(bench: Bench) -> None:
    put = Put("agents/poet.md", b"---\nname: poet\n---\nYou rhyme.\n")
    registry = ((AgentId("poet"), "Writes verse."),)
    made = bench.commit(Change(None, "poet", "user:ana", puts=(put,), registry=registry, log=(("added", "poet"),)))
    then = bench.files()
    undoing = bench.undo(made)
    assert not bench.exists("agents/poet.md") and "poet" not in bench.read("agents/_index.md")
    bench.undo(undoing)
    assert bench.files() == then


def test_a_status(bench: Bench) -> None:
    before = bench.files()
    target = CardTarget("projects", CardId("kiln"))
    made = bench.commit(Change(None, "paused", "user:ana", status=(target, "paused"), log=(("status", "paused"),)))
    bench.undo(made)
    assert dateless(bench.files()) == dateless(before)


@pytest.mark.parametrize("kind", ["projects", "research"])
def test_a_card_at_rest(kind: str, bench: Bench) -> None:
    bench.edit("create", "research/cones.md", text="# Cones\n\n## Heat\n\nCone 6 at 1222.\n")
    bench.edit("append", "research/cones.md", section="heat", text="And 7 at 1240.\n")
    before = bench.files()
    target = parse_target("projects/kiln.md" if kind == "projects" else "research/cones.md")
    assert isinstance(target, CardTarget)
    made = bench.commit(Change(None, "archived", "user:ana", status=(target, "archived"), log=(("status", "x"),)))
    then = bench.files()
    assert then != before
    undoing = bench.undo(made)
    assert dateless(bench.files()) == dateless(before)
    bench.undo(undoing)
    assert dateless(bench.files()) == dateless(then)


def test_a_note_and_a_summary_that_somebody_changed_since(bench: Bench) -> None:
    made = bench.edit("create", "MEMORY.md", text="- Ana prefers mornings\n")
    more = bench.edit("append", "MEMORY.md", text="- and tea\n")
    bench.undo(more)
    assert bench.read("MEMORY.md") == "- Ana prefers mornings\n"
    assert "a file of this kind is never removed" in bench.refused(made)
    edit = bench.edit("append", section="firing", text="- slowly\n")
    index = bench.read("projects/_index.md")
    bench.write("projects/_index.md", index.replace("About firing: - slowly", "My summary"))
    bench.undo(edit)
    assert "My summary" in bench.read("projects/_index.md")


def test_what_can_not_be_found_is_refused_and_nothing_is_written(bench: Bench) -> None:
    """F11: text that a person changed is theirs, also when a commit is to be undone."""
    edit = bench.edit("replace", section="firing", old_text="- fire at 1200\n", text="- fire at 1220\n")
    card = bench.read("projects/kiln.md")
    bench.write("projects/kiln.md", card.replace("1220", "1221"))
    assert "doesn't stand there any more" in bench.refused(edit)
    bench.write("projects/kiln.md", card.replace("- soak\n", "- fire at 1220\n- soak\n"))
    assert "stands there 2 times" in bench.refused(edit)
    bench.write("projects/kiln.md", card.replace("- fire at 1220\n", "").replace("- celadon", "- fire at 1220"))
    assert "section firing" in bench.refused(edit)
    (bench.workspace.root / "projects/kiln.md").unlink()
    assert "it is gone" in bench.refused(edit)
    bench.write("projects/kiln.md", card)


def test_a_heading_is_not_taken_from_above_text_of_others(bench: Bench) -> None:
    made = bench.edit("append", text="\n## Sales\n\nBy post.\n")
    bench.write("projects/kiln.md", bench.read("projects/kiln.md") + "And by hand.\n")
    assert "section sales holds text that was added since" in bench.refused(made)


def test_a_card_that_changed_or_whose_place_was_taken(bench: Bench) -> None:
    made = bench.edit("create", "research/cones.md", text="# Cones\n\n## Heat\n\nCone 6.\n")
    card = bench.read("research/cones.md")
    bench.write("research/cones.md", card + "\nBy hand.\n")
    assert "it has changed since it was made" in bench.refused(made)
    bench.write("research/cones.md", card)
    undoing = bench.undo(made)
    bench.write("research/cones.md", f"{card}\nBy hand.\n")
    assert "another one stands there now" in bench.refused(undoing)
    bench.pen.reconcile(bench.workspace.house)


@pytest.mark.parametrize("newline", ["\r\n", "\n"])
def test_line_ends_and_the_end_of_a_file_stay_as_they_are(newline: str, bench: Bench) -> None:
    edit = bench.edit("replace", section="glaze", old_text="- celadon\n- cold\n", text="- tenmoku\n")
    gone = bench.edit("remove", section="firing", old_text="- soak\n")
    path = bench.workspace.root / "projects/kiln.md"
    path.write_bytes(path.read_bytes().removesuffix(b"\n").replace(b"\n", newline.encode()))
    bench.undo(edit)
    bench.undo(gone)
    lines = KILN.replace("updated: 2026-11-02", "updated: 2026-11-30").removesuffix("\n").replace("\n", newline)
    assert path.read_bytes().decode().removesuffix(newline) == lines


def test_the_key_is_free_again_and_taken_when_the_undoing_is_undone(bench: Bench) -> None:
    fields = {"section": "firing", "text": "- again\n"}
    first = bench.edit("append", key="t1 projects/kiln.md", **fields)
    with pytest.raises(AlreadyCommitted):
        bench.edit("append", key="t1 projects/kiln.md", **fields)
    undoing = bench.undo(first)
    second = bench.edit("append", key="t1 projects/kiln.md", **fields)
    assert second.key == first.key and bench.read("projects/kiln.md").count("- again\n") == 1
    bench.undo(second)
    bench.undo(undoing)
    with pytest.raises(AlreadyCommitted):
        bench.edit("append", key="t1 projects/kiln.md", **fields)


def test_what_later_commits_build_on_is_told(bench: Bench) -> None:
    made = bench.edit("append", text="\n## Sales\n\nBy post.\n")
    edit = bench.edit("replace", section="sales", old_text="By post.\n", text="By mail.\n")
    other = bench.edit("append", section="firing", text="- x\n")
    more = bench.edit("append", section="sales", text="And by cart.\n")
    bench.refused(made)
    assert [one.id for one in built_upon(made, bench.history)] == [more.id, edit.id]
    bench.undo(more)
    assert [one.id for one in built_upon(made, bench.history)] == [edit.id]
    bench.undo(edit)
    assert built_upon(made, bench.history) == ()
    bench.undo(made)
    bench.undo(other)
    assert dateless({"x": bench.read("projects/kiln.md")}) == dateless({"x": KILN})


def test_the_last_one_that_can_be_undone_goes_backwards(bench: Bench) -> None:
    first = bench.history[0]
    edit = bench.edit("append", section="firing", text="- x\n")
    note = bench.commit(Change(None, "[note] hello", "user:ana", log=(("note", "hello"),)))
    bench.write("projects/kiln.md", bench.read("projects/kiln.md") + "\n## By hand\n\nYes.\n")
    line = bench.pen.reconcile(bench.workspace.house)
    assert line is not None
    last = last_undoable(bench.history)
    assert last is not None and last.id == edit.id
    undoing = bench.undo(edit)
    assert (last := last_undoable(bench.history)) is not None and last.id == first.id
    for commit, why in ((note, "only added to the day log"), (line, "only brought the indexes into line")):
        with pytest.raises(NotUndoable, match=why):
            check_undoable(commit, bench.history)
    with pytest.raises(UndoneAlready) as done:
        check_undoable(edit, bench.history)
    assert done.value.hint == f"onepen undo {undoing.id}"
    assert root_of(undoing, bench.history) == edit and puts_back(undoing, bench.history)
    assert not puts_back(edit, bench.history)


def test_what_was_pruned_can_not_be_undone(bench: Bench) -> None:
    pruned = replace(bench.edit("append", section="firing", text="- x\n"), changes=(), what="", pruned=True)
    with pytest.raises(NotUndoable, match="its text was pruned"):
        check_undoable(pruned, (pruned,))
    assert last_undoable((pruned,)) is None


def test_files_that_are_no_text_can_not_be_undone(bench: Bench) -> None:
    put = Put("projects/kiln/photo.bin", b"\xff\x00\xfe")
    made = bench.commit(Change(None, "photo", "user:ana", puts=(put,), log=(("draft", "photo"),)))
    with pytest.raises(NotUndoable, match=r"doesn't hold what stood in projects/kiln/photo\.bin"):
        bench.undo(made)
