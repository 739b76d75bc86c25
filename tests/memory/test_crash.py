"""Crashes are staged: the disk stops, or fails, at its n-th operation, for every n.

After each of them a new pen is opened. Then memory is as before the commit or as after it, never a mixture; what was
acknowledged is there; nothing is left over; and the same commit can't be made twice.
"""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from onepen.memory.change import Change, Put, Remove
from onepen.memory.commit import machine
from onepen.memory.commit.identity import ACCEPTED, folder_name, machine_mark
from onepen.memory.commit.pen import AlreadyCommitted, Durability, Pen, RecoveryNeeded, Unfinished
from onepen.memory.files import is_tmp, sha256
from onepen.memory.history import read_commits
from onepen.memory.ids import CardId
from onepen.memory.index.index import IndexEntry
from onepen.memory.index.reconcile import drift
from onepen.memory.target import CardTarget
from onepen.memory.text.card import CardEdit
from onepen.memory.text.document import Document
from onepen.memory.view import View
from onepen.memory.workspace import SHELVES, Workspace, open_workspace
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped

CLOCK = FixedClock("2026-11-30T14:05:00+01:00")
CLAY = b"# Clay\n\n## Where\n\nFrom the river.\n"
CHANGE = Change(
    client=None,
    what="projects/kiln.md: replaced in firing",
    who="user:ana",
    edit=CardEdit(
        CardTarget("projects", CardId("kiln")),
        "replace",
        section="firing",
        old_text="- fire at 1200\n",
        text="- fire at 1220\n",
    ),
    puts=(Put("projects/kiln/sales/launch.md", b"Launch.\n"),),
    removes=(Remove("research/clay.md", sha256(CLAY)), Remove("projects/kiln/old/plan.txt", sha256(b"Old.\n"))),
    index=(IndexEntry("firing", "Fire at 1220."),),
    log=(("commit", "kiln: fire at 1220"),),
    key="t1 projects/kiln.md",
)
State = dict[str, bytes]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: no test here depends on a real sync."""
    fast = Path("/dev/shm")
    if not os.access(fast, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=fast, prefix="onepen-test-") as made:
        yield Path(made)


@pytest.fixture
def start(folder: Path) -> Path:
    """A workspace in which a day is still to be sealed and a pen has written before."""
    root = folder / "start"
    (root / "projects").mkdir(parents=True)
    (root / "memory").mkdir()
    (root / ".onepen").mkdir()
    (root / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    (root / ".onepen" / "ballast").touch()
    (root / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    (root / "projects" / "kiln.md").write_text("# Kiln\n\n## Firing\n\n- fire at 1200\n\n## Hosting\n\nGandi.\n")
    (root / "research").mkdir()
    (root / "research" / "clay.md").write_bytes(CLAY)
    (root / "projects" / "kiln" / "old").mkdir(parents=True)
    (root / "projects" / "kiln" / "old" / "plan.txt").write_text("Old.\n")
    (root / "memory" / "2026-11-29.md").write_text("- 09:00+01:00 [note] old\n")
    with Pen.open(open_workspace(root), CLOCK, disk=BreakingDisk()) as pen:
        pen.reconcile(open_workspace(root).house)
    return root


def again(start: Path) -> Workspace:
    """The workspace as it was at the start, in its place."""
    root = start.parent / "ws"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(start, root, symlinks=True)
    (root / ".onepen" / "machine").write_text(f"k3x9ab {machine_mark(root)}\n")
    (root / ACCEPTED).write_text(folder_name(root))
    return open_workspace(root)


def state(root: Path) -> State:
    files = [p for p in root.rglob("*") if p.is_file() and ".onepen" not in p.parts]
    return {str(p.relative_to(root)): p.read_bytes() for p in files}


def seen(workspace: Workspace, like: State) -> State:
    """What a reader sees of the paths in `like`, and of those that the commit removes."""
    view = View(workspace)
    found = {path: view.bytes(path) for path in {*like, *(remove.path for remove in CHANGE.removes)}}
    return {path: data for path, data in found.items() if data is not None}


def old_and_new(start: Path) -> tuple[State, State]:
    workspace = again(start)
    old = state(workspace.root)
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        pen.commit(CHANGE)
    return old, state(workspace.root)


def check_after(workspace: Workspace, old: State, new: State, acknowledged: bool) -> State:
    """Reopen, and hold every promise against what is there."""
    overlaid = seen(workspace, new)
    assert overlaid in (old, new)
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        found = state(workspace.root)
        assert found in (old, new)
        assert found == overlaid
        assert found == new or not acknowledged
        if found == new:
            with pytest.raises(AlreadyCommitted):
                pen.commit(CHANGE)
        else:
            pen.commit(CHANGE)
    assert state(workspace.root) == new
    assert [p for p in workspace.root.rglob("*") if is_tmp(p.name)] == []
    view = View(workspace)
    cards: dict[str, Document] = {}
    for shelf in SHELVES:
        for card in view.cards(workspace.house, shelf):
            document = view.document(workspace.house, CardTarget(shelf, card))
            assert document is not None
            cards[card] = document
    shelves = [view.index(workspace.house, shelf) for shelf in SHELVES]
    assert [card.id for index in shelves for card in index.cards] == list(cards) == ["kiln"]
    assert drift(shelves[0], cards) == ()
    assert not list((workspace.root / "projects" / "kiln").glob("old/*"))
    keys = [commit.key for commit in read_commits(view, workspace.house) if commit.key]
    assert keys == [CHANGE.key]
    return found


def write(workspace: Workspace, disk: BreakingDisk) -> None:
    """Take the pen, commit, put it down; whatever happens, the lock is free afterwards, as when a process ends."""
    pen = Pen.open(workspace, CLOCK, disk=disk)
    try:
        pen.commit(CHANGE)
    except BaseException:
        with suppress(Stopped):
            pen.close()
        raise
    workspace.root.with_name("acknowledged").touch()
    pen.close()


def operations(start: Path) -> int:
    disk = BreakingDisk()
    write(again(start), disk)
    return disk.count


def test_a_stop_at_any_operation_gives_old_or_new(start: Path) -> None:
    old, new = old_and_new(start)
    outcomes: list[bool] = []
    for at in range(1, operations(start) + 1):
        workspace = again(start)
        acknowledged = workspace.root.with_name("acknowledged")
        acknowledged.unlink(missing_ok=True)
        with pytest.raises(Stopped):
            write(workspace, BreakingDisk(at))
        outcomes.append(check_after(workspace, old, new, acknowledged.exists()) == new)
    assert outcomes == sorted(outcomes)  # one commit point: old before it, new behind it
    assert len(outcomes) > 30
    assert 10 < outcomes.index(True) < len(outcomes) - 10


def crashed_after_the_commit_point(start: Path) -> Iterator[Workspace]:
    """Workspaces in which a commit is durable and its files are written in part."""
    old, _ = old_and_new(start)
    for at in range(1, operations(start) + 1):
        workspace = again(start)
        with suppress(Stopped):
            write(workspace, BreakingDisk(at))
        if (workspace.machine_room / "redo" / "log").stat().st_size and seen(workspace, old) != old:
            yield workspace


def test_a_stop_at_any_operation_of_recovery_gives_new_the_second_time(start: Path, folder: Path) -> None:
    old, new = old_and_new(start)
    stops = 0
    for k, crashed in enumerate(crashed_after_the_commit_point(start)):
        if k % 12:
            continue
        kept = folder / "crashed"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(crashed.root, kept)
        for at in range(1, 200):
            workspace = again(kept)
            disk = BreakingDisk(at)
            try:
                Pen.open(workspace, CLOCK, disk=disk).close()
            except Stopped:
                stops += 1
            finally:
                assert seen(workspace, new) == new
            if not disk.broke:
                break
            check_after(workspace, old, new, acknowledged=True)
    assert stops > 40


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("for_good", [False, True], ids=["once", "for good"])
def test_an_error_at_any_operation_is_a_clean_abort_or_in_doubt(start: Path, error: int, for_good: bool) -> None:
    old, new = old_and_new(start)
    aborted = doubted = 0
    for at in range(1, operations(start) + 1):
        workspace = again(start)
        acknowledged = workspace.root.with_name("acknowledged")
        acknowledged.unlink(missing_ok=True)
        disk = BreakingDisk(at, error=error, for_good=for_good)
        try:
            write(workspace, disk)
        except RecoveryNeeded as e:
            doubted += 1
            assert "recovery is needed" in e.message
        except OSError as e:
            aborted += 1
            assert e.errno == error
            assert str(e.filename).startswith(str(workspace.root))
            assert seen(workspace, new) == old
        else:
            assert acknowledged.exists()
        check_after(workspace, old, new, acknowledged.exists())
    assert aborted > 5
    assert doubted > 5


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_recovery_that_fails_succeeds_the_next_time(start: Path, error: int, folder: Path) -> None:
    old, new = old_and_new(start)
    failed = 0
    for k, crashed in enumerate(crashed_after_the_commit_point(start)):
        if k % 20 != 1:
            continue
        kept = folder / "crashed"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(crashed.root, kept)
        for at in range(1, 200):
            workspace = again(kept)
            disk = BreakingDisk(at, error=error, for_good=True)
            try:
                Pen.open(workspace, CLOCK, disk=disk).close()
            except OSError as e:
                failed += 1
                assert e.errno == error
            except Unfinished as e:
                failed += 1
                assert os.strerror(error) in e.message
                assert "what you asked for was not done" in e.message
            if not disk.broke:
                break
            check_after(workspace, old, new, acknowledged=True)
    assert failed > 10


def test_a_pen_in_doubt_takes_no_more(start: Path) -> None:
    disk = BreakingDisk()
    pen = Pen.open(again(start), CLOCK, disk=disk)
    first = disk.count
    pen.close()
    for at in range(first + 1, first + 40):
        workspace = again(start)
        disk = BreakingDisk(at, error=errno.EIO)
        with Pen.open(workspace, CLOCK, disk=disk) as pen:
            try:
                pen.commit(CHANGE)
            except RecoveryNeeded:
                with pytest.raises(RecoveryNeeded):
                    pen.commit(Change(None, "x", "user:ana", log=(("note", "x"),)))
                return
            except OSError:
                continue
    raise AssertionError("no operation put the commit in doubt")


class Editing(BreakingDisk):
    """An editor that saves a card right before the pen swaps it."""

    def exchange(self, one: Path, other: Path) -> bool:
        if other.name == "kiln.md" and self._at is None:
            self._at = self.count + 1000
            other.write_text("# Kiln\n\nmy own words\n")
        return super().exchange(one, other)


def test_a_save_between_reading_and_writing_is_kept(start: Path) -> None:
    """F11: a person's save right before the swap stays, and what was due lies beside it."""
    workspace = again(start)
    with Pen.open(workspace, CLOCK, disk=Editing()) as pen:
        pen.commit(CHANGE)
        assert [(p.path, p.kind) for p in pen.recovered] == [("projects/kiln.md", "kept_beside")]
    assert (workspace.root / "projects/kiln.md").read_text() == "# Kiln\n\nmy own words\n"
    assert (workspace.root / "projects/kiln.md.due-c2-k3x9ab").read_text() == "- fire at 1220\n"
    assert [p for p in workspace.root.rglob("*") if is_tmp(p.name)] == []


