"""The service from end to end: workers run in this process, files are real."""

import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from onepen.memory.commit.pen import Pen
from onepen.memory.commit.record import Record
from onepen.memory.commit.redo import encode
from onepen.memory.history import Commit
from onepen.memory.holder import PenHeld
from onepen.memory.ids import BadId
from onepen.memory.target import BadTarget
from onepen.memory.view import View
from onepen.memory.workspace import NoSuchClient, Space
from onepen.orchestrator.commit import NotWritten, Scribe, Written
from onepen.orchestrator.committing import at_once
from onepen.orchestrator.errors import (
    AmbiguousId,
    BadReason,
    BadRequest,
    DraftNotEditable,
    IdIsTaken,
    NoSuchDraft,
    NoSuchTask,
)
from onepen.orchestrator.requests import DelegateRequest, ProgressLine, SearchRequest
from onepen.orchestrator.results import DelegateResult, DraftView, TaskView
from onepen.orchestrator.review.decide import Decider
from onepen.orchestrator.review.reviewer import Examined
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import NeedsModel, UnknownModel
from onepen.orchestrator.tasks.desk import Desk
from onepen.orchestrator.tasks.dossier import Dossier
from onepen.orchestrator.tasks.events import Event
from onepen.orchestrator.tasks.taskstate import DraftState
from onepen.staging.inputs import NoSuchInput
from onepen.staging.verdict import Accepted
from onepen.subagents.definition import NoSuchAgent
from onepen.subagents.messages import Text
from onepen.subagents.pool import Assignment, Ending, Failed, Reported, TimedOut
from onepen.subagents.prompt import first_message
from onepen.testing.clock import FixedClock
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]

CONES = dedent("""\
    # Cones

    Cone 6 was reached at 1222 degrees.
    Cone 10 was reached at 1285 degrees.

    ## Clay

    The clay comes from Westerwald, delivered by Goerg.
    """)


def delegate(
    service: Service, text: str = "At how many degrees was cone 6 reached?", **options: object
) -> DelegateResult:
    request = DelegateRequest((text,), **options)  # type: ignore[arg-type]
    return anyio.run(partial(service.delegate, request))


def rules(*tools: tuple[str, Mapping[str, object]], report: dict[str, object] | None = None) -> list[dict[str, object]]:
    """A script that makes these calls in its first turn and reports in its second."""
    return [
        {"turn": 1, "reply": [{"tool": name, "input": given} for name, given in tools]},
        {"turn": 2, "reply": [{"tool": "report", "input": report or {"summary": "done"}}]},
    ]


@pytest.fixture
def cones(tmp_path: Path) -> Path:
    path = tmp_path / "cones.md"
    path.write_text(CONES)
    return path


def snapshot(root: Path) -> dict[str, str]:
    """The hash of every memory file."""
    kept = ("projects", "research", "memory", "agents", "clients", "logs")
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and (path.parent == root or path.relative_to(root).parts[0] in kept)
        and "staging" not in path.relative_to(root).parts
    }


# -- the main job ------------------------------------------------------------------------------------------------------


def test_a_question_becomes_a_card_an_index_line_and_a_log_line(service: Service, root: Path, cones: Path) -> None:
    result = delegate(service, inputs=(cones,))
    [task] = result.tasks
    assert (task.status, result.exit_code, task.attempts) == ("in_review", 0, 1)
    [draft] = task.drafts
    assert draft.target == "research/at-how-many-degrees-was-cone-6-reached.md"
    assert not (root / draft.target).exists()
    shown = service.show(draft.id).drafts[0]
    assert shown.diff is not None
    assert '+> "Cone 6 was reached at 1222 degrees." (inputs/cones.md:3)' in shown.diff
    [decision] = service.approve([draft.id]).decisions
    assert (decision.outcome, decision.commit) == ("committed", "c1-" + str(decision.commit)[3:])
    body = (root / draft.path).read_text().split("---\n", 2)[2]
    assert (root / draft.target).read_text().endswith(body), "the approved body is the committed body"
    assert "Cone 6 was reached at 1222 degrees." in (root / "research/_index.md").read_text()
    assert "[draft] research/at-how-many" in (root / "memory/2026-11-29.md").read_text()
    assert service.doctor().ok
    assert service.status().drafts_waiting == 0


def test_an_answer_that_is_not_there_is_said_not_made_up(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, "Who painted the Mona Lisa?", inputs=(cones,)).tasks
    assert task.answer is not None
    assert task.answer.startswith("Nothing in what I read answers this.")
    assert "painted, Mona, Lisa" in task.answer
    draft = (root / task.drafts[0].path).read_text()
    assert "Nothing in what I read answers this." in draft
    assert '> "' not in draft


def test_the_question_asked_again_is_not_its_own_answer(service: Service, cones: Path) -> None:
    [first] = delegate(service, "Who painted the Mona Lisa?", inputs=(cones,)).tasks
    service.approve([first.drafts[0].id])
    [second] = delegate(service, "Who painted the Mona Lisa?", inputs=(cones,)).tasks
    assert second.answer is not None
    assert second.answer.startswith("Nothing in what I read answers this.")
    assert second.drafts[0].target == "research/who-painted-the-mona-lisa-2.md"


def test_with_answer_only_words_come_and_nothing_is_drafted(service: Service, root: Path, cones: Path) -> None:
    before = snapshot(root)
    [task] = delegate(service, inputs=(cones,), answer=True).tasks
    assert task.status == "answered"
    assert task.drafts == ()
    assert task.answer is not None
    assert '"Cone 6 was reached at 1222 degrees." (inputs/cones.md:3)' in task.answer
    after = snapshot(root)
    assert {p for p in after if p not in before or after[p] != before[p]} == {"logs/usage-2026-11.jsonl"}


def test_a_verbatim_draft_passes_review_auto_by_itself(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,), review="auto").tasks
    assert task.status == "committed"
    assert (root / task.drafts[0].target).exists()
    [commit] = service.history().commits
    assert (commit.reviewer, commit.draft, commit.agent) == ("checks", task.drafts[0].id, "researcher")
    assert commit.key == f"{task.task} {task.drafts[0].target}"


