"""`dry_run`: not one byte is written, and what is told is what the real run then does."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.commit.pen import Pen
from onepen.memory.errors import OnepenError
from onepen.memory.holder import note_holder, noted_holder
from onepen.memory.ids import BadId
from onepen.memory.target import BadTarget
from onepen.memory.workspace import NoSuchClient, open_workspace
from onepen.orchestrator.errors import BadReason, BadRequest, IdIsTaken, NoSuchDraft, NoSuchTask
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import CommitResult, DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import NeedsModel, UnknownModel
from onepen.staging.inputs import NoSuchInput
from onepen.subagents.definition import NoSuchAgent
from onepen.subagents.pool import Assignment, Ending, Failed
from onepen.testing.clock import FixedClock
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]
QUESTION = "At how many degrees was cone 6 reached?"


def tree(root: Path) -> dict[str, tuple[int, str]]:
    """Every path below a folder with its time and its hash."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def cones(tmp_path: Path) -> Path:
    path = tmp_path / "cones.md"
    path.write_text("# Cones\n\nCone 6 was reached at 1222 degrees.\n")
    return path


def delegate(service: Service, *texts: str, dry_run: bool = False, **options: object) -> DelegateResult:
    request = DelegateRequest(texts or (QUESTION,), **options)  # type: ignore[arg-type]
    return anyio.run(partial(service.delegate, request, dry_run=dry_run))


def failing(assignment: Assignment) -> Ending | None:
    return Failed("no such luck", 1, None, 0.1)


ADDITIONS: dict[str, Callable[..., CommitResult]] = {
    "client": lambda service, **given: service.add_client("Beta GmbH", **given),
    "project": lambda service, **given: service.add_project("Kiln", text="## Firing\n\n- 1222\n", **given),
    "project of a client": lambda service, **given: service.add_project("Kiln", client="acme", **given),
    "finding": lambda service, **given: service.add_research("Cones", **given),
    "agent": lambda service, **given: service.add_agent("Poet", **given),
    "log": lambda service, **given: service.log("called Ana", **given),
}


@pytest.mark.parametrize("name", ADDITIONS)
def test_what_would_be_written_is_what_is_written(name: str, service: Service, root: Path) -> None:
    service.add_client("Acme")
    before = tree(root)
    foretold = ADDITIONS[name](service, dry_run=True)
    assert tree(root) == before
    assert (foretold.commit, foretold.dry_run) == (None, True)
    done = ADDITIONS[name](service)
    assert done.commit is not None and not done.dry_run
    assert foretold.paths == done.paths
    assert foretold.as_json().keys() == done.as_json().keys()


def test_a_workspace_that_was_never_written_stays_so(service: Service, root: Path) -> None:
    before = tree(root)
    assert service.add_project("Kiln", dry_run=True).paths[0] == "projects/kiln.md"
    assert tree(root) == before and not (root / ".onepen" / "pen.lock").exists()