class EditingClay(BreakingDisk):
    """An editor that saves the card right before, or right after, the pen takes it away."""

    def __init__(self, *, after: bool) -> None:
        super().__init__()
        self._after = after

    def rename(self, source: Path, target: Path) -> None:
        clay = source.name == "clay.md"
        if clay:
            source.write_text("my own clay\n")
        super().rename(source, target)
        if clay and self._after:
            source.write_text("and once more\n")


@pytest.mark.parametrize("after", [False, True])
def test_a_save_of_what_is_being_removed_is_kept(start: Path, after: bool) -> None:
    workspace = again(start)
    with Pen.open(workspace, CLOCK, disk=EditingClay(after=after)) as pen:
        pen.commit(CHANGE)
        told = {p.kind: p.message for p in pen.recovered}
        assert "your version stays" in told["kept_instead"]
        assert pen.reconcile(workspace.house) is not None
    research = workspace.root / "research"
    assert (research / "clay.md").read_text() == ("and once more\n" if after else "my own clay\n")
    assert "## [clay](clay.md)" in (research / "_index.md").read_text()
    kept = {"clay.md.kept-c2-k3x9ab"} if after else set()
    assert {p.name for p in research.iterdir()} == {"clay.md", "_index.md"} | kept
    assert all((research / name).read_text() == "my own clay\n" for name in kept)


