"""Links that came with a clone: nothing of onepen's own is written where they lead."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.links import LinkLeadsOut
from onepen.memory.workspace import Space
from onepen.orchestrator.premises import append_line, own, write
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import TaskView
from onepen.orchestrator.service import Service
from onepen.subagents.pool import Assignment, Ending, Reported
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text("mine\n")
    return path


def delegated(service: Service, **options: object) -> TaskView:
    request = DelegateRequest(("cone 6",), **options)  # type: ignore[arg-type]
    return anyio.run(partial(service.delegate, request)).tasks[0]


def test_usage_is_not_added_to_what_a_link_names(service: Service, root: Path, victim: Path) -> None:
    (root / "logs").mkdir(exist_ok=True)
    (root / "logs/usage-2026-11.jsonl").symlink_to(victim)
    with pytest.raises(LinkLeadsOut, match=r"^logs/usage-2026-11\.jsonl: a link leads to .*/victim"):
        delegated(service)
    assert victim.read_text() == "mine\n"
    assert not list((root / "staging").glob("*")), "it is found before anything is made"
    assert service.status().tasks == ()


@pytest.mark.parametrize("name", ["run.jsonl", "review.md", "report.md"])
def test_a_tasks_own_files_are_no_links(service: Service, root: Path, victim: Path, name: str) -> None:
    task = delegated(service)
    path = root / "staging" / task.task / name
    if path.exists():
        victim.write_bytes(path.read_bytes())
        path.unlink()
    before = victim.read_bytes()
    path.symlink_to(victim)
    with pytest.raises(LinkLeadsOut, match=rf"^staging/{task.task}/{name}: a link leads to"):
        service.approve([task.drafts[0].id])
    assert victim.read_bytes() == before
    assert [p.kind for p in service.doctor().problems if name in p.path] == ["link_leads_out"]
    assert service.drafts().drafts == ()


@pytest.mark.parametrize("inside", [True, False])
def test_a_journal_is_not_written_by_a_link_that_stays_inside_either(
    service: Service, root: Path, victim: Path, inside: bool
) -> None:
    task = delegated(service)
    path = root / "staging" / task.task / "run.jsonl"
    target = root / "MEMORY.md" if inside else victim
    text = target.read_text()
    path.unlink()
    path.symlink_to(target)
    with pytest.raises(LinkLeadsOut):
        service.show(task.drafts[0].id)
    assert target.read_text() == text


def test_no_task_is_made_where_staging_leads_out(service: Service, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if (root / "staging").exists():
        (root / "staging").rename(tmp_path / "kept")
    (root / "staging").symlink_to(outside)
    with pytest.raises(LinkLeadsOut, match=r"^staging: a link leads to .*/outside, outside the workspace"):
        delegated(service)
    assert list(outside.iterdir()) == []
    assert any(p.kind == "link_leads_out" and p.path == "staging" for p in service.doctor().problems)


@pytest.mark.parametrize("place", ["2", "2/drafts", "2/transcript.jsonl", "2/worker.log"])
def test_the_next_attempts_place_is_no_link(service: Service, root: Path, tmp_path: Path, place: str) -> None:
    task = delegated(service)
    outside = tmp_path / "outside"
    outside.mkdir()
    path = root / "staging" / task.task / place
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside)
    with pytest.raises(LinkLeadsOut, match=rf"^staging/{task.task}/{place}: "):
        anyio.run(partial(service.send_back, [task.drafts[0].id], "again"))
    assert list(outside.iterdir()) == []


def test_the_snapshot_is_not_stored_where_a_link_leads(service: Service, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    service.log("makes .onepen")
    (root / ".onepen/cache").mkdir(exist_ok=True)
    (root / ".onepen/cache/context").symlink_to(outside)
    task = delegated(service)
    assert "link leads to" in task.reason
    assert list(outside.iterdir()) == []


def test_a_worker_that_puts_a_link_in_the_journals_place_ends_its_own_task_only(
    make_service: MakeService, root: Path, victim: Path
) -> None:
    def hostile(assignment: Assignment) -> Ending | None:
        if assignment.text != "bad":
            return None
        journal = assignment.folder / "run.jsonl"
        journal.unlink()
        journal.symlink_to(victim)
        return Reported("done", "words", True, 0.1)

    service = make_service(pool=InProcessPool(instead=hostile))
    result = anyio.run(partial(service.delegate, DelegateRequest(("bad", "good"))))
    assert [t.status for t in result.tasks] == ["interrupted", "in_review"]
    assert any("run.jsonl: a link leads to" in notice for notice in result.notices)
    assert result.exit_code == 1
    assert victim.read_text() == "mine\n"


def test_what_is_written_follows_no_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "link").symlink_to(victim)
    (tmp_path / "folder").symlink_to(tmp_path)
    for path in (tmp_path / "link", tmp_path / "folder" / "new"):
        with pytest.raises(LinkLeadsOut):
            append_line(path, "ours")
        with pytest.raises(LinkLeadsOut):
            write(path, b"ours")
    assert victim.read_text() == "mine\n"
    assert not (tmp_path / "new").exists()


def test_staging_may_be_a_link_that_stays_in_the_workspace(service: Service, root: Path) -> None:
    (root / "elsewhere").mkdir()
    if (root / "staging").exists():
        (root / "staging").rename(root / "elsewhere/staging")
    (root / "elsewhere/staging").mkdir(exist_ok=True)
    (root / "staging").symlink_to(root / "elsewhere/staging")
    assert own(Space(root, None), "staging/t1") == root / "elsewhere/staging/t1"
    assert service.approve([delegated(service).drafts[0].id]).exit_code == 0


def test_a_tasks_folder_that_is_a_link_stops_no_other_task_and_is_told(
    service: Service, root: Path, tmp_path: Path
) -> None:
    first = delegated(service)
    assert service.approve([first.drafts[0].id]).exit_code == 0
    folder = root / "staging" / first.task
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere/run.jsonl").read_bytes()
    assert delegated(service).status == "in_review"
    service.log("called Ana")
    assert (tmp_path / "elsewhere/run.jsonl").read_bytes() == before
    told = [(p.path, p.level) for p in service.doctor().problems if p.kind == "link_leads_out"]
    assert told == [(f"staging/{first.task}", "error")]
    with pytest.raises(LinkLeadsOut):
        service.show(first.task)
