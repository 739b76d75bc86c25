"""What hands, merges and crashes do to staging/: nothing is overwritten, nothing vanishes, every word is true."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.workspace import Space
from onepen.orchestrator.chat.store import damaged
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult, TaskView
from onepen.orchestrator.service import Service
from onepen.staging.inputs import NoSuchInput

MakeService = Callable[..., Service]
CARD = "# Cones\n\n## Result\n\nCone 6.\n"
SCRIPT: list[dict[str, object]] = [
    {
        "turn": 1,
        "times": 1,
        "usage": {"input": 100, "output": 10},
        "reply": [{"tool": "write_draft", "input": {"name": "x.md", "text": CARD, "title": "Cones"}}],
    },
    {
        "turn": 2,
        "times": 1,
        "usage": {"input": 120, "output": 5},
        "reply": [{"tool": "report", "input": {"summary": "s"}}],
    },
]


def delegate(service: Service, **options: object) -> TaskView:
    request = DelegateRequest(("What of cones?",), **options)  # type: ignore[arg-type]
    [task] = anyio.run(partial(service.delegate, request)).tasks
    return task


def resume(service: Service, task: str) -> DelegateResult:
    return anyio.run(partial(service.resume, task))


@pytest.fixture
def task(make_service: MakeService) -> TaskView:
    made = delegate(make_service(script=SCRIPT))
    assert made.status == "in_review"
    return made


def _emptied(text: str) -> str:
    return ""


def _first_gone(text: str) -> str:
    return text.partition("\n")[2]


def _merged(text: str) -> str:
    lines = text.splitlines(keepends=True)
    reported = next(n for n, line in enumerate(lines) if "attempt_reported" in line)
    return "".join((*lines[:reported], "<<<<<<< HEAD\n", *lines[reported + 1 :]))


def _report_gone(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if "attempt_reported" not in line)


@pytest.mark.parametrize("damage", [_emptied, _first_gone, _merged, _report_gone])
def test_a_damaged_journal_is_told_and_its_draft_comes_back(
    make_service: MakeService, root: Path, task: TaskView, damage: Callable[[str], str]
) -> None:
    journal = root / "staging" / task.task / "run.jsonl"
    draft = root / task.drafts[0].path
    draft.write_text(draft.read_text() + "MY EDIT\n")
    journal.write_text(damage(journal.read_text()))
    service = make_service(script=[])
    [problem] = [p for p in service.doctor().problems if p.level == "error"]
    assert problem.path == f"staging/{task.task}/run.jsonl" and f"onepen resume {task.task}" in problem.message
    assert any("run.jsonl" in notice for notice in service.drafts().notices)
    status = service.status()
    assert status.notices and status.suggestion == f"onepen resume {task.task}"
    result = resume(service, task.task)
    [again] = result.tasks
    assert any("rebuilt" in notice for notice in result.notices)
    assert (again.status, [d.id for d in again.drafts]) == ("in_review", [task.drafts[0].id])
    assert draft.read_text().endswith("MY EDIT\n"), "a hand edit is never written over"
    assert not (root / "staging" / task.task / "2").exists(), "no paid call runs again"
    assert make_service().doctor().ok and make_service().drafts().notices == ()
    shown = make_service().show(task.drafts[0].id).drafts[0]
    assert shown.diff is not None and "MY EDIT" in shown.diff
    assert make_service().approve([task.drafts[0].id]).decisions[0].outcome == "committed"


def test_a_committed_draft_of_a_lost_journal_is_committed_still(
    make_service: MakeService, root: Path, task: TaskView
) -> None:
    first = make_service().approve([task.drafts[0].id]).decisions[0]
    (root / "staging" / task.task / "run.jsonl").write_text("")
    [again] = resume(make_service(script=[]), task.task).tasks
    assert (again.status, again.drafts[0].commit) == ("committed", first.commit)
    assert len(make_service().history().commits) == 1


def test_a_line_that_a_crash_cut_short_is_no_damage(make_service: MakeService, root: Path, task: TaskView) -> None:
    with (root / "staging" / task.task / "run.jsonl").open("a") as f:
        f.write('{"v": 1, "at": "2026-11')
    service = make_service()
    service.show(task.drafts[0].id)
    service.reject([task.drafts[0].id], "no")
    assert service.doctor().ok and service.drafts().notices == ()


def test_a_new_attempt_never_writes_into_a_folder_that_is_there(make_service: MakeService, root: Path) -> None:
    task = delegate(make_service(script=SCRIPT[:1]))
    assert task.status == "failed"
    (root / "staging" / task.task / "2").mkdir()
    (root / "staging" / task.task / "2" / "mine.txt").write_text("mine")
    [again] = resume(make_service(script=SCRIPT[1:]), task.task).tasks
    assert (again.status, again.attempts) == ("in_review", 3)
    assert [p.name for p in (root / "staging" / task.task / "2").iterdir()] == ["mine.txt"]
    assert again.usage.input == 220, "the reply of attempt 1 was used again, not paid again"


def test_attempts_without_a_sheet_are_an_error_not_rubbish(service: Service, root: Path, task: TaskView) -> None:
    (root / "staging" / task.task / "task.md").unlink()
    [problem] = [p for p in service.doctor().problems if p.level == "error"]
    assert "1/drafts/" in problem.message and "deleted" not in problem.message
    assert service.drafts().notices


def test_an_undecided_draft_whose_file_is_gone_is_named(service: Service, root: Path, task: TaskView) -> None:
    path = root / task.drafts[0].path
    path.unlink()
    path.parent.rmdir()
    assert [p.kind for p in service.doctor().problems if p.level == "warning"] == ["draft_missing"]
    assert any("its file is gone" in notice for notice in service.drafts().notices)
    service.reject([task.drafts[0].id], "gone")
    assert [p for p in service.doctor().problems if p.kind == "draft_missing"] == []
    assert service.drafts().notices == ()


@pytest.mark.parametrize(("what", "said"), [("link", "1/drafts/ is a link now"), ("folder", "x.md is a folder now")])
def test_what_took_the_place_of_a_draft_is_said(
    service: Service, root: Path, task: TaskView, tmp_path: Path, what: str, said: str
) -> None:
    path = root / task.drafts[0].path
    if what == "link":
        path.parent.rename(tmp_path / "elsewhere")
        path.parent.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    else:
        path.unlink()
        path.mkdir()
    shown = service.show(task.drafts[0].id).drafts[0]
    assert any(said in f.message for f in shown.findings) and shown.blocked


def _until_approved(root: Path, task: TaskView) -> None:
    """Cuts the journal as a crash between the pen and it does."""
    journal = root / "staging" / task.task / "run.jsonl"
    lines = [line for line in journal.read_text().splitlines(keepends=True) if '"committed"' not in line]
    journal.write_text("".join(lines))
    assert json.loads(lines[-1])["verdict"]["verdict"] == "accepted"


def test_nobody_calls_a_draft_approved_that_is_committed(make_service: MakeService, root: Path, task: TaskView) -> None:
    commit = make_service().approve([task.drafts[0].id]).decisions[0].commit
    _until_approved(root, task)
    service = make_service()
    [draft] = service.drafts(every=True).drafts
    assert (draft.status, draft.commit) == ("committed", commit)
    assert service.status().tasks == () and service.status().drafts_waiting == 0
    assert service.show(draft.id).drafts[0].status == "committed"
    delegate(make_service(), answer=True)
    assert '"event": "committed"' in (root / "staging" / task.task / "run.jsonl").read_text()


# -- approving by hash -------------------------------------------------------------------------------------------------


def _retarget(root: Path, task: TaskView, old: str, new: str = "- fire at 1220\n") -> str:
    path = root / task.drafts[0].path
    front = json.dumps(old)
    path.write_text(f"---\ntarget: projects/kiln.md\nedit: replace\nsection: firing\nold_text: {front}\n---\n{new}")
    return str(path)


@pytest.fixture
def kiln(service: Service, root: Path) -> Path:
    text = "## Firing\n\n- fire at 1200\n\n## Twice\n\n- same\n- same\n"
    service.add_project("Kiln", id="kiln", text=text)
    return root / "projects/kiln.md"


def test_the_bytes_that_a_person_vouches_for_pass_at_once(
    service: Service, root: Path, kiln: Path, task: TaskView
) -> None:
    _retarget(root, task, "- fire at 1200\n")
    sha = service.drafts().drafts[0].sha256
    [decision] = service.approve([task.drafts[0].id], sha256=sha).decisions
    assert decision.outcome == "committed" and "- fire at 1220" in kiln.read_text()


def test_a_section_that_moved_since_these_bytes_were_shown_is_shown_again_once(
    service: Service, root: Path, kiln: Path, task: TaskView
) -> None:
    """F29: a yes counts for what was shown."""
    _retarget(root, task, "- fire at 1200\n")
    sha = service.show(task.drafts[0].id).drafts[0].sha256
    kiln.write_text(kiln.read_text().replace("- fire at 1200\n", "- fire at 1200\n- slowly\n"))
    [first] = service.approve([task.drafts[0].id], sha256=sha).decisions
    assert first.outcome == "needs_person" and "itself changed" in first.note
    [second] = service.approve([task.drafts[0].id], sha256=sha).decisions
    assert second.outcome == "committed"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("- nowhere\n", "- x\n", "old_text"),
        ("", "- x\n", "old_text"),
        ("- fire at 1200\n", "- fire at 1200\n", "the same"),
    ],
)
def test_what_can_not_be_made_ends_at_once_with_the_reason(
    service: Service, root: Path, kiln: Path, task: TaskView, old: str, new: str, said: str
) -> None:
    _retarget(root, task, old, new)
    sha = service.drafts().drafts[0].sha256
    result = service.approve([task.drafts[0].id], sha256=sha)
    [decision] = result.decisions
    assert result.exit_code == 1 and said in decision.note
    assert decision.draft.diff is not None and said in decision.draft.diff


# -- inputs ------------------------------------------------------------------------------------------------------------


def test_an_input_that_gives_nothing_ends_it_before_anything_is_made(service: Service, root: Path) -> None:
    with pytest.raises(NoSuchInput, match="/dev/zero"):
        delegate(service, inputs=(Path("/dev/zero"),))
    assert not list((root / "staging").glob("*/")), "no folder of a task is left behind"


def test_a_workspace_as_input_comes_without_what_onepen_made(service: Service, root: Path, task: TaskView) -> None:
    other = delegate(service, inputs=(root,))
    copies = {p.name for p in (root / "staging" / other.task / "inputs" / root.name).iterdir()}
    assert "OPS.md" in copies and not copies & {"staging", "logs", "cache", ".onepen"}
    assert any("staging: onepen's own files" in name for name in other.left_out)


def test_what_is_left_of_a_task_is_told_by_kind(make_service: MakeService, root: Path, task: TaskView) -> None:
    folder = root / "staging" / task.task
    (folder / "1/transcript.jsonl").write_text("{")
    (root / "staging/t1abc").mkdir()
    (root / "chats").mkdir(exist_ok=True)
    (root / "chats/2026-11-29-k3x9abce.jsonl").write_text("{")
    told = {(p.path, p.kind, p.level) for p in make_service(script=[]).doctor().problems}
    assert {
        (f"staging/{task.task}/1/transcript.jsonl", "transcript_unreadable", "error"),
        ("staging/t1abc", "task_unfinished", "info"),
        ("chats/2026-11-29-k3x9abce.jsonl", "chat_damaged", "warning"),
    } <= told
    (folder / "task.md").write_text("---\n")
    told = {(p.path, p.kind, p.level) for p in make_service(script=[]).doctor().problems}
    assert (f"staging/{task.task}/task.md", "task_unreadable", "error") in told


@pytest.mark.parametrize("written", ["", '{"v": 1, "kind": "pre'])
def test_an_attempt_whose_orchestrator_died_before_its_first_line_has_lost_nothing(
    written: str, make_service: MakeService, root: Path, task: TaskView
) -> None:
    folder = root / "staging" / task.task
    lines = (folder / "run.jsonl").read_text().splitlines(keepends=True)
    shutil.rmtree(folder / "1/drafts")
    for journal, found in ((lines[:2], set()), (lines, {"transcript_unreadable"})):
        (folder / "run.jsonl").write_text("".join(journal))
        (folder / "1/transcript.jsonl").write_text(written)
        told = {p.kind for p in make_service(script=[]).doctor().problems if p.path.startswith("staging/")}
        assert told & {"transcript_unreadable"} == found


@pytest.mark.parametrize("written", ["", '{"v": 1, "kind": "pre'])
def test_a_review_whose_orchestrator_died_before_its_first_line_has_lost_nothing(
    written: str, make_service: MakeService, root: Path, task: TaskView
) -> None:
    folder = root / "staging" / task.task
    judged = {"verdict": "accepted", "reviewer": "model:m", "bound": {"sha256": "a" * 64, "section": ""}}
    by_model = json.dumps({"v": 1, "at": "", "event": "judged", "draft": f"{task.task}-1", "verdict": judged}) + "\n"
    (folder / "1/review-1.jsonl").write_text(written)

    def told() -> list[str]:
        problems = make_service(script=[]).doctor().problems
        return [p.path for p in problems if p.kind == "transcript_unreadable"]

    assert told() == [], "nobody was asked"
    with (folder / "run.jsonl").open("a") as journal:
        journal.write(by_model)
    assert told() == [f"staging/{task.task}/1/review-1.jsonl"], "somebody was, and what they said is gone"
    (folder / "1/review-2.jsonl").write_text('{"v": 1, "kind": "prefix"}\n')
    assert told() == [], "they were asked again"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_chat_that_may_not_be_read_is_told() -> None:
    with tempfile.TemporaryDirectory(prefix="onepen-test-") as made:
        root = Path(made)
        root.chmod(0o755)
        (root / "chats").mkdir()
        chat = root / "chats/2026-11-29-k3x9abcd.jsonl"
        chat.touch(mode=0)
        os.seteuid(65534)
        try:
            [problem] = damaged(Space(root, None))
        finally:
            os.seteuid(0)
    assert (problem.path, problem.kind) == (f"chats/{chat.name}", "chat_unreadable")