@pytest.mark.parametrize("by_hand", ["my own clay\n", None])
def test_a_save_that_was_taken_out_when_the_pen_died_comes_back(start: Path, by_hand: str | None) -> None:
    disk = BreakingDisk()
    write(again(start), disk)
    taken = disk.log.index("rename .clay.md.c2-k3x9ab.tmp") + 1
    workspace = again(start)
    with pytest.raises(Stopped):
        write(workspace, BreakingDisk(taken + 1))
    card, beside = workspace.root / "research" / "clay.md", workspace.root / "research" / ".clay.md.c2-k3x9ab.tmp"
    assert beside.read_bytes() == CLAY
    assert not card.exists()
    if by_hand is not None:
        beside.write_text(by_hand)
    assert View(workspace).bytes("research/clay.md") is None
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        assert ("kept_instead" in [p.kind for p in pen.recovered]) == (by_hand is not None)
    assert (card.read_text() if card.exists() else None) == by_hand
    assert not beside.exists()


def test_a_link_put_in_the_place_of_what_is_to_be_removed_stays(start: Path) -> None:
    disk = BreakingDisk()
    write(again(start), disk)
    workspace = again(start)
    with pytest.raises(Stopped):
        write(workspace, BreakingDisk(disk.log.index("rename .clay.md.c2-k3x9ab.tmp") + 1))
    card, other = workspace.root / "research" / "clay.md", workspace.root / "shared.md"
    card.rename(other)
    card.symlink_to("../shared.md")
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        assert "kept_instead" in [p.kind for p in pen.recovered]
    assert card.is_symlink()
    assert other.read_bytes() == CLAY