def test_prose_does_not_pass_review_auto_without_a_model_that_reads_it(make_service: MakeService, root: Path) -> None:
    text = "# Cones\n\n## Result\n\nCone 6 is reached at 9999 degrees.\n"
    service = make_service(script=rules(("write_draft", {"text": text, "title": "Cones"})))
    [task] = delegate(service, review="auto").tasks
    assert task.status == "in_review"
    assert not (root / "research/cones.md").exists()


def test_a_quote_that_does_not_stand_there_blocks_the_draft(make_service: MakeService, root: Path, cones: Path) -> None:
    text = '# Cones\n\n## What I found\n\n> "Cone 6 was reached at 1300 degrees." (inputs/cones.md:3)\n'
    service = make_service(script=rules(("write_draft", {"text": text, "title": "Cones"})))
    [task] = delegate(service, inputs=(cones,), review="auto").tasks
    assert task.status == "in_review"
    assert "quote" in {f.kind for f in task.drafts[0].findings if f.level == "block"}
    before = snapshot(root)
    result = service.approve([task.drafts[0].id])
    assert (result.decisions[0].outcome, result.exit_code) == ("blocked", 1)
    assert snapshot(root) == before


def test_a_report_that_answers_but_left_no_draft_is_filed_as_one(make_service: MakeService, root: Path) -> None:
    script = [{"reply": [{"tool": "report", "input": {"summary": "done", "answer": "Cone 6 is 1222 degrees."}}]}]
    [task] = delegate(make_service(script=script)).tasks
    assert task.status == "in_review"
    assert "Cone 6 is 1222 degrees." in (root / task.drafts[0].path).read_text()
    [decision] = make_service().approve([task.drafts[0].id]).decisions
    assert decision.outcome == "committed"


def test_progress_is_told_line_by_line(service: Service, cones: Path) -> None:
    lines: list[ProgressLine] = []
    request = DelegateRequest(("At how many degrees was cone 6 reached?",), inputs=(cones,))
    anyio.run(partial(service.delegate, request, on_progress=lines.append))
    assert lines[0] == ProgressLine("t1", "researcher", "attempt 1 started")


def test_several_texts_and_agents_pair_in_order(make_service: MakeService) -> None:
    pool = InProcessPool()
    script = [{"reply": [{"tool": "report", "input": {"summary": "s", "answer": "a"}}]}]
    service = make_service(pool=pool, script=script)
    request = DelegateRequest(("one", "two"), agents=("researcher", "writer"))
    result = anyio.run(partial(service.delegate, request))
    assert [(t.text, t.agent) for t in result.tasks] == [("one", "researcher"), ("two", "writer")]
    request = DelegateRequest(("three",), agents=("researcher", "writer"))
    assert [t.agent for t in anyio.run(partial(service.delegate, request)).tasks] == ["researcher", "writer"]
    with pytest.raises(BadRequest, match="3 texts and 2 agents"):
        anyio.run(partial(service.delegate, DelegateRequest(("a", "b", "c"), agents=("researcher", "writer"))))


# -- bad requests ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"agents": ("poet",)}, NoSuchAgent),
        ({"agents": ("writer",)}, NeedsModel),
        ({"model": "gpt-17"}, UnknownModel),
        ({"client": "acme"}, NoSuchClient),
        ({"project": "kiln"}, BadRequest),
        ({"target": "projects/../x.md"}, BadId),
        ({"target": "/etc/passwd"}, BadTarget),
        ({"target": "clients/bolt/projects/kiln.md"}, BadTarget),
        ({"target": "SOUL.md"}, BadRequest),
        ({"inputs": (Path("/nowhere/at/all.md"),)}, NoSuchInput),
    ],
)
def test_a_request_that_can_not_be_carried_out_makes_nothing(
    service: Service, root: Path, options: dict[str, object], error: type[Exception]
) -> None:
    before = snapshot(root)
    with pytest.raises(error) as caught:
        anyio.run(partial(service.delegate, DelegateRequest(("What?",), **options)))  # type: ignore[arg-type]
    assert getattr(caught.value, "exit_code", None) == 2
    assert "\n" not in str(caught.value)
    assert snapshot(root) == before
    assert not (root / "staging").exists()


def test_several_tasks_can_not_all_create_one_target(service: Service) -> None:
    with pytest.raises(BadRequest, match="can't all create it"):
        anyio.run(partial(service.delegate, DelegateRequest(("a", "b"), target="research/x.md")))


def test_while_another_process_holds_the_pen_it_says_who(service: Service) -> None:
    with Pen.open(service.workspace, FixedClock("2026-11-29T09:30:00+01:00")), pytest.raises(PenHeld) as caught:
        _log_without_waiting(service)
    assert caught.value.exit_code == 5


def _log_without_waiting(service: Service) -> None:
    from onepen.memory.view import View
    from onepen.orchestrator.commit import Scribe

    Scribe.open(View(service.workspace), FixedClock("2026-11-29T09:30:00+01:00"), wait=0.05)


# -- attempts that go wrong --------------------------------------------------------------------------------------------


def test_a_crashing_worker_is_tried_three_times(make_service: MakeService, root: Path) -> None:
    pool = InProcessPool(instead=lambda a: Failed("ended by SIGSEGV", None, "SIGSEGV", 0.1))
    result = delegate(make_service(pool=pool))
    assert (result.tasks[0].status, result.tasks[0].attempts, result.exit_code) == ("quarantined", 3, 1)
    assert [a.attempt for a in pool.assignments] == [1, 2, 3]
    assert (root / "logs/usage-2026-11.jsonl").read_text().count("\n") == 3


def test_a_time_out_keeps_the_drafts_and_a_person_must_look(make_service: MakeService, cones: Path) -> None:
    def late(assignment: Assignment) -> Ending | None:
        text = "---\ntarget: research/cones.md\nedit: create\nprovenance: external\n---\n## Cones\n\nhalf a result\n"
        (assignment.drafts_folder / "cones.md").write_text(text)
        return TimedOut("time", 600.0)

    service = make_service(pool=InProcessPool(instead=late))
    result = delegate(service, inputs=(cones,), review="auto")
    [task] = result.tasks
    assert (task.status, result.exit_code) == ("timed_out", 1)
    assert "incomplete" in {f.kind for f in task.drafts[0].findings}
    again = anyio.run(partial(make_service().resume, task.task)).tasks[0]
    assert (again.status, again.attempts, len(again.drafts)) == ("in_review", 2, 2)