REFUSALS: dict[str, tuple[type[OnepenError], Callable[[Service, bool], object]]] = {
    "a project that is there": (IdIsTaken, lambda s, dry: s.add_project("Kiln", dry_run=dry)),
    "its id in another shelf": (IdIsTaken, lambda s, dry: s.add_research("Kiln", dry_run=dry)),
    "an agent that is there": (IdIsTaken, lambda s, dry: s.add_agent("Writer", dry_run=dry)),
    "a client that is there": (IdIsTaken, lambda s, dry: s.add_client("Acme", dry_run=dry)),
    "an id that is none": (BadId, lambda s, dry: s.add_project("X", id="../x", dry_run=dry)),
    "a client that is not there": (NoSuchClient, lambda s, dry: s.log("x", client="beta", dry_run=dry)),
    "no such draft": (NoSuchDraft, lambda s, dry: s.approve(["zz-1"], dry_run=dry)),
    "no draft at all": (BadRequest, lambda s, dry: s.approve([], dry_run=dry)),
    "no reason": (BadReason, lambda s, dry: s.reject(["zz-1"], " ", dry_run=dry)),
    "no such task": (NoSuchTask, lambda s, dry: anyio.run(partial(s.resume, "zz", dry_run=dry))),
    "nothing to send back": (NoSuchDraft, lambda s, dry: anyio.run(partial(s.send_back, ["zz-1"], "x", dry_run=dry))),
    "no text": (BadRequest, lambda s, dry: delegate(s, " ", dry_run=dry)),
    "no such agent": (NoSuchAgent, lambda s, dry: delegate(s, agents=("nobody",), dry_run=dry)),
    "no such model": (UnknownModel, lambda s, dry: delegate(s, model="hal", dry_run=dry)),
    "an agent without its model": (NeedsModel, lambda s, dry: delegate(s, agents=("writer",), dry_run=dry)),
    "a target that is none": (BadTarget, lambda s, dry: delegate(s, target="x/y/z", dry_run=dry)),
    "a target that is refused": (BadRequest, lambda s, dry: delegate(s, target="SOUL.md", dry_run=dry)),
    "no such project": (BadRequest, lambda s, dry: delegate(s, project="glaze", dry_run=dry)),
    "no such input": (NoSuchInput, lambda s, dry: delegate(s, inputs=(Path("/nowhere"),), dry_run=dry)),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_would_be_refused_is_refused_in_the_same_words(name: str, service: Service, root: Path) -> None:
    service.add_project("Kiln")
    service.add_client("Acme")
    kind, call = REFUSALS[name]
    before = tree(root)
    with pytest.raises(kind) as foretold:
        call(service, True)
    assert tree(root) == before
    with pytest.raises(kind) as real:
        call(service, False)
    assert (foretold.value.message, foretold.value.exit_code) == (real.value.message, real.value.exit_code)


def test_a_delegation_is_told_up_to_its_worker(service: Service, root: Path, cones: Path) -> None:
    photos = cones.parent / "photos"
    photos.mkdir()
    (photos / "photo.png").write_bytes(b"\x89PNG\x00\xff")
    (photos / "list.md").write_text("one photo\n")
    given = (cones, photos)
    before = tree(root)
    foretold = delegate(service, QUESTION, QUESTION, dry_run=True, inputs=given)
    assert tree(root) == before
    assert (foretold.exit_code, foretold.dry_run) == (0, True)
    done = delegate(service, QUESTION, QUESTION, inputs=given)
    for told, real in zip(foretold.tasks, done.tasks, strict=True):
        assert (told.task, told.status) == ("", "queued")
        assert (told.target, told.model, told.inputs) == (real.target, real.model, real.inputs)
        assert told.left_out == real.left_out and "photo.png" in told.left_out[0]
        assert told.stages == real.drafts[0].stages == ("checks", "person")
        assert {*told.as_json()} - {*real.as_json()} == {"stages"}
    assert foretold.tasks[0].target != foretold.tasks[1].target
    assert foretold.as_json()["tasks"][0]["task"] is None  # type: ignore[index]


def test_what_passes_alone_when_it_is_quoted_is_said(service: Service, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,), review="auto", dry_run=True).tasks
    assert "has to pass: checks, person; checks if it is quoted word for word" in task.notices
    [task] = delegate(service, inputs=(cones,), answer=True, dry_run=True).tasks
    assert task.stages == () and "the answer is printed, no draft is filed" in task.notices