def test_a_save_that_was_swapped_out_when_the_pen_died_comes_back(start: Path) -> None:
    """The swap had put a person's save beside the card, and nothing more happened."""
    workspace = again(start)
    disk = BreakingDisk()
    write(workspace, disk)
    swap = disk.log.index("exchange kiln.md") + 1
    workspace = again(start)
    with pytest.raises(Stopped):
        write(workspace, BreakingDisk(swap + 1))
    swapped_out = workspace.root / "projects" / ".kiln.md.c2-k3x9ab.tmp"
    assert "1200" in swapped_out.read_text()
    swapped_out.write_text("# Kiln\n\nmy own words\n")
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        assert "kept_beside" in [p.kind for p in pen.recovered]
    assert (workspace.root / "projects" / "kiln.md").read_text() == "# Kiln\n\nmy own words\n"
    assert "- fire at 1220\n" in (workspace.root / "projects" / "kiln.md.due-c2-k3x9ab").read_text()
    assert not swapped_out.exists()


def test_a_log_replaced_by_a_merge_during_the_commit_gets_its_line(start: Path) -> None:
    class Merging(BreakingDisk):
        def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
            fd = super().open(path, flags, mode)
            if path.name == "2026-11-30.md" and not (path.parent / "merged").exists():
                (path.parent / "merged").write_text("")
                (path.parent / "other").write_text("- 08:00+01:00 [note] from the other machine\n")
                (path.parent / "other").replace(path)
            return fd

    workspace = again(start)
    with Pen.open(workspace, CLOCK, disk=Merging()) as pen:
        pen.commit(CHANGE)
    assert (workspace.root / "memory" / "2026-11-30.md").read_text() == (
        "- 08:00+01:00 [note] from the other machine\n- 14:05+01:00 [commit] kiln: fire at 1220\n"
    )


