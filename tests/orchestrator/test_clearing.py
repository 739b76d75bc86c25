"""What of finished work is pruned, what never is, and that it can be broken off anywhere."""

import subprocess
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory import trash
from onepen.memory.commit.pen import Pen
from onepen.memory.commit.place import PlaceUnfit
from onepen.memory.history import read_commits
from onepen.memory.view import View
from onepen.memory.workspace import ClientRemoved, NoSuchClient, open_workspace
from onepen.orchestrator.errors import ClientAtWork, IdIsTaken
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.pruned import PruneWish
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import TaskView
from onepen.orchestrator.service import Service
from onepen.subagents.pool import Assignment, Ending, TimedOut
from onepen.testing.clock import FixedClock
from onepen.testing.disk import BreakingDisk, Stopped
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]
CONES = "# Cones\n\nCone 6 was reached at 1222 degrees.\n"
LATER = timedelta(days=40)


@pytest.fixture
def delegate(service: Service, tmp_path: Path) -> Callable[..., TaskView]:
    path = tmp_path / "cones.md"
    path.write_text(CONES)

    def made(client: str | None = None, text: str = "At how many degrees was cone 6 reached?") -> TaskView:
        request = DelegateRequest((text,), client=client, inputs=(path,))
        [task] = anyio.run(partial(service.delegate, request)).tasks
        return task

    return made


def kinds(service: Service, **wish: object) -> dict[tuple[str | None, str], int]:
    found = service.prunable(PruneWish(every=True, **wish))  # type: ignore[arg-type]
    return {(kind.client, kind.kind): kind.count for kind in found.kinds}


def test_finished_tasks_go_and_those_that_wait_for_somebody_stay(
    service: Service, delegate: Callable[..., TaskView], clock: FixedClock, root: Path
) -> None:
    service.add_client("Acme", id="acme")
    done, waits, refused = delegate(), delegate("acme"), delegate("acme")
    service.approve([done.drafts[0].id])
    service.reject([refused.drafts[0].id], "no")
    assert kinds(service, staging="2026-11-29") == {}  # not one of them is from before today
    clock.move(LATER)
    assert kinds(service, staging="2026-12-01") == {(None, "staging"): 1, ("acme", "staging"): 1}
    before = (root / "research").stat(), (root / "logs/commits-2026-11.jsonl").read_bytes()
    result = service.prune(PruneWish(every=True, staging="2026-12-01"))
    assert not result.dry_run and result.bytes > 0
    assert not (root / "staging" / done.task).exists()
    assert [path.name for path in (root / "clients/acme/staging").iterdir()] == [waits.task]
    assert ((root / "research").stat(), (root / "logs/commits-2026-11.jsonl").read_bytes()) == before
    assert service.approve([waits.drafts[0].id]).decisions[0].outcome == "committed"
    assert [problem for problem in service.doctor().problems if problem.level == "error"] == []
    assert kinds(service, staging="2026-12-01") == {}


def test_only_the_space_that_is_named_is_pruned(
    service: Service, delegate: Callable[..., TaskView], clock: FixedClock, root: Path
) -> None:
    service.add_client("Acme", id="acme")
    for task in (delegate(), delegate("acme")):
        service.reject([task.drafts[0].id], "no")
    clock.move(LATER)
    service.prune(PruneWish("acme", staging="2026-12-01"))
    assert list((root / "clients/acme/staging").iterdir()) == []
    assert len(list((root / "staging").iterdir())) == 1
    with pytest.raises(NoSuchClient):
        service.prune(PruneWish("beta", staging="2026-12-01"))


def test_what_was_said_goes_and_the_task_can_still_be_read(
    service: Service, delegate: Callable[..., TaskView], clock: FixedClock, root: Path
) -> None:
    done, waits = delegate(), delegate()
    service.approve([done.drafts[0].id])
    clock.move(LATER)
    assert kinds(service, transcripts="2026-12-01") == {(None, "transcripts"): 1}
    service.prune(PruneWish(transcripts="2026-12-01"))
    left = {str(path.relative_to(root / "staging")) for path in (root / "staging").rglob("transcript.jsonl")}
    assert left == {f"{waits.task}/1/transcript.jsonl"}
    assert service.show(done.drafts[0].id).drafts[0].status == "committed"
    assert [problem for problem in service.doctor().problems if problem.level == "error"] == []
    assert kinds(service, transcripts="2026-12-01") == {}


def test_what_commands_made_goes_with_what_was_said(
    service: Service, delegate: Callable[..., TaskView], clock: FixedClock, root: Path, tmp_path: Path
) -> None:
    done, waits = delegate(), delegate()
    for task in (done, waits):
        work = root / f"staging/{task.task}/1/work"
        (work / ".tmp").mkdir(parents=True)
        (work / "a.csv").write_text("1\n")
        (work / "link").symlink_to(tmp_path)
    (tmp_path / "mine").write_text("stays\n")
    service.approve([done.drafts[0].id])
    clock.move(LATER)
    told = service.prunable(PruneWish(transcripts="2026-12-01"))
    [gone] = service.prune(PruneWish(transcripts="2026-12-01")).kinds
    assert [gone] == list(told.kinds) and gone.files >= 2
    left = [path.parent.parent.name for path in (root / "staging").glob("*/1/work")]
    assert left == [waits.task] and (tmp_path / "mine").exists()


