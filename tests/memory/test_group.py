"""Commits that are made durable together: each as if it had been made alone, and all of them with one record."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onepen.memory.change import Change, FileEntry, Put, Remove
from onepen.memory.commit import standing
from onepen.memory.commit.identity import ACCEPTED, folder_name, machine_mark
from onepen.memory.commit.pen import AlreadyCommitted, Durability, Outcome, Pen, PenLost, PutRefused, RecoveryNeeded
from onepen.memory.commit.redo import scan
from onepen.memory.files import is_tmp, sha256
from onepen.memory.history import Commit, read_commits
from onepen.memory.ids import CardId, ClientId
from onepen.memory.index.index import IndexEntry
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit, EditKind, OldTextNotFound
from onepen.memory.view import View
from onepen.memory.workspace import NoSuchClient, open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
KILN = "---\ntitle: Kiln\nstatus: active\nupdated: 2026-11-02\n---\n\n# Kiln\n\n## Firing\n\n- fire at 1200\n"
State = dict[str, bytes]


@pytest.fixture
def root() -> Iterator[Path]:
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if os.access(fast, os.W_OK) else None, prefix="onepen-test-") as made:
        yield begun(Path(made) / "ws")


def begun(root: Path) -> Path:
    for folder in ("projects", "research", "memory", "clients/acme", ".onepen"):
        (root / folder).mkdir(parents=True)
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / "projects" / "kiln.md").write_text(KILN)
    (root / "memory" / "2026-11-29.md").write_text("- 09:00+01:00 [note] old\n")
    (root / ".onepen" / "ballast").touch()
    named(root)
    with open_pen(root) as pen:
        pen.reconcile(open_workspace(root).house)
    return root


def named(root: Path) -> None:
    (root / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    (root / ".onepen" / "redo").mkdir(exist_ok=True)
    (root / ACCEPTED).write_text(folder_name(root))


def open_pen(root: Path, disk: BreakingDisk | None = None, durability: Durability = Durability.FULL) -> Pen:
    return Pen.open(open_workspace(root), CLOCK, wait=0, disk=disk or BreakingDisk(), durability=durability)


def change(kind: EditKind, card: str, text: str = "", old: str = "", key: str | None = None) -> Change:
    target = CardTarget("projects", CardId(card))
    edit = CardEdit(target, kind, text=text, old_text=old, title=card.title() if kind == "create" else None)
    return Change(None, f"{kind} {card}", "user:ana", edit=edit, log=(("note", f"{kind} {card}"),), key=key)


def note(text: str, client: str | None = None) -> Change:
    return Change(None if client is None else ClientId(client), text, "user:ana", log=(("note", text),))


def put(text: str, before: str | None = None) -> Change:
    place = Put("projects/kiln/plan.txt", text.encode(), None if before is None else sha256(before.encode()))
    entry = FileEntry(CardId("kiln"), "plan.txt", IndexEntry("plan.txt", f"A plan: {text.strip()}"))
    return Change(None, "put", "user:ana", puts=(place,), files=(entry,), log=(("file", text.strip()),))


REMOVAL = Change(
    None,
    "gone",
    "user:ana",
    removes=(Remove("projects/kiln/plan.txt", sha256(b"two\n")),),
    log=(("file", "gone"),),
)
GROUP = (
    change("replace", "kiln", "- fire at 1220\n", "- fire at 1200\n", key="t1 projects/kiln.md"),
    change("create", "loom", "## Weft\n\nWool.\n"),
    change("append", "loom", "Cotton.\n"),
    change("append", "kiln", "## Glaze\n\nCeladon.\n"),
    put("one\n"),
    put("two\n", "one\n"),
    note("same"),
    note("same"),
    note("theirs", "acme"),
)


def state(root: Path) -> State:
    found = [p for p in root.rglob("*") if p.is_file() and ".onepen" not in p.parts]
    return {str(p.relative_to(root)): p.read_bytes() for p in found}


def alone(root: Path, changes: Sequence[Change]) -> list[str]:
    """What each change comes to where it is made by itself."""
    told = []
    with open_pen(root) as pen:
        for one in changes:
            try:
                told.append(pen.commit(one).id)
            except Exception as e:  # noqa: BLE001
                told.append(type(e).__name__)
    return told


def together(root: Path, changes: Sequence[Change]) -> list[str]:
    with open_pen(root) as pen:
        return [one.id if isinstance(one, Commit) else type(one).__name__ for one in pen.commit_group(changes)]


def twin(root: Path) -> Path:
    other = root.with_name("twin")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(root, other)
    named(other)
    return other


def test_a_group_leaves_what_its_commits_leave_one_by_one(root: Path) -> None:
    other = twin(root)
    assert together(root, GROUP) == alone(other, GROUP) == [f"c{k}-k3x9ab" for k in range(2, 11)]
    assert state(root) == state(other)
    with open_pen(root) as pen:
        assert isinstance(pen.commit_group([REMOVAL, put("three\n")])[1], Commit)
    assert (root / "projects/kiln/plan.txt").read_text() == "three\n"


CARDS = st.sampled_from(["kiln", "loom", "wheel"])
CHANGES = st.one_of(
    st.builds(lambda card, text: change("append", card, text), CARDS, st.sampled_from(["a\n", "## B\n\nb\n", "c"])),
    st.builds(lambda card: change("create", card, "## Weft\n\nWool.\n", key=f"new {card}"), CARDS),
    st.builds(lambda card: change("remove", card, old="Wool.\n"), CARDS),
    st.builds(lambda card: change("replace", card, "Silk.\n", "Wool.\n"), CARDS),
    st.builds(put, st.sampled_from(["one\n", "two\n"]), st.sampled_from([None, "one\n"])),
    st.just(REMOVAL),
    st.builds(note, st.sampled_from(["x", "y"]), st.sampled_from([None, "acme", "nobody"])),
)


@settings(max_examples=25, deadline=None)
@given(st.lists(CHANGES, min_size=1, max_size=7))
def test_any_group_is_what_its_commits_are_one_by_one(changes: list[Change]) -> None:
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if os.access(fast, os.W_OK) else None) as made:
        root = begun(Path(made) / "ws")
        other = twin(root)
        assert together(root, changes) == alone(other, changes)
        assert state(root) == state(other)


def test_each_file_of_a_group_is_written_once_and_one_record_holds_all(root: Path) -> None:
    disk = BreakingDisk()
    with open_pen(root, disk) as pen:
        before = len(disk.log)
        commits = pen.commit_group(GROUP)
        log = disk.log[before:]
        assert sum(what.startswith("exchange kiln.md") for what in log) == 1
        assert sum(what.startswith("exchange _index.md") for what in log) == 1
        assert log.count("rename plan.txt") == 1
        assert log.count("open log") == 1
        records = scan((root / ".onepen/redo/log").read_bytes()).records
    assert [record.commits for record in records] == [tuple(c.id for c in commits if isinstance(c, Commit))]
    assert len({change.path for change in records[0].files}) == len(records[0].files)


def kinds(outcomes: Sequence[Outcome]) -> list[type]:
    return [type(outcome) for outcome in outcomes]


def test_what_does_not_fit_is_refused_alone(root: Path) -> None:
    group = (
        GROUP[0],
        change("replace", "kiln", "x", "not there"),
        replace(note("again"), key=GROUP[0].key),
        note("nobody", "nobody"),
        put("one\n"),
        put("two\n"),
        note("kept"),
    )
    with open_pen(root) as pen:
        outcomes = pen.commit_group(group)
        assert kinds(outcomes) == [
            Commit,
            OldTextNotFound,
            AlreadyCommitted,
            NoSuchClient,
            Commit,
            PutRefused,
            Commit,
        ]
        assert [c.id for c in outcomes if isinstance(c, Commit)] == ["c2-k3x9ab", "c3-k3x9ab", "c4-k3x9ab"]
        assert kinds(pen.commit_group([group[1], group[0]])) == [OldTextNotFound, AlreadyCommitted]
        assert pen.commit_group([]) == ()
    assert [c.id for c in read_commits(View(open_workspace(root)), open_workspace(root).house)][1:] == [
        "c2-k3x9ab",
        "c3-k3x9ab",
        "c4-k3x9ab",
    ]


@pytest.mark.parametrize("durability", Durability)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 2), (1, 2, 2), (2, 1, 2), (3, 2)])
def test_the_key_of_what_was_undone_and_done_again_is_taken(
    root: Path, sizes: Sequence[int], durability: Durability
) -> None:
    """However the commits fall into groups; also where one undoing is in the log and the other on its way there."""
    made = replace(note("once"), key="t1 day")
    changes = [
        made,
        *(replace(note(f"undo {k}"), undoes=f"c{k}-k3x9ab") for k in (2, 3)),
        made,
        replace(made, what="x"),
    ]
    with open_pen(root, durability=durability) as pen:
        outcomes: list[Outcome] = []
        for size in sizes:
            outcomes += pen.commit_group(changes[len(outcomes) : len(outcomes) + size])
            if size == 1:
                pen.flush()
    assert kinds(outcomes) == [Commit, Commit, Commit, AlreadyCommitted, AlreadyCommitted]
    assert [one.commit for one in outcomes if isinstance(one, AlreadyCommitted)] == ["c2-k3x9ab"] * 2


def test_a_place_that_is_unfit_keeps_only_its_own_commit_from_being_made(root: Path) -> None:
    (root / "projects" / "kiln").symlink_to("../research")
    (root / "research" / "plan.txt").mkdir()
    with open_pen(root) as pen:
        outcomes = pen.commit_group([note("a"), put("one\n"), note("b")])
    assert isinstance(outcomes[0], Commit)
    assert not isinstance(outcomes[1], Commit)
    assert isinstance(outcomes[2], Commit)
    assert (root / "memory/2026-11-30.md").read_text() == "- 14:05+01:00 [note] a\n- 14:05+01:00 [note] b\n"


def test_when_the_pen_is_lost_or_in_doubt_all_are_told(root: Path) -> None:
    with open_pen(root) as pen:
        (root / ".onepen/pen.lock").unlink()
        assert kinds(pen.commit_group([note("a"), note("b")])) == [PenLost, PenLost]


def operations(root: Path) -> int:
    disk = BreakingDisk()
    with open_pen(twin(root), disk) as pen:
        pen.commit_group(GROUP)
    return disk.count


def test_a_group_that_is_stopped_anywhere_is_there_whole_or_not_at_all(root: Path) -> None:
    old = state(root)
    finished = twin(root)
    together(finished, GROUP)
    new = state(finished)
    outcomes: list[bool] = []
    for at in range(1, operations(root) + 1):
        other = twin(root)
        pen = None
        with suppress(Stopped):
            pen = open_pen(other, BreakingDisk(at))
            pen.commit_group(GROUP)
        with suppress(Stopped):
            if pen is not None:
                pen.close()
        view = View(open_workspace(other))
        seen = {path: data for path in new if (data := view.bytes(path)) is not None}
        assert seen in (old, new)
        open_pen(other).close()
        assert state(other) == seen
        assert [p for p in other.rglob("*") if is_tmp(p.name)] == []
        outcomes.append(seen == new)
    assert outcomes == sorted(outcomes)
    assert 20 < outcomes.index(True) < len(outcomes) - 10


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_an_error_of_the_disk_is_told_to_each_and_leaves_all_or_none(root: Path, error: int) -> None:
    """A group that can't be written is tried one by one, so what was told of each is what there is of it."""
    first = BreakingDisk()
    open_pen(twin(root), first).close()
    doubted = 0
    for at in range(first.count - 8, operations(root) + 1):
        other = twin(root)
        disk = BreakingDisk(at, error=error, for_good=True)
        try:
            pen = open_pen(other, disk)
        except OSError:
            continue
        outcomes = pen.commit_group(GROUP)
        pen.close()
        made = {c.id for c in outcomes if isinstance(c, Commit)}
        doubt = any(isinstance(c, RecoveryNeeded) for c in outcomes)
        doubted += doubt
        open_pen(other).close()
        workspace = open_workspace(other)
        spaces = (workspace.house, workspace.space("acme"))
        there = {c.id for space in spaces for c in read_commits(View(workspace), space)} - {"c1-k3x9ab"}
        assert there == made or (doubt and made <= there)
    assert doubted > 5