def test_recovery_runs_on_a_full_disk_with_the_held_space(start: Path) -> None:
    (start / ".onepen" / "ballast").unlink(missing_ok=True)
    disk = BreakingDisk()
    write(again(start), disk)
    workspace = again(start)
    with pytest.raises(Stopped):
        write(workspace, BreakingDisk(disk.log.index("exchange kiln.md") + 1))
    machine.keep_ballast(workspace.machine_room, BreakingDisk())

    class Full(BreakingDisk):
        """Full until the ballast is given back."""

        def write(self, fd: int, data: memoryview) -> int:
            if (workspace.machine_room / "ballast").exists() and b"fire at 1220" in bytes(data):
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(fd, data)

    assert (workspace.machine_room / "ballast").stat().st_size == 1 << 20
    with Pen.open(workspace, CLOCK, disk=Full()) as pen:
        assert "redo_rolled_forward" in [p.kind for p in pen.recovered]
    assert "1220" in (workspace.root / "projects" / "kiln.md").read_text()


def test_a_commit_needs_free_space_beforehand(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = again(start)
    old = state(workspace.root)
    usage = shutil.disk_usage(workspace.root)._replace(free=1000)
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
        with pytest.raises(OSError, match="No space left") as caught:
            pen.commit(CHANGE)
        assert caught.value.filename == str(workspace.root / "research/_index.md")  # the first that is written
        assert state(workspace.root) == old
        monkeypatch.undo()
        pen.commit(CHANGE)


def put_back(root: Path, old: State) -> None:
    """A person puts back what was there before, some time later."""
    time.sleep(0.03)  # the kernel stamps files by a clock that ticks
    for path in ("projects/kiln.md", "research/clay.md"):
        (root / path).write_bytes(old[path])


@pytest.mark.parametrize("durability", Durability)
def test_what_a_person_put_back_behind_a_crash_stays(start: Path, durability: Durability) -> None:
    """It is as it was before the commit, and yet it is theirs: a reader sees it, and recovery leaves it."""
    old = state(start)
    workspace, disk = again(start), BreakingDisk()
    pen = Pen.open(workspace, CLOCK, disk=disk, durability=durability)
    pen.commit(CHANGE)
    disk.arm(1)
    with suppress(Stopped):
        pen.close()
    put_back(workspace.root, old)
    view = View(workspace)
    assert view.cards(workspace.house, "research") == ("clay",)
    assert view.bytes("projects/kiln.md") == old["projects/kiln.md"]
    with Pen.open(workspace, CLOCK, disk=BreakingDisk()) as pen:
        told = {p.path: p.kind for p in pen.recovered if p.kind.startswith("kept")}
    assert told == {"projects/kiln.md": "kept_beside", "research/clay.md": "kept_instead"}
    now = state(workspace.root)
    assert [now[path] for path in ("projects/kiln.md", "research/clay.md")] == [
        old["projects/kiln.md"],
        old["research/clay.md"],
    ]
    assert now["projects/kiln.md.due-c2-k3x9ab"] == b"- fire at 1220\n"
    assert now["projects/kiln/sales/launch.md"] == b"Launch.\n"


def test_a_file_whose_time_is_in_the_future_is_brought_up_to_date_all_the_same(start: Path) -> None:
    """As after a clock that was wrong: the time at which it changed on the disk is an older one."""
    new = old_and_new(start)[1]
    workspace, disk = again(start), BreakingDisk()
    os.utime(workspace.root / "projects/kiln.md", (4_000_000_000, 4_000_000_000))
    pen = Pen.open(workspace, CLOCK, disk=disk, durability=Durability.LAZY)
    pen.commit(CHANGE)
    disk.arm(1)
    with suppress(Stopped):
        pen.close()
    Pen.open(workspace, CLOCK, disk=BreakingDisk()).close()
    assert state(workspace.root) == new