def test_a_draft_that_waits_keeps_its_task_also_when_that_timed_out(
    make_service: MakeService, clock: FixedClock, root: Path
) -> None:
    def late(assignment: Assignment) -> Ending | None:
        text = "---\ntarget: research/cones.md\nedit: create\nprovenance: external\n---\n## Cones\n\nhalf a result\n"
        (assignment.drafts_folder / "cones.md").write_text(text)
        return TimedOut("time", 600.0)

    service = make_service(pool=InProcessPool(instead=late))
    [task] = anyio.run(partial(service.delegate, DelegateRequest(("cones?",)))).tasks
    assert task.status == "timed_out"
    clock.move(LATER)
    assert kinds(service, staging="2026-12-01", transcripts="2026-12-01") == {}
    service.reject([task.drafts[0].id], "no")
    clock.move(LATER)
    assert kinds(service, staging="2027-01-15") == {(None, "staging"): 1}


def test_a_task_whose_journal_can_not_be_read_is_never_pruned(
    service: Service, delegate: Callable[..., TaskView], clock: FixedClock, root: Path
) -> None:
    done = delegate()
    service.reject([done.drafts[0].id], "no")
    clock.move(LATER)
    journal = root / "staging" / done.task / "run.jsonl"
    journal.write_text(journal.read_text() + '{"v": 9, "event": "of a later version"}\n')
    assert kinds(service, staging="2026-12-01", transcripts="2026-12-01") == {}


def test_old_commits_lose_their_text_and_keep_their_keys(
    service: Service, delegate: Callable[..., TaskView], clock: FixedClock, root: Path
) -> None:
    task = delegate()
    service.approve([task.drafts[0].id])
    service.log("the safe opens with 4711", request="abc")
    clock.move(LATER)
    service.log("young")
    wish = PruneWish(history="2026-12-01")
    assert [kind.count for kind in service.prunable(wish).kinds] == [2]
    service.prune(wish)
    assert "4711" not in (root / "logs/commits-2026-11.jsonl").read_text()
    commits = read_commits(View(open_workspace(root)), service.workspace.house)
    assert [(commit.pruned, bool(commit.changes)) for commit in commits[:2]] == [(True, False)] * 2
    assert not commits[2].pruned
    assert service.log("the safe opens with 4711", request="abc").again  # its key is still known
    assert service.show(task.drafts[0].id).drafts[0].status == "committed"
    assert [problem for problem in service.doctor().problems if problem.level == "error"] == []
    assert service.prunable(wish).kinds == ()


def test_a_merge_that_brings_the_text_back_is_no_problem_and_pruned_again(
    service: Service, clock: FixedClock, root: Path
) -> None:
    """Two clones: one prunes, the other goes on; git merges the logs line by line."""
    service.log("the safe opens with 4711")
    log = root / "logs/commits-2026-11.jsonl"
    theirs = log.read_text()
    clock.move(LATER)
    wish = PruneWish(history="2026-12-01")
    service.prune(wish)
    log.write_text(theirs + log.read_text())
    assert [problem.kind for problem in service.doctor().problems if problem.level == "error"] == []
    assert [commit.what for commit in service.history().commits] == [""]
    assert [kind.count for kind in service.prunable(wish).kinds] == [1]
    service.prune(wish)
    assert "4711" not in log.read_text()


def test_pruning_history_can_be_broken_off_at_any_operation(service: Service, clock: FixedClock, root: Path) -> None:
    for _ in range(3):  # three months, three logs
        service.log("the safe opens with 4711")
        clock.move(timedelta(days=31))
    logs = {path: path.read_bytes() for path in (root / "logs").glob("commits-*.jsonl")}
    assert len(logs) == 3
    before = date(2027, 6, 1)

    def prune(disk: BreakingDisk) -> None:
        with Pen.open(open_workspace(root), clock, disk=disk) as pen:
            assert pen.prune_history(service.workspace.house, before) <= 3

    def put_back() -> None:
        for path, data in logs.items():
            path.write_bytes(data)

    counting = BreakingDisk()
    prune(counting)
    after = {path: path.read_bytes() for path in logs}
    halfway = 0
    for n in range(1, counting.count + 1):
        put_back()
        with pytest.raises(Stopped):
            prune(BreakingDisk(n))
        now = {path: path.read_bytes() for path in logs}
        assert all(data in (logs[path], after[path]) for path, data in now.items())
        halfway += 0 < sum(now[path] == after[path] for path in logs) < 3
        prune(BreakingDisk())
        assert {path: path.read_bytes() for path in logs} == after
    assert halfway > 2


