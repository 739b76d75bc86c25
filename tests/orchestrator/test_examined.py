"""A draft that is examined again is examined anew as soon as anything has changed that it is examined by."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.review.reviewer import Examined, Reviewer
from onepen.orchestrator.service import Service
from onepen.orchestrator.tasks.dossier import open_dossier
from onepen.testing.clock import FixedClock

CLOCK = FixedClock("2026-11-29T09:30:00+01:00")
ENTRY = {"section_id": "firing", "summary": "Fire at 1220."}
SCRIPT: list[dict[str, object]] = [
    {"agent": "reviewer", "reply": [{"tool": "verdict", "input": {"verdict": "escalate", "reason": "r"}}]},
    {"turn": 1, "reply": [{"tool": "read_input", "input": {"name": "cones.md"}}]},
    {
        "turn": 2,
        "reply": [
            {
                "tool": "write_draft",
                "input": {
                    "target": "projects/kiln.md", "edit": "append", "section": "firing",
                    "text": '> "cone 6 at 1222" (inputs/cones.md:1)\n', "index": [ENTRY],
                    "sources": ["inputs/cones.md:1"],
                },
            }
        ],
    },
    {"turn": 3, "reply": [{"tool": "report", "input": {"summary": "s"}}]},
]  # fmt: skip


class Case:
    """One draft, and a reviewer that has examined it."""

    def __init__(self, service: Service, root: Path, tmp_path: Path) -> None:
        card = "---\ntitle: Kiln\nstatus: active\n---\n\n# Kiln\n\n## Firing\n\n- fire at 1200\n"
        (root / "projects/kiln.md").write_text(card)
        source = tmp_path / "cones.md"
        source.write_text("cone 6 at 1222\n")
        request = DelegateRequest(("Cones?",), agents=("writer",), model="scripted", inputs=(source,))
        [task] = anyio.run(partial(service.delegate, request)).tasks
        assert [draft.status for draft in task.drafts] == ["waiting"], task
        self.workspace = open_workspace(root)
        self.space = self.workspace.house
        self.day = CLOCK.now().date()
        self.reviewer = Reviewer(View(self.workspace), self.space, lambda: self.day)
        self.task = task.task
        self.folder = root / "staging" / task.task
        self.first = self.examine()

    def examine(self) -> Examined:
        dossier = open_dossier(self.space, self.task, CLOCK)  # type: ignore[arg-type]
        return self.reviewer.examine(dossier, dossier.state.drafts[0])


@pytest.fixture
def case(make_service: Callable[..., Service], root: Path, tmp_path: Path) -> Case:
    return Case(make_service(script=SCRIPT), root, tmp_path)


def test_what_stayed_the_same_is_not_examined_twice(case: Case) -> None:
    assert case.first.findings == ()
    assert case.examine() is case.first


def test_a_changed_source_takes_the_quote_its_ground(case: Case) -> None:
    (case.folder / "inputs/cones.md").write_text("cone 6 at 1240\n")
    assert {finding.kind for finding in case.examine().findings} == {"quote"}


def test_a_changed_draft_is_told(case: Case) -> None:
    [draft] = (case.folder / "1/drafts").iterdir()
    draft.write_text(draft.read_text() + "And more.\n")
    assert {finding.kind for finding in case.examine().findings} == {"edited"}
    assert "And more." in case.examine().diff


def test_a_card_that_moved_on_shows_in_the_difference(case: Case, root: Path) -> None:
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("## Firing", "## Firing\n\nNew words."))
    assert "New words." in case.examine().diff


def test_a_new_index_line_in_the_drafts_place_is_bound(case: Case, root: Path) -> None:
    index = root / "projects/_index.md"
    index.write_text(index.read_text().replace("Firing", "Somebody's own words about firing"))
    assert case.examine() is not case.first


def test_the_next_day_is_another_ground(case: Case) -> None:
    case.day = case.day.replace(year=2027)
    assert case.examine() is not case.first


def test_a_card_of_its_id_on_the_other_shelf_is_known_once_the_reviewer_forgot(case: Case, root: Path) -> None:
    (root / "research/kiln.md").write_text("# Other\n")
    case.reviewer.forget()
    assert case.examine() is not case.first


def test_cards_and_index_lines_that_come_beside_it_change_nothing(case: Case, root: Path) -> None:
    index = root / "projects/_index.md"
    index.write_text(index.read_text() + "\n## [Glaze](glaze.md)\nstatus: active\n\n- [x](glaze.md#x) — X.\n")
    (root / "research/other.md").write_text("# Other\n")
    case.reviewer.forget()
    assert case.examine() is case.first
