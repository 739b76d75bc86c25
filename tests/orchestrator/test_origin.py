"""Text from outside stays known as that: whatever it is copied into, whoever approves it, and under every new name."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.view import View
from onepen.orchestrator.origin import UNNAMED, Origins
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DraftView
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.setup import Setup
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, says

MakeService = Callable[..., Service]
ENTRY = {"section_id": "heat", "summary": "Cone 6 is reached at 1222 degrees.", "keywords": ["cone"]}


def script(*calls: tuple[str, dict[str, object]]) -> list[dict[str, object]]:
    """A writer that makes these calls, one a turn, and reports; a reviewer that always approves."""
    accept = {"tool": "verdict", "input": {"verdict": "accept", "reason": "fine"}}
    turns = [[{"tool": name, "input": given}] for name, given in calls]
    turns.append([{"tool": "report", "input": {"summary": "done"}}])
    rules: list[dict[str, object]] = [{"agent": "reviewer", "reply": [accept]}]
    return [*rules, *({"agent": "writer", "turn": k, "reply": reply} for k, reply in enumerate(turns, 1))]


def drafted(service: Service, **fields: object) -> DraftView:
    given = {"review": "auto", "model": "scripted:x", **fields}
    request = DelegateRequest(("How hot?",), ("writer",), **given)  # type: ignore[arg-type]
    [task] = anyio.run(partial(service.delegate, request)).tasks
    [draft] = task.drafts
    return draft


def origins(service: Service) -> Origins:
    space = service.workspace.house
    return Origins(space, tuple(reversed(service.history(limit=100).commits)))


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text("Cone 6 is reached at 1222 degrees.\n")
    return path


@pytest.fixture
def kiln(make_service: MakeService) -> None:
    make_service().add_project("Kiln", text="## Firing\n\nBought in 2019.\n")


READ: tuple[str, dict[str, object]] = ("read_input", {"name": "page.md"})


def write(text: str, **fields: object) -> tuple[str, dict[str, object]]:
    return "write_draft", {"text": text, **fields}


@pytest.fixture
def finding(make_service: MakeService, page: Path, kiln: None) -> str:
    """A finding made from a page: quoted, so that nobody but the reviewer was asked."""
    text = '## Heat\n\n> "Cone 6 is reached at 1222 degrees." (inputs/page.md:1)\n'
    service = make_service(script=script(READ, write(text, title="Heat", index=[ENTRY])))
    draft = drafted(service, inputs=(page,))
    assert (draft.status, draft.target) == ("committed", "research/heat.md")
    assert origins(service).external("research/heat.md") and not origins(service).external("projects/kiln.md")
    return draft.target


def test_what_a_worker_copies_from_such_a_card_is_from_outside(make_service: MakeService, finding: str) -> None:
    """T4: the second hand does not wash it clean; before, its draft counted as the agent's own and was committed."""
    words = write("Cone 6 needs 1222 degrees.\n", target="projects/kiln.md", edit="append", section="firing")
    service = make_service(script=script(("read_card", {"card": finding}), words))
    draft = drafted(service)
    assert (draft.provenance, draft.status) == ("external", "waiting") and "person" in draft.stages
    service.show(draft.id)
    assert service.approve([draft.id]).exit_code == 0
    assert origins(service).external("projects/kiln.md")
    [commit] = service.history(about="projects/kiln.md", limit=1).commits
    assert commit.sources == (finding,)


def test_so_is_what_it_saw_in_a_search(make_service: MakeService, finding: str) -> None:
    words = write("Cone 6 needs 1222 degrees.\n", target="projects/kiln.md", edit="append", section="firing")
    service = make_service(script=script(("search", {"query": "cone 6 reached degrees"}), words))
    assert drafted(service).provenance == "external"


def test_who_read_only_our_own_cards_writes_our_own(make_service: MakeService, finding: str) -> None:
    words = write("It is old.\n", target="projects/kiln.md", edit="append", section="firing")
    service = make_service(script=script(("read_card", {"card": "kiln"}), words))
    draft = drafted(service)
    assert (draft.provenance, draft.status) == ("agent", "committed")
    assert not origins(service).external("projects/kiln.md")


def test_citing_a_card_of_our_own_hides_no_page_that_was_read(
    make_service: MakeService, page: Path, kiln: None
) -> None:
    """A draft names its sources itself; what its transcript shows besides is added to the history."""
    service = make_service(script=script(READ, write("Hot.\n", title="Heat", sources=["projects/kiln.md:1"])))
    draft = drafted(service, inputs=(page,))
    service.show(draft.id)
    assert service.approve([draft.id]).exit_code == 0
    [commit] = service.history(about="research/heat.md", limit=1).commits
    assert commit.sources == ("projects/kiln.md:1", "inputs/page.md")
    assert origins(service).external("research/heat.md")


def test_a_draft_that_says_so_of_itself_is_believed(make_service: MakeService, root: Path, kiln: None) -> None:
    service = make_service(script=script(write("Hot.\n", title="Heat", sources=["projects/kiln.md:1"])))
    draft = drafted(service, review="person")
    path = root / draft.path
    path.write_text(path.read_text().replace("provenance: agent", "provenance: external"))
    service.show(draft.id)
    assert service.approve([draft.id]).exit_code == 0
    [commit] = service.history(about="research/heat.md", limit=1).commits
    assert commit.sources == ("projects/kiln.md:1", UNNAMED)


def test_what_a_chat_gives_away_after_reading_such_a_card_is_from_outside(
    root: Path, clock: FixedClock, make_service: MakeService, finding: str
) -> None:
    parlour = Parlour(root, clock, make_service())
    words = write("Copy reports.\n", target="projects/kiln.md", edit="append", section="firing")
    parlour.service = make_service(script=script(words), setup=Setup(model="scripted:x"))
    away = ("delegate", {"agent": "writer", "task": "Add what you are told"})
    parlour.turn("Look", says(("read_card", {"card": finding})), says(away), says("."))
    [draft] = parlour.service.drafts().drafts
    assert draft.provenance == "external"
    assert "external: true" in parlour.text(f"staging/{draft.task}/task.md").replace("'", "").replace('"', "")
    assert drafted(make_service(script=script(words)), review="person").provenance == "agent"


def test_a_new_name_does_not_wash_it_clean(make_service: MakeService, finding: str) -> None:
    service = make_service()
    service.rename("research/heat.md", "warmth")
    assert origins(service).external("research/warmth.md")


def test_a_history_that_grew_is_not_read_twice_and_tells_the_same(
    make_service: MakeService, finding: str, root: Path
) -> None:
    service = make_service()
    view = View(service.workspace)
    known = Origins(service.workspace.house, ())
    commits = tuple(reversed(service.history(limit=100).commits))
    for k in range(len(commits) + 1):
        known = known.now(commits[:k])
        fresh = Origins(view.workspace.house, commits[:k])
        assert known.external(finding) == fresh.external(finding)
    assert known.external(finding) and not known.now(commits[:1]).any