def test_removing_a_folder_can_be_broken_off_at_any_operation(tmp_path: Path) -> None:
    """The folder is there whole, or it is gone; what is left in the trash goes with the next write."""

    def made(n: int) -> Path:
        (tmp_path / f"{n}/staging/t1/1/drafts").mkdir(parents=True)
        (tmp_path / f"{n}/staging/t1/task.md").touch()
        (tmp_path / f"{n}/staging/t1/1/drafts/a.md").touch()
        return tmp_path / str(n)

    counting = BreakingDisk()
    trash.discard(made(0), tmp_path / "0/staging/t1", disk=counting)
    for n in range(1, counting.count + 1):
        root = made(n)
        with pytest.raises(Stopped):
            trash.discard(root, root / "staging/t1", disk=BreakingDisk(n))
        left = {str(path.relative_to(root)) for path in (root / "staging").rglob("*")}
        assert left in (set(), {"staging/t1", "staging/t1/task.md", "staging/t1/1", "staging/t1/1/drafts",
                                "staging/t1/1/drafts/a.md"})  # fmt: skip
        trash.empty(root)
        assert not (root / trash.TRASH).exists()


def test_a_folder_closed_by_its_maker_is_removed_as_well(nobodys: Path) -> None:
    work = nobodys / "staging/t1/1/work"
    (work / "a/b").mkdir(parents=True)
    (work / "a/b/c").touch()
    for folder, mode in ((work / "a/b", 0o300), (work / "a", 0o500), (work, 0)):
        folder.chmod(mode)
    trash.discard(nobodys, nobodys / "staging/t1")
    assert [path.name for path in nobodys.rglob("*")] == [".onepen", "staging"]


# -- a whole client ----------------------------------------------------------------------------------------------------


def test_a_client_is_counted_and_then_removed_for_good(
    service: Service, delegate: Callable[..., TaskView], root: Path
) -> None:
    service.add_client("Acme Ltd", id="acme")
    service.add_project("Kiln", client="acme")
    delegate("acme")
    counted = service.removable("acme")
    assert (counted.title, counted.cards, counted.tasks, counted.waiting, counted.days) == ("Acme Ltd", 1, 1, 1, 1)
    assert counted.files == sum(path.is_file() for path in (root / "clients/acme").rglob("*"))
    result = service.remove_client("acme")
    assert (result.commit, result.files) == (service.history().commits[0].id, counted.files)
    assert result.notices == (), "what was asked for is the answer and no note beside it"
    assert list((root / "clients").iterdir()) == []
    assert "[removed] client acme" in (root / "memory/2026-11-29.md").read_text()
    assert service.status().clients == ()
    with pytest.raises(ClientRemoved):
        service.removable("acme")
    with pytest.raises(IdIsTaken, match="was removed on 2026-11-29"):
        service.add_client("Acme", id="acme")
    assert service.remove_client("acme").files == 0  # asked again, as after a lost answer
    assert service.doctor().problems == ()


def test_a_client_whose_tombstone_can_not_be_written_stays_whole(service: Service, root: Path) -> None:
    service.add_client("Acme", id="acme")
    before = {path: path.read_bytes() for path in (root / "clients").rglob("*") if path.is_file()}
    (root / "logs/tombstones.jsonl").mkdir(parents=True)
    with pytest.raises(PlaceUnfit):
        service.remove_client("acme")
    assert {path: path.read_bytes() for path in (root / "clients").rglob("*") if path.is_file()} == before


def test_a_process_that_holds_the_pen_removes_what_a_merge_brought_back(make_service: MakeService, root: Path) -> None:
    make_service().add_client("Acme", id="acme")
    subprocess.run(["cp", "-r", root / "clients", root / "kept"], check=True)
    view = View(open_workspace(root))
    with HeldPen.open(view, FixedClock("2026-11-29T09:30:00+01:00")) as pen:
        held = make_service(pens=pen)
        held.remove_client("acme")
        subprocess.run(["cp", "-r", root / "kept/acme", root / "clients"], check=True)
        assert held.status().clients == ()
        noted = held.log("goes on")
        assert noted.commit is not None and "clients/acme: the client was removed" in noted.notices[0]
        assert not (root / "clients/acme").exists()


def test_a_client_for_whom_a_sub_agent_works_is_not_removed(
    make_service: MakeService, delegate: Callable[..., TaskView], service: Service, clock: FixedClock, root: Path
) -> None:
    service.add_client("Acme", id="acme")
    task = delegate("acme")
    view = View(open_workspace(root))
    with HeldPen.open(view, clock) as pen:
        held = make_service(pens=pen)
        journal = root / f"clients/acme/staging/{task.task}/run.jsonl"
        lines = journal.read_text().splitlines(keepends=True)
        journal.write_text("".join(lines[:2]))  # as it was while its first attempt ran
        assert '"event": "attempt_started"' in lines[1]
        with pytest.raises(ClientAtWork, match=f"client acme: {task.task} still runs; nothing was removed"):
            held.remove_client("acme")
        assert held.status("acme").client == "acme"