def history(root: Path) -> list[Commit]:
    workspace = open_workspace(root)
    return list(read_commits(View(workspace), workspace.house))


def large(root: Path) -> None:
    index = root / "projects" / "_index.md"
    block = "## [Card {k}](card-{k}.md)\nstatus: active\n\n- [a](card-{k}.md#a) — A.\n\n"
    blocks = "".join(block.format(k=k) for k in range(1500))
    index.write_text(f"{index.read_text()}\n{blocks}".rstrip("\n") + "\n")


@pytest.mark.parametrize("durability", Durability)
def test_a_large_index_is_written_as_a_small_one_is(
    root: Path, durability: Durability, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is kept in its blocks between commits; hand edits, new cards, and what changes the whole come in between."""
    large(root)
    other = twin(root)
    index = Path("projects/_index.md")
    for place, least in ((root, 1 << 10), (other, 1 << 40)):
        monkeypatch.setattr(standing, "_LARGE", least)
        with Pen.open(open_workspace(place), CLOCK, wait=0, disk=BreakingDisk(), durability=durability) as pen:
            for k in range(3):
                pen.commit_group([change("append", "kiln", f"{k}\n"), change("append", "kiln", f"## S{k}\n\nText.\n")])
            assert bool(pen._source._blocks) == (place == root and durability is Durability.FULL)
            pen.commit_group([*GROUP[1:4], note("x")])
            pen.flush()
            (place / index).write_text((place / index).read_text().replace("Card 700]", "By hand]"))
            pen.commit_group([change("append", "loom", "more\n"), REMOVAL, put("one\n")])
            pen.commit_group([change("append", "kiln", "a\n"), *(change("create", f"new-{k}") for k in range(3))])
            gone = Remove("projects/new-1.md", sha256(View(open_workspace(place)).bytes("projects/new-1.md") or b""))
            pen.commit_group([change("append", "new-2", "b\n"), Change(None, "gone", "user:ana", removes=(gone,))])
            pen.commit_group([change("append", "new-2", "## C\n\nc\n"), change("append", "kiln", "d\n")])
    for a, b in zip(history(root), history(other), strict=True):
        assert a == b
    assert state(root) == state(other)
    assert "By hand]" in (root / index).read_text()
    assert "new-1.md" not in (root / index).read_text()


def test_a_group_on_a_large_index_is_finished_after_a_stop(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "_LARGE", 1 << 10)
    large(root)
    loom = change("create", "loom", "## Weft\n\nWool.\n")
    group = [change("append", "kiln", "a\n"), loom, change("append", "loom", "b\n")]

    def run(place: Path, disk: BreakingDisk) -> None:
        with suppress(Stopped):
            pen = open_pen(place, disk)
            with suppress(Stopped):
                for k in range(2):
                    pen.commit(change("append", "kiln", f"{k}\n"))
                pen.commit_group(group)
            pen.close()

    whole = BreakingDisk()
    finished = twin(root)
    run(finished, whole)
    new = state(finished)
    for at in range(whole.log.index("exchange _index.md"), whole.count + 1, 3):
        other = twin(root)
        run(other, BreakingDisk(at))
        with open_pen(other) as pen:
            done = len(read_commits(View(open_workspace(other)), open_workspace(other).house)) - 1
            assert done in (0, 1, 2, 5)
            for k in range(done, 2):
                pen.commit(change("append", "kiln", f"{k}\n"))
            if done < 5:
                pen.commit_group(group)
        assert state(other) == new