def test_a_worker_that_goes_beyond_its_turns_is_refused(make_service: MakeService) -> None:
    service = make_service(script=[{"reply": [{"tool": "search", "input": {"query": "cone"}}]}])
    [task] = delegate(service, max_turns=3).tasks
    assert task.status in {"failed", "answered", "in_review"}
    assert task.attempts == 1


def test_what_a_hostile_worker_leaves_is_refused_and_named(make_service: MakeService, root: Path) -> None:
    secret = root / "MEMORY.md"

    def hostile(assignment: Assignment) -> Ending | None:
        drafts = assignment.drafts_folder
        (drafts / "link.md").symlink_to(secret)
        (drafts / "gone.md").symlink_to(root / "projects/new.md")
        (drafts / "hard.md").hardlink_to(secret)
        (drafts / "folder").symlink_to(root / "projects")
        for k, target in enumerate(("../../projects/kiln.md", "/tmp/x.md", "clients/bolt/USER.md", "SOUL.md", "a\\b")):
            (drafts / f"bad{k}.md").write_text(f"---\ntarget: '{target}'\nedit: create\n---\nx\n")
        return Reported("done", None, True, 0.1)

    before = snapshot(root)
    service = make_service(pool=InProcessPool(instead=hostile))
    result = delegate(service)
    [task] = result.tasks
    assert (task.status, result.exit_code) == ("refused", 1)
    assert len(task.drafts) == 9
    assert {d.status for d in task.drafts} == {"refused"}
    for draft in task.drafts:
        assert draft.blocked
        decision = service.approve([draft.id]).decisions[0]
        assert decision.outcome == "blocked"
        assert "learned" not in (decision.draft.diff or ""), "nothing outside of staging is shown through a link"
    after = snapshot(root)
    assert {p for p in after if after[p] != before.get(p)} == {"logs/usage-2026-11.jsonl"}


def test_a_draft_elsewhere_than_asked_needs_a_person(make_service: MakeService, cones: Path) -> None:
    def elsewhere(assignment: Assignment) -> Ending | None:
        body = '## What I found\n\n> "Cone 6 was reached at 1222 degrees." (inputs/cones.md:3)\n'
        text = f"---\ntarget: research/other.md\nedit: create\nprovenance: external\n---\n{body}"
        (assignment.drafts_folder / "other.md").write_text(text)
        return Reported("done", None, True, 0.1)

    service = make_service(pool=InProcessPool(instead=elsewhere))
    [task] = delegate(service, "Cone 6", inputs=(cones,), review="auto").tasks
    assert task.status == "in_review"
    assert "elsewhere" in {f.kind for f in task.drafts[0].findings}


def test_a_task_for_a_project_says_so_and_may_go_to_the_project(make_service: MakeService, root: Path) -> None:
    for title in ("Kiln", "Web"):
        make_service().add_project(title)

    def several(assignment: Assignment) -> Ending | None:
        places = ("projects/kiln.md", "projects/web.md", "projects/kiln/post.md", "projects/web/post.md", "MEMORY.md")
        for k, place in enumerate((*places, "research/cones.md")):
            edit = "create" if "/post" in place or "research" in place else "append"
            text = f"---\ntarget: {place}\nedit: {edit}\nprovenance: agent\n---\n## Cones {k}\n\nHot.\n"
            (assignment.drafts_folder / f"d{k}.md").write_text(text)
        return Reported("done", None, True, 0.1)

    pool = InProcessPool(instead=several)
    models = make_service(pool=pool, script=rules())
    request = DelegateRequest(("cone 6",), project="kiln", model="scripted:x")
    [task] = anyio.run(partial(models.delegate, request)).tasks
    told = first_message(pool.assignments[0])
    words = "\n".join(block.text for block in told.content if isinstance(block, Text))
    assert "This is for the project kiln: its card is projects/kiln.md" in words
    assert "projects/kiln/<path>" in words
    assert [any(f.kind == "elsewhere" for f in d.findings) for d in task.drafts] == [
        False, True, False, True, True, False,
    ]  # fmt: skip


def test_with_the_offline_model_a_projects_result_is_a_finding_all_the_same(service: Service, cones: Path) -> None:
    service.add_project("Kiln")
    [task] = delegate(service, inputs=(cones,), project="kiln").tasks
    assert task.drafts[0].target == "research/at-how-many-degrees-was-cone-6-reached.md"
    assert task.drafts[0].findings == ()


def test_another_clients_memory_is_never_seen(make_service: MakeService, root: Path) -> None:
    service = make_service()
    for client, mark in (("acme", "ACME-77"), ("bolt", "BOLT-77")):
        service.add_client(client, id=client)
        service.add_project("Kiln", client=client, id="kiln", text=f"## Firing\n\nThe kiln mark is {mark}.\n")
    (root / "projects" / "house.md").write_text("# House\n\n## Mark\n\nThe kiln mark is HOUSE-77.\n")
    [task] = delegate(service, "What is the kiln mark?", client="acme").tasks
    assert task.answer is not None
    assert "ACME-77" in task.answer
    everything = "".join(p.read_text() for p in (root / "clients/acme").rglob("*") if p.is_file())
    assert "BOLT-77" not in everything
    assert "HOUSE-77" not in everything


# -- approving ---------------------------------------------------------------------------------------------------------