def test_an_approval_is_told_and_then_done(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    [draft] = service.show(task.drafts[0].id).drafts
    before = tree(root)
    foretold = service.approve([draft.id], dry_run=True)
    assert tree(root) == before
    [told] = foretold.decisions
    assert (told.outcome, told.commit, told.draft.status, told.draft.commit) == ("committed", None, "committed", None)
    done = service.approve([draft.id])
    assert told.paths == done.decisions[0].paths
    assert foretold.exit_code == done.exit_code == 0
    assert foretold.as_json().keys() == done.as_json().keys()
    assert foretold.as_json()["commit"] is None
    [over] = service.approve([draft.id], dry_run=True).decisions
    assert (over.outcome, over.commit) == ("already", done.decisions[0].commit)


def test_a_draft_that_moved_needs_a_person_and_is_not_noted_as_shown(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    [draft] = service.show(task.drafts[0].id).drafts
    with (root / draft.path).open("a") as f:
        f.write("by hand\n")
    before = tree(root)
    for _ in range(2):
        result = service.approve([draft.id], dry_run=True)
        assert (result.decisions[0].outcome, result.exit_code) == ("needs_person", 3)
    assert tree(root) == before
    assert service.approve([draft.id]).exit_code == 3


def test_of_two_drafts_for_one_place_the_second_is_told_to_conflict(
    make_service: MakeService, root: Path, cones: Path
) -> None:
    service = make_service()
    ids = [delegate(service, inputs=(cones,)).tasks[0].drafts[0].id for _ in range(2)]
    drafts = [service.show(id_).drafts[0] for id_ in ids]
    second = root / drafts[1].path
    second.write_text(second.read_text().replace(drafts[1].target, drafts[0].target))
    for id_ in ids:
        service.show(id_)
    before = tree(root)
    foretold = service.approve(ids, dry_run=True)
    assert tree(root) == before
    done = service.approve(ids)
    assert [d.outcome for d in foretold.decisions] == [d.outcome for d in done.decisions]
    assert foretold.decisions[0].outcome == "committed" != foretold.decisions[1].outcome
    assert foretold.exit_code == done.exit_code


def test_a_rejection_is_told_and_then_done(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    before = tree(root)
    [told] = service.reject([task.drafts[0].id], "no", dry_run=True).decisions
    assert tree(root) == before
    [done] = service.reject([task.drafts[0].id], "no").decisions
    assert (told.outcome, told.draft.status, told.commit) == ("refused", "refused", None)
    assert (done.outcome, done.draft.status, done.paths) == (told.outcome, told.draft.status, told.paths)


def test_going_on_is_told(make_service: MakeService, root: Path, cones: Path) -> None:
    [task] = delegate(make_service(pool=InProcessPool(instead=failing)), inputs=(cones,)).tasks
    before = tree(root)
    result = anyio.run(partial(make_service().resume, task.task[:4], dry_run=True))
    assert tree(root) == before
    assert (result.tasks[0].task, result.tasks[0].status, result.exit_code) == (task.task, "queued", 0)
    assert f"attempt {task.attempts + 1} would start" in result.tasks[0].notices


def test_a_task_with_nothing_left_is_told_as_the_real_run_tells_it(service: Service, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    service.reject([task.drafts[0].id], "no")
    told = anyio.run(partial(service.resume, task.task, dry_run=True))
    done = anyio.run(partial(service.resume, task.task))
    assert (told.notices, told.exit_code, told.tasks[0].status) == (done.notices, done.exit_code, done.tasks[0].status)


def test_sending_back_is_told(make_service: MakeService, root: Path, cones: Path) -> None:
    text = {"text": "# Cones\n\n## Result\n\nLong words.\n", "title": "Cones"}
    report = {"tool": "report", "input": {"summary": "done"}}
    script = [{"turn": 1, "reply": [{"tool": "write_draft", "input": text}]}, {"turn": 2, "reply": [report]}]
    service = make_service(script=script)
    [task] = delegate(service, inputs=(cones,)).tasks
    before = tree(root)
    result = anyio.run(partial(service.send_back, [task.drafts[0].id], "shorter", dry_run=True))
    assert tree(root) == before
    [told] = result.tasks
    assert (told.status, told.drafts[0].status, result.exit_code) == ("sent_back", "sent_back", 0)
    assert "attempt 2 would start" in told.notices


def test_cards_edited_by_hand_are_told_to_be_indexed(service: Service, root: Path, cones: Path) -> None:
    service.add_project("Kiln", text="## Firing\n\n- 1222\n")
    with (root / "projects" / "kiln.md").open("a") as f:
        f.write("\n## Glaze\n\n- celadon\n")
    before = tree(root)
    told = delegate(service, inputs=(cones,), dry_run=True).notices
    assert tree(root) == before
    assert told == ("would index what was edited by hand: projects/_index.md",)
    assert "indexed what was edited by hand: projects/_index.md" in delegate(service, inputs=(cones,)).notices[0]


def test_a_held_pen_is_no_hindrance_and_is_said(service: Service, root: Path, clock: FixedClock) -> None:
    with Pen.open(open_workspace(root), clock):
        before = tree(root)
        result = service.log("x", dry_run=True)
        assert tree(root) == before
    assert result.paths == ("memory/2026-11-29.md",)
    assert "the pen is held by process" in result.notices[0]


def test_an_orchestrator_that_would_do_it_is_nobody_to_wait_for(
    service: Service, root: Path, clock: FixedClock
) -> None:
    with Pen.open(open_workspace(root), clock):
        note_holder(root, replace(noted_holder(root), socket="orchestrator.sock"))
        assert service.log("x", dry_run=True).notices == ()
