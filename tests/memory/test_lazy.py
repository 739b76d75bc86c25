"""Lazy durability: a killed process loses nothing, a power cut at most what was committed since the last flush.

The power is cut by putting back the state in which the disk has been: files as they were, and of the redo log what was
synced, with more or less of the rest.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from onepen.memory.change import Change, Put
from onepen.memory.commit.identity import ACCEPTED, folder_name, machine_mark
from onepen.memory.commit.pen import AlreadyCommitted, Durability, Pen, PenLost, RecoveryNeeded
from onepen.memory.commit.redo import RedoDamaged, scan
from onepen.memory.files import is_tmp
from onepen.memory.history import read_commits
from onepen.memory.ids import CardId
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
REDO = ".onepen/redo/log"


@pytest.fixture
def root() -> Iterator[Path]:
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=fast if os.access(fast, os.W_OK) else None, prefix="onepen-test-") as made:
        root = Path(made) / "ws"
        (root / "projects").mkdir(parents=True)
        (root / ".onepen" / "redo").mkdir(parents=True)
        (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
        (root / "projects" / "kiln.md").write_text("# Kiln\n\n## Firing\n\n- fire at 1200\n")
        (root / ".onepen" / "ballast").touch()
        named(root)
        with open_pen(root, Durability.FULL) as pen:
            pen.reconcile(open_workspace(root).house)
        yield root


def named(root: Path) -> None:
    (root / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    (root / ACCEPTED).write_text(folder_name(root))


def open_pen(root: Path, durability: Durability = Durability.LAZY, disk: BreakingDisk | None = None) -> Pen:
    return Pen.open(open_workspace(root), CLOCK, wait=0, disk=disk or BreakingDisk(), durability=durability)


def line(k: int) -> Change:
    edit = CardEdit(CardTarget("projects", CardId("kiln")), "append", text=f"- line {k}\n")
    return Change(None, f"line {k}", "user:ana", edit=edit, log=(("note", f"line {k}"),), key=f"t{k} projects/kiln.md")


def state(root: Path) -> dict[str, bytes]:
    found = [p for p in root.rglob("*") if p.is_file() and ".onepen" not in p.parts]
    return {str(p.relative_to(root)): p.read_bytes() for p in found}


def ids(root: Path) -> list[str]:
    workspace = open_workspace(root)
    return [commit.id for commit in read_commits(View(workspace), workspace.house)]


def twin(root: Path) -> Path:
    other = root.with_name("twin")
    shutil.rmtree(other, ignore_errors=True)
    shutil.copytree(root, other)
    named(other)
    return other


def test_files_follow_at_the_flush_and_readers_see_them_at_once(root: Path) -> None:
    before = state(root)
    disk = BreakingDisk()
    with open_pen(root, disk=disk) as pen:
        syncs = disk.log.count("sync")
        made = [pen.commit(line(k)) for k in range(3)]
        assert disk.log.count("sync") == syncs
        assert [pen.waits] == [True]
        assert state(root) == before
        assert [record.synced for record in scan((root / REDO).read_bytes()).records] == [0, 0, 0]
        text = View(open_workspace(root)).text("projects/kiln.md") or ""
        assert text.endswith("- line 0\n- line 1\n- line 2\n")
        assert ids(root)[1:] == [commit.id for commit in made]
        log = len(disk.log)
        pen.flush()
        assert sum(what == "exchange kiln.md" for what in disk.log[log:]) == 1
        assert [pen.waits] == [False]
        assert (root / "projects/kiln.md").read_text() == text
        pen.flush()
    assert not (root / REDO).read_bytes()


def test_lazy_and_full_leave_the_same(root: Path) -> None:
    other = twin(root)
    for place, durability in ((root, Durability.LAZY), (other, Durability.FULL)):
        with open_pen(place, durability) as pen:
            for k in range(6):
                pen.commit_group([line(10 * k), line(10 * k + 1)])
                if k == 3:
                    pen.flush()
            pen.commit(Change(None, "put", "user:ana", puts=(Put("projects/kiln/a.txt", b"a"),)))
            pen.commit(Change(None, "more", "user:ana", puts=(Put("projects/kiln/b.txt", b"b"),)))
    assert state(root) == state(other)


def test_a_key_counts_before_its_line_is_in_the_log(root: Path) -> None:
    with open_pen(root) as pen:
        made = pen.commit(line(1))
        with pytest.raises(AlreadyCommitted) as caught:
            pen.commit(line(1))
        assert caught.value.commit == made.id == pen.commit_of(open_workspace(root).house, "t1 projects/kiln.md")
        assert pen.commit(line(2)).id == "c3-k3x9ab"


def test_a_hand_edit_of_another_card_is_seen_while_commits_wait(root: Path) -> None:
    with open_pen(root) as pen:
        pen.commit(line(1))
        (root / "projects" / "loom.md").write_text("# Loom\n\n## Weft\n\nWool.\n")
        assert pen.reconcile(open_workspace(root).house) is not None
        (root / "projects" / "loom.md").write_text("# Loom\n\n## Weft\n\nSilk.\n")
        edit = CardEdit(CardTarget("projects", CardId("loom")), "append", text="- more\n")
        pen.commit(Change(None, "loom", "user:ana", edit=edit))
    assert (root / "projects" / "loom.md").read_text() == "# Loom\n\n## Weft\n\nSilk.\n\n- more\n"


def test_a_process_that_is_killed_at_any_operation_loses_nothing_that_was_acknowledged(root: Path) -> None:
    def run(place: Path, disk: BreakingDisk, acknowledged: list[str]) -> None:
        pen = None
        try:
            pen = open_pen(place, disk=disk)
            for k in range(6):
                acknowledged.append(pen.commit(line(k)).id)
                if k == 3:
                    pen.flush()
        finally:
            if pen is not None:
                pen.close()

    whole = BreakingDisk()
    run(twin(root), whole, [])
    texts = {k: "".join(f"- line {j}\n" for j in range(k)) for k in range(7)}
    for at in range(1, whole.count + 1):
        other = twin(root)
        acknowledged: list[str] = []
        with suppress(Stopped):
            run(other, BreakingDisk(at), acknowledged)
        seen = View(open_workspace(other)).text("projects/kiln.md") or ""
        open_pen(other).close()
        found = ids(other)[1:]
        assert found[: len(acknowledged)] == acknowledged
        assert len(found) <= len(acknowledged) + 1
        assert (other / "projects/kiln.md").read_text() == seen
        assert seen.endswith("1200\n" + texts[len(found)])
        assert [p for p in other.rglob("*") if is_tmp(p.name)] == []


def test_a_power_cut_takes_what_was_not_flushed_and_mixes_nothing(root: Path) -> None:
    """What was not synced comes to the disk in any order: cut, zeroed, or with holes before whole records."""
    with open_pen(root) as pen:
        for k in range(2):
            pen.commit(line(k))
        pen.flush()
        flushed = state(root)
        safe = (root / REDO).stat().st_size
        for k in range(2, 5):
            pen.commit(line(k))
        log = (root / REDO).read_bytes()
        assert state(root) == flushed
    tail = log[safe:]
    first = tail.index(b"\n") + 1
    second = tail.index(b"\n", first) + 1
    cases: dict[bytes, int] = {
        tail: 3,
        b"": 0,
        tail[:-20]: 2,
        tail[: first + 30]: 1,
        b"\0" * len(tail): 0,
        b"\0" * first + tail[first:]: 0,
        tail[:first] + b"\0" * (second - first) + tail[second:]: 1,
        tail[: first - 1] + b"\0" + tail[first:]: 0,
        tail[:200] + b"\0" * 50 + tail[250:]: 0,
    }
    for left, kept in cases.items():
        shutil.rmtree(root)
        root.mkdir()
        for path, data in flushed.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(data)
        (root / ".onepen/redo").mkdir(parents=True)
        named(root)
        (root / REDO).write_bytes(log[:safe] + left)
        assert len(ids(root)) == 3 + kept
        with open_pen(root) as pen:
            told = [p.kind for p in pen.recovered]
            assert ("redo_torn" in told) == (left not in (tail, b""))
            pen.commit(line(7))
        text = (root / "projects/kiln.md").read_text()
        assert text.endswith("".join(f"- line {k}\n" for k in (*range(2 + kept), 7)))


def test_damage_of_what_was_synced_still_stops(root: Path) -> None:
    with open_pen(root) as pen:
        pen.commit(line(0))
        pen.flush()
        pen.commit(line(1))
        log = (root / REDO).read_bytes()
    (root / REDO).write_bytes(log[:60] + b"X" + log[61:])
    with pytest.raises(RedoDamaged):
        open_pen(root)


def test_a_flush_that_fails_leaves_the_pen_in_doubt_and_the_next_opening_finishes(root: Path) -> None:
    disk = BreakingDisk()
    with open_pen(twin(root), disk=disk) as pen:
        pen.commit(line(0))
        before = disk.count
        pen.flush()
        after = disk.count
    for at in range(before + 1, after + 1):
        other = twin(root)
        pen = open_pen(other, disk=BreakingDisk(at, error=5, for_good=True))
        pen.commit(line(0))
        with pytest.raises(RecoveryNeeded):
            pen.flush()
        with pytest.raises(RecoveryNeeded):
            pen.commit(line(1))
        pen.close()
        with open_pen(other):
            assert (other / "projects/kiln.md").read_text().endswith("- line 0\n")
        assert [p for p in other.rglob("*") if is_tmp(p.name)] == []


def test_a_lost_pen_is_noticed_at_the_flush_and_the_other_has_the_commits(root: Path) -> None:
    pen = open_pen(root)
    pen.commit(line(0))
    (root / ".onepen/pen.lock").unlink()
    with open_pen(root, Durability.FULL) as other:
        assert "redo_rolled_forward" in [p.kind for p in other.recovered]
    with pytest.raises(PenLost):
        pen.flush()
    pen.close()
    assert (root / "projects/kiln.md").read_text().endswith("- line 0\n")