def test_a_changed_draft_shows_its_new_diff_and_then_passes(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    draft = task.drafts[0]
    path = root / draft.path
    path.write_text(path.read_text() + "\nRemark of mine.\n")
    result = service.approve([draft.id])
    [decision] = result.decisions
    assert (decision.outcome, result.exit_code) == ("needs_person", 3)
    assert "+Remark of mine." in (decision.draft.diff or "")
    assert not (root / draft.target).exists()
    assert service.approve([draft.id]).decisions[0].outcome == "committed"
    assert (root / draft.target).read_text().endswith("Remark of mine.\n")


def test_with_sha256_a_person_vouches_for_these_bytes(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    path = root / task.drafts[0].path
    path.write_text(path.read_text() + "\nRemark of mine.\n")
    assert service.approve([task.drafts[0].id], sha256="0" * 64).exit_code == 3
    sha = hashlib.sha256(path.read_bytes()).hexdigest()
    assert service.approve([task.drafts[0].id], sha256=sha).decisions[0].outcome == "committed"


def test_on_a_terminal_a_changed_draft_is_asked_about(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    path = root / task.drafts[0].path
    path.write_text(path.read_text() + "\nRemark.\n")
    asked: list[str] = []

    def confirm(view: DraftView, moved: str) -> bool:
        asked.append(moved)
        return len(asked) > 1

    assert service.approve([task.drafts[0].id], confirm=confirm).exit_code == 3
    path.write_text(path.read_text() + "More.\n")
    assert service.approve([task.drafts[0].id], confirm=confirm).exit_code == 0
    assert asked == ["the draft was changed after it was shown"] * 2


def test_show_counts_as_showing(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    path = root / task.drafts[0].path
    path.write_text(path.read_text() + "\nRemark.\n")
    service.show(task.drafts[0].id)
    assert service.approve([task.drafts[0].id]).exit_code == 0


def test_approving_twice_gives_the_same_commit(service: Service, root: Path, cones: Path) -> None:
    """F29: a second yes commits nothing twice."""
    [task] = delegate(service, inputs=(cones,)).tasks
    first = service.approve([task.drafts[0].id]).decisions[0]
    before = snapshot(root)
    again = service.approve([task.drafts[0].id])
    assert (again.decisions[0].outcome, again.exit_code) == ("already", 0)
    assert again.decisions[0].commit == first.commit
    assert again.decisions[0].paths == first.paths
    assert snapshot(root) == before


def test_a_section_that_moved_on_shows_the_new_diff(make_service: MakeService, root: Path) -> None:
    make_service().add_project("Kiln", id="kiln", text="## Firing\n\n- fire at 1200\n\n## Glaze\n\nCeladon.\n")
    entry = {"section_id": "firing", "summary": "Fire at 1220."}
    edit = {"card": "kiln", "section": "firing", "old_text": "1200", "new_text": "1220", "index_entry": entry}
    service = make_service(script=rules(("propose_edit", edit)))
    [task] = delegate(service, target="projects/kiln.md").tasks
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("Celadon.", "Shino."))
    other = delegate(service, target="projects/kiln.md").tasks[0]
    card.write_text(card.read_text().replace("- fire at 1200", "- fire at 1200\n- slowly"))
    assert service.approve([task.drafts[0].id]).exit_code == 3
    assert service.approve([task.drafts[0].id]).exit_code == 0
    assert "- fire at 1220\n- slowly" in card.read_text()
    assert "Shino." in card.read_text()
    conflict = service.approve([other.drafts[0].id])
    assert (conflict.exit_code, conflict.decisions[0].outcome) in {(1, "conflict"), (3, "needs_person")}
    assert service.doctor().ok


def test_an_edit_elsewhere_in_the_card_does_not_disturb(make_service: MakeService, root: Path) -> None:
    make_service().add_project("Kiln", id="kiln", text="## Firing\n\n- fire at 1200\n\n## Glaze\n\nCeladon.\n")
    entry = {"section_id": "firing", "summary": "Fire at 1220."}
    edit = {"card": "kiln", "section": "firing", "old_text": "1200", "new_text": "1220", "index_entry": entry}
    service = make_service(script=rules(("propose_edit", edit)))
    [task] = delegate(service, target="projects/kiln.md").tasks
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("Celadon.", "Shino."))
    assert service.approve([task.drafts[0].id]).exit_code == 0
    assert "1220" in card.read_text()
    assert "Shino." in card.read_text()


def test_an_index_line_changed_by_hand_is_shown_before_it_is_replaced(make_service: MakeService, root: Path) -> None:
    make_service().add_project("Kiln", id="kiln", text="## Firing\n\n- fire at 1200\n")
    entry = {"section_id": "firing", "summary": "Fire at 1220."}
    edit = {"card": "kiln", "section": "firing", "old_text": "1200", "new_text": "1220", "index_entry": entry}
    service = make_service(script=rules(("propose_edit", edit)))
    [task] = delegate(service, target="projects/kiln.md").tasks
    service.show(task.drafts[0].id)
    index = root / "projects/_index.md"
    lines = [line for line in index.read_text().splitlines() if "kiln.md#firing" in line]
    index.write_text(index.read_text().replace(lines[0], "- [firing](kiln.md#firing) — My own words about it."))
    result = service.approve([task.drafts[0].id])
    assert (result.decisions[0].outcome, result.exit_code) == ("needs_person", 3)
    assert "index line" in result.decisions[0].note
    assert "My own words about it." in (result.decisions[0].draft.diff or "")
    assert "My own words about it." in index.read_text()
    assert service.approve([task.drafts[0].id]).exit_code == 0
    assert "Fire at 1220." in index.read_text()


def test_findings_of_a_committed_draft_are_those_it_was_committed_with(
    make_service: MakeService, root: Path, cones: Path
) -> None:
    [task] = delegate(make_service(), inputs=(cones,), review="auto").tasks
    assert task.status == "committed"
    assert task.drafts[0].findings == ()
    given = {"text": "# Cones\n\n## Result\n\n<script>\n", "title": "Cones"}
    service = make_service(script=rules(("write_draft", given)))
    [task] = delegate(service).tasks
    warned = [f.kind for f in task.drafts[0].findings]
    assert "html" in warned
    assert service.approve([task.drafts[0].id]).exit_code == 0
    [shown] = service.show(task.drafts[0].id).drafts
    assert [f.kind for f in shown.findings] == warned


def test_memory_that_moved_on_makes_a_conflict_that_a_person_can_solve(
    service: Service, root: Path, cones: Path
) -> None:
    """F11: a card was edited between draft and commit."""
    tasks = [delegate(service, inputs=(cones,), target="research/cones.md").tasks[0] for _ in range(2)]
    first, second = (task.drafts[0] for task in tasks)
    assert service.approve([first.id]).exit_code == 0
    result = service.approve([second.id])
    assert (result.decisions[0].outcome, result.exit_code) == ("conflict", 1)
    assert service.drafts().drafts[0].status == "conflict"
    path = root / second.path
    path.write_text(path.read_text().replace("research/cones.md", "research/cones-again.md"))
    assert service.approve([second.id]).exit_code == 3
    assert service.approve([second.id]).exit_code == 0
    assert (root / "research/cones-again.md").exists()


def test_a_second_draft_of_a_committed_key_is_a_duplicate(make_service: MakeService, root: Path, cones: Path) -> None:
    def late(assignment: Assignment) -> Ending | None:
        if assignment.attempt > 1:
            return None
        text = "---\ntarget: research/cones.md\nedit: create\nprovenance: external\n---\n## Cones\n\nhalf a result\n"
        (assignment.drafts_folder / "cones.md").write_text(text)
        return TimedOut("time", 600.0)

    service = make_service(pool=InProcessPool(instead=late))
    [task] = delegate(service, inputs=(cones,), target="research/cones.md").tasks
    [task] = anyio.run(partial(service.resume, task.task)).tasks
    first, second = task.drafts
    assert service.approve([second.id]).exit_code == 0
    before = snapshot(root)
    result = service.approve([first.id])
    assert (result.decisions[0].outcome, result.exit_code) == ("duplicate", 1)
    assert snapshot(root) == before


def test_twenty_drafts_on_one_card_in_any_order_none_is_lost(make_service: MakeService, root: Path) -> None:
    make_service().add_project("Kiln", id="kiln", text="## Firing\n\nThe log.\n")
    drafts: list[DraftView] = []
    for k in range(20):
        given = {"text": f"- remark {k}\n", "target": "projects/kiln.md", "edit": "append", "section": "firing"}
        if k % 2:
            given = {"text": f"## Topic {k}\n\nremark {k}\n", "target": "projects/kiln.md", "edit": "append"}
        drafts += (
            delegate(make_service(script=rules(("write_draft", given))), target="projects/kiln.md").tasks[0].drafts
        )
    random.shuffle(drafts)
    for draft in drafts:
        assert make_service().approve([draft.id]).exit_code == 0
    text = (root / "projects/kiln.md").read_text()
    index = (root / "projects/_index.md").read_text()
    for k in range(20):
        assert text.count(f"remark {k}\n") == 1
        assert index.count(f"(kiln.md#topic-{k})") == k % 2
    assert make_service().doctor().ok
    assert len(make_service().history().commits) == 21


def test_two_changes_of_one_card_by_one_task_are_both_kept(make_service: MakeService, root: Path) -> None:
    make_service().add_project("Kiln", id="kiln", text="## Firing\n\n- fire at 1200\n\n## Glaze\n\nCeladon.\n")
    entries = ({"section_id": "firing", "summary": "At 1220."}, {"section_id": "glaze", "summary": "Shino."})
    script = rules(
        ("propose_edit", {"card": "kiln", "old_text": "1200", "new_text": "1220", "index_entry": entries[0]}),
        ("propose_edit", {"card": "kiln", "old_text": "Celadon", "new_text": "Shino", "index_entry": entries[1]}),
    )
    service = make_service(script=script)
    [task] = delegate(service, target="projects/kiln.md").tasks
    for draft in task.drafts:
        codes = [service.approve([draft.id]).exit_code for _ in range(2)]
        assert codes[-1] == 0
    text = (root / "projects/kiln.md").read_text()
    assert "1220" in text
    assert "Shino" in text


def test_reject_needs_a_reason_and_leaves_a_log_line(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    with pytest.raises(BadReason):
        service.reject([task.drafts[0].id], " ")
    [decision] = service.reject([task.drafts[0].id], "not needed").decisions
    assert (decision.outcome, decision.draft.status) == ("refused", "refused")
    assert "rejected: not needed" in (root / "memory/2026-11-29.md").read_text()
    assert service.drafts().drafts == ()
    assert service.drafts(every=True).drafts[0].reason == "not needed"


def test_what_was_refused_needs_a_person_again(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    draft = task.drafts[0]
    service.reject([draft.id], "not needed")
    for _ in range(2):
        result = service.approve([draft.id])
        [decision] = result.decisions
        assert (decision.outcome, result.exit_code) == ("needs_person", 3)
        assert decision.note == "it was refused by user:ana because: not needed"
        assert "1222" in (decision.draft.diff or "")
    assert service.approve([draft.id], confirm=lambda view, moved: False).exit_code == 3
    result = service.approve([draft.id], sha256=draft.sha256)
    assert (result.decisions[0].outcome, result.exit_code) == ("committed", 0)
    assert "refused by user:ana" in result.decisions[0].note


def test_a_rejection_repeated_is_logged_once(service: Service, root: Path, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    commits = [service.reject([task.drafts[0].id], "not needed").decisions[0].commit for _ in range(2)]
    assert commits[0] == commits[1]
    assert (root / "memory/2026-11-29.md").read_text().count("rejected: not needed") == 1


def test_sending_back_what_is_committed_is_not_done_and_said(service: Service, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,), review="auto").tasks
    result = anyio.run(partial(service.send_back, [task.drafts[0].id], "shorter"))
    assert result.exit_code == 1
    assert any("can't be sent back" in notice for notice in result.notices)


def test_an_id_that_is_taken_is_wrong_usage(service: Service) -> None:
    service.add_client("Acme")
    service.add_project("Kiln")
    service.add_agent("Scout")
    adds: list[Callable[[], object]] = [
        lambda: service.add_client("Acme"),
        lambda: service.add_project("Kiln"),
        lambda: service.add_research("Kiln"),
        lambda: service.add_agent("Scout"),
    ]
    said = []
    for add in adds:
        with pytest.raises(IdIsTaken) as caught:
            add()
        assert caught.value.exit_code == 2
        said.append(caught.value.message)
    assert said == [
        "client acme: clients/acme is there already",
        "project kiln: projects/kiln.md is there already",
        "research kiln: projects/kiln.md is there already",
        "agent scout: agents/scout.md is there already",
    ]


def test_a_journal_that_fails_after_the_commit_is_told_as_such(
    make_service: MakeService, root: Path, cones: Path
) -> None:
    service = make_service()
    [task] = delegate(service, inputs=(cones,)).tasks
    id_, journal = task.drafts[0].id, root / "staging" / task.task / "run.jsonl"
    view, clock = View(service.workspace), FixedClock("2026-11-29T10:00:00+01:00")
    desk = _BreakingDesk(view, clock)
    with desk.scribe() as scribe:
        decider = Decider(desk, scribe, "ana")
        decision = at_once(decider.approve(id_, None, None))
    assert (decision.outcome, decision.exit_code) == ("committed", 0)
    [notice] = decider.notices
    assert notice.startswith(f"committed as {decision.commit}, but its journal staging/{task.task}/run.jsonl could not")
    assert notice.endswith(f"the next command on {task.task} notes it")
    mend(journal)
    again = service.approve([id_])
    assert (again.decisions[0].outcome, again.decisions[0].commit) == ("already", decision.commit)
    assert '"event": "committed"' in journal.read_text()


def test_a_rejection_whose_journal_fails_is_told_as_such(make_service: MakeService, root: Path, cones: Path) -> None:
    service = make_service()
    [task] = delegate(service, inputs=(cones,)).tasks
    id_, journal = task.drafts[0].id, root / "staging" / task.task / "run.jsonl"
    view, clock = View(service.workspace), FixedClock("2026-11-29T10:00:00+01:00")
    desk = _BreakingDesk(view, clock)
    with desk.scribe() as scribe:
        decider = Decider(desk, scribe, "ana")
        decision = at_once(decider.reject(id_, "not needed"))
    assert (decision.outcome, decision.exit_code) == ("refused", 0)
    assert decider.notices[0].startswith(f"committed as {decision.commit}, but its journal")
    mend(journal)
    assert service.reject([id_], "not needed").decisions[0].commit == decision.commit
    assert service.drafts(every=True).drafts[0].status == "refused"


def test_an_automatic_commit_whose_journal_fails_is_told_as_such(
    make_service: MakeService, root: Path, cones: Path
) -> None:
    service = make_service()
    work = service._work(None, None, None, False)
    work._desk = _BreakingDesk(work._desk.view, work._desk.clock)
    result = anyio.run(partial(work.delegate, DelegateRequest(("cone 6 reached",), inputs=(cones,), review="auto")))
    [task] = result.tasks
    assert (task.status, result.exit_code) == ("committed", 0)
    [told] = [notice for notice in result.notices if notice.startswith("committed as")]
    assert str(task.drafts[0].commit) in told
    journal = root / "staging" / task.task / "run.jsonl"
    mend(journal)
    [again] = anyio.run(partial(service.resume, task.task)).tasks
    assert again.drafts[0].commit == task.drafts[0].commit
    assert '"event": "committed"' in journal.read_text()


class _Breaking(Scribe):
    """A scribe after whose commits the task's journal can't be written any more."""

    async def carry_out_shared(
        self, dossier: Dossier, state: DraftState, verdict: Accepted, examined: Examined, *, shared: bool = True
    ) -> tuple[Event, Written | NotWritten]:
        came = await super().carry_out_shared(dossier, state, verdict, examined, shared=shared)
        break_journals(dossier.space.folder)
        return came

    async def log_shared(
        self,
        space: Space,
        kind: str,
        text: str,
        who: str,
        *,
        key: str | None = None,
        allow_secret: bool = False,
        shared: bool = True,
    ) -> Commit:
        commit = await super().log_shared(space, kind, text, who, key=key, allow_secret=allow_secret, shared=shared)
        break_journals(space.folder)
        return commit


def break_journals(space: Path) -> None:
    """Put a folder where each journal is: it can't be written then, by nobody."""
    for journal in (space / "staging").glob("*/run.jsonl"):
        journal.rename(journal.with_name("kept"))
        journal.mkdir()


def mend(journal: Path) -> None:
    journal.rmdir()
    journal.with_name("kept").rename(journal)


def test_send_back_gives_the_worker_the_reason_and_its_draft(make_service: MakeService, root: Path) -> None:
    pool = InProcessPool()
    text = "# Cones\n\n## Result\n\nLong words.\n"
    service = make_service(pool=pool, script=rules(("write_draft", {"text": text, "title": "Cones"})))
    [task] = delegate(service).tasks
    [again] = anyio.run(partial(service.send_back, [task.drafts[0].id], "shorter, please")).tasks
    assert (again.status, again.attempts) == ("in_review", 2)
    assert [d.status for d in again.drafts] == ["sent_back", "waiting"]
    assert again.drafts[1].id == f"{task.task}-2"
    feedback = pool.assignments[1].feedback
    assert feedback is not None
    assert "shorter, please" in feedback
    assert "Long words." in feedback
    assert service.approve([again.drafts[1].id]).exit_code == 0


def test_an_attempt_that_was_sent_back_is_as_external_as_the_one_before(
    make_service: MakeService, root: Path, cones: Path
) -> None:
    text = {"text": "# Cones\n\n## Result\n\nLong words.\n", "title": "Cones"}
    first = make_service(script=rules(("read_input", {"name": "cones.md"}), ("write_draft", text)))
    [task] = delegate(first, inputs=(cones,)).tasks
    assert task.drafts[0].provenance == "external"
    blind = make_service(script=rules(("write_draft", text)))
    [again] = anyio.run(partial(blind.send_back, [task.drafts[0].id], "shorter, please")).tasks
    assert [d.provenance for d in again.drafts] == ["external", "external"]


def test_a_draft_that_calls_itself_external_makes_what_follows_it_external(make_service: MakeService) -> None:
    def claims(assignment: Assignment) -> Ending | None:
        said = "external" if assignment.attempt == 1 else "agent"
        text = f"---\ntarget: research/cones.md\nedit: create\nprovenance: {said}\n---\n## Cones\n\nHot.\n"
        (assignment.drafts_folder / "cones.md").write_text(text)
        return Reported("done", None, True, 0.1)

    service = make_service(pool=InProcessPool(instead=claims), script=rules())
    [task] = delegate(service).tasks
    [again] = anyio.run(partial(service.send_back, [task.drafts[0].id], "shorter, please")).tasks
    assert [d.provenance for d in again.drafts] == ["external", "external"]


def test_an_earlier_draft_is_no_source(make_service: MakeService, root: Path) -> None:
    def quotes_itself(assignment: Assignment) -> Ending | None:
        said = "Cone 6 is hot."
        for k, place in enumerate(("staging/t1/1/drafts/d0.md:7", "1/drafts/d0.md:7", "inputs/d0.md:7")):
            quote = f'> "{said}" ({place})' if assignment.attempt > 1 else said
            head = f"---\ntarget: research/cones-{k}.md\nedit: create\nprovenance: agent\n---\n"
            (assignment.drafts_folder / f"d{k}.md").write_text(f"{head}## Cones\n\n{quote}\n")
        return Reported("done", None, True, 0.1)

    pool = InProcessPool(instead=quotes_itself)
    service = make_service(pool=pool, script=rules())
    [task] = delegate(service, review="auto").tasks
    [again] = anyio.run(partial(service.send_back, [d.id for d in task.drafts], "with quotes, please")).tasks
    feedback = pool.assignments[1].feedback
    assert feedback is not None
    assert "no source" in feedback
    assert "Cone 6 is hot." in feedback
    for draft in again.drafts[3:]:
        assert any(f.kind == "quote" and f.level == "block" for f in draft.findings), draft.findings


def test_an_edited_draft_opens_and_is_shown_anew(service: Service, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    view, path = service.draft_file(task.drafts[0].id)
    path.write_text(path.read_text() + "\nMine.\n")
    shown = service.edited(view.id)
    assert "+Mine." in (shown.diff or "")
    assert service.approve([view.id]).exit_code == 0
    with pytest.raises(DraftNotEditable):
        service.draft_file(view.id)


# -- resuming ----------------------------------------------------------------------------------------------------------


def test_a_draft_accepted_before_a_crash_is_committed_once(make_service: MakeService, root: Path, cones: Path) -> None:
    service = make_service()
    [task] = delegate(service, inputs=(cones,)).tasks
    journal = root / "staging" / task.task / "run.jsonl"
    first = service.approve([task.drafts[0].id]).decisions[0]
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]))  # killed between the pen and the journal
    [again] = anyio.run(partial(make_service().resume, task.task)).tasks
    assert (again.status, again.drafts[0].commit) == ("committed", first.commit)
    journal.write_text("".join(lines[:-1]))
    assert make_service().approve([task.drafts[0].id]).decisions[0].commit == first.commit
    assert len(make_service().history().commits) == 1


def test_stored_replies_are_used_again_and_not_paid_twice(make_service: MakeService, root: Path) -> None:
    text = "# Cones\n\n## Result\n\nCone 6.\n"
    script: list[dict[str, object]] = [
        {
            "turn": 1,
            "times": 1,
            "usage": {"input": 100, "output": 10},
            "reply": [{"tool": "write_draft", "input": {"text": text, "title": "Cones"}}],
        }
    ]
    [task] = delegate(make_service(script=script)).tasks  # the second call finds no rule: as if it was cut off
    assert task.status == "failed"
    rest = [{"turn": 2, "usage": {"input": 120, "output": 5}, "reply": [{"tool": "report", "input": {"summary": "s"}}]}]
    [again] = anyio.run(partial(make_service(script=rest).resume, task.task)).tasks
    assert again.status == "in_review"
    assert (again.usage.input, again.usage.output) == (220, 15)
    lines = [json.loads(line) for line in (root / "logs/usage-2026-11.jsonl").read_text().splitlines()]
    assert [(line["attempt"], line["input"]) for line in lines] == [(1, 100), (2, 120)]


def test_a_task_that_was_never_begun_in_the_journal_begins_with_its_sheet(
    make_service: MakeService, root: Path, cones: Path
) -> None:
    [task] = delegate(make_service(), inputs=(cones,)).tasks
    (root / "staging" / task.task / "run.jsonl").unlink()
    [again] = anyio.run(partial(make_service().resume, task.task)).tasks
    assert again.status == "in_review"


def test_resuming_what_is_done_says_so(service: Service, cones: Path) -> None:
    [task] = delegate(service, inputs=(cones,)).tasks
    result = anyio.run(partial(service.resume, task.task))
    assert result.exit_code == 0
    assert any("nothing to resume" in notice for notice in result.notices)


# -- ids, listing, logs ------------------------------------------------------------------------------------------------


def test_prefixes_are_accepted_and_ambiguous_ones_list_the_candidates(service: Service, cones: Path) -> None:
    for _ in range(11):
        delegate(service, inputs=(cones,))
    with pytest.raises(AmbiguousId, match="t10, t11"):
        service.show("t1x"[:1])
    assert service.show("t11").drafts[0].task == "t11"
    assert service.show("t1").drafts[0].task == "t1", "an id that is whole is itself"
    with pytest.raises(NoSuchDraft):
        service.show("t1-9")
    with pytest.raises(NoSuchTask):
        anyio.run(partial(service.resume, "z"))


@pytest.mark.parametrize("command", ["log", "add", "approve", "delegate"])
def test_hand_edits_are_indexed_by_the_next_command_that_writes(
    make_service: MakeService, root: Path, cones: Path, command: str
) -> None:
    service = make_service()
    service.add_project("Kiln", id="kiln")
    [task] = delegate(service, inputs=(cones,)).tasks
    for card in ("kiln", "other"):
        with (root / f"projects/{card}.md").open("a") as f:
            f.write(f"\n## Glaze\nCeladon of {card}.\n")
    match command:
        case "log":
            notices = service.log("called Ana").notices
        case "add":
            notices = service.add_research("Cones").notices
        case "approve":
            notices = service.approve([task.drafts[0].id]).notices
        case _:
            notices = delegate(service, inputs=(cones,)).notices
    assert any("projects/_index.md" in notice for notice in notices)
    index = (root / "projects/_index.md").read_text()
    for card in ("kiln", "other"):
        assert f"[glaze]({card}.md#glaze) — Glaze: Celadon of {card}. (auto)" in index


def test_with_a_client_named_only_its_drafts_are_meant(service: Service, cones: Path) -> None:
    service.add_client("Acme")
    service.add_client("Beta")
    [theirs] = delegate(service, inputs=(cones,), client="beta").tasks
    acme, id_ = service.seen_from(only="acme"), theirs.drafts[0].id
    asked: list[Callable[[], object]] = [
        lambda: acme.show(id_),
        lambda: acme.show(theirs.task),
        lambda: acme.approve([id_]),
        lambda: acme.approve([id_], dry_run=True),
        lambda: acme.reject([id_], "no"),
        lambda: acme.draft_file(id_),
        lambda: anyio.run(partial(acme.send_back, [id_], "no")),
    ]
    for ask in asked:
        with pytest.raises(NoSuchDraft, match="not in client acme's space"):
            ask()
    with pytest.raises(NoSuchTask, match="not in client acme's space"):
        anyio.run(partial(acme.resume, theirs.task))
    with pytest.raises(NoSuchClient):
        service.seen_from(only="nobody").show(id_)
    assert service.seen_from(first="acme").show(id_).drafts[0].id == id_, "a whole id is itself, wherever one stands"
    assert service.seen_from(only="beta").approve([id_]).exit_code == 0


def test_in_a_clients_folder_its_ids_go_before_others_that_begin_alike(service: Service, cones: Path) -> None:
    service.add_client("Acme")
    [house] = delegate(service, inputs=(cones,)).tasks
    [theirs] = delegate(service, inputs=(cones,), client="acme").tasks
    assert (house.task[0], theirs.task[0]) == ("t", "t")
    with pytest.raises(AmbiguousId):
        service.show("t")
    assert service.seen_from(first="acme").show("t").drafts[0].task == theirs.task


def test_status_lists_tasks_newest_first_and_failed_ones_for_a_week(make_service: MakeService, cones: Path) -> None:
    def some_fail(assignment: Assignment) -> Ending | None:
        return TimedOut("time", 600.0) if assignment.text.startswith("late") else None

    clock = FixedClock("2026-11-29T10:00:00+01:00")
    service = make_service(pool=InProcessPool(instead=some_fail), at=clock)
    texts = ("late one", "cone 6 reached", "late two")
    ids = []
    for text in texts:
        ids.append(delegate(service, text, inputs=(cones,)).tasks[0].task)
        clock.move(timedelta(minutes=1))
    assert [t.task for t in service.status().tasks] == ids[::-1]
    clock.move(timedelta(days=6))
    assert len(service.status().tasks) == 3
    clock.move(timedelta(days=1))
    assert [t.task for t in service.status().tasks] == [ids[1]], "what waits for a person stays"
    assert anyio.run(partial(service.resume, ids[0])).tasks[0].status == "timed_out", "it can be resumed all the same"
    assert [t.task for t in service.status().tasks] == [ids[1], ids[0]], "and then it is listed again"


def test_status_says_whose_turn_it_is(service: Service, cones: Path, root: Path) -> None:
    assert service.status().suggestion == 'onepen add project "TITLE"'
    [task] = delegate(service, inputs=(cones,)).tasks
    status = service.status()
    assert (status.drafts_waiting, status.suggestion) == (1, f"onepen show {task.drafts[0].id}")
    assert (status.timezone, status.timezone_source) == ("Europe/Berlin", "onepen.toml")
    assert [t.status for t in status.tasks] == ["in_review"]
    assert json.loads(json.dumps(status.as_json()))["spend_today_usd"] == 0


def test_search_finds_what_was_committed(service: Service, cones: Path) -> None:
    delegate(service, inputs=(cones,), review="auto")
    hits = service.search(SearchRequest("cone 6 degrees")).hits
    assert any("1222" in hit.text for hit in hits)
    assert service.context().total_tokens > 0


def test_a_day_log_follows_the_clock(make_service: MakeService, root: Path) -> None:
    clock = FixedClock("2026-11-29T23:58:00+01:00")
    service = make_service(at=clock)
    service.log("before midnight")
    clock.move(timedelta(minutes=5))
    service.log("after midnight")
    assert "before" in (root / "memory/2026-11-29.md").read_text()
    assert "after" in (root / "memory/2026-11-30.md").read_text()


class _BreakingDesk(Desk):
    """A desk with such a scribe."""

    def scribe(self) -> Scribe:
        return _Breaking.open(self.view, self.clock)


def test_only_a_model_that_follows_remarks_is_offered_to_get_a_draft_back(
    make_service: MakeService, cones: Path
) -> None:
    [found] = delegate(make_service(), inputs=(cones,)).tasks
    given = {"text": "# Other\n\n## Result\n\nOne.\n", "title": "Other"}
    [wrote] = delegate(make_service(script=rules(("write_draft", given))), model="scripted:play.json").tasks
    service = make_service()
    assert [service.show(task.drafts[0].id).drafts[0].can_go_back for task in (found, wrote)] == [False, True]


def test_status_says_that_a_redo_log_from_elsewhere_is_passed_over(service: Service, root: Path) -> None:
    service.log("called Ana")
    assert service.status().notices == ()
    foreign = Record("zyxwvuts9876", 1, ("c9-abcdef",), ())
    (root / ".onepen/redo/log").write_bytes(encode(foreign))
    [notice] = service.status().notices
    assert ".onepen/redo/log" in notice
    assert "another workspace" in notice


def test_why_an_attempt_failed_ends_in_the_next_command(root: Path, make_service: MakeService) -> None:
    def in_its_place(made: Sequence[TaskView]) -> None:
        (root / "staging" / made[0].task / "1").mkdir()

    [task] = anyio.run(partial(make_service().delegate, DelegateRequest(("x",)), on_made=in_its_place)).tasks
    assert (task.status, task.reason) == (
        "failed",
        f"staging/{task.task}/1: is there already, so nothing is written to it (next: onepen resume {task.task})",
    )
