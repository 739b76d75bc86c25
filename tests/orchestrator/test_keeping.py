"""Cards that are put to rest and brought back, through the service."""

from pathlib import Path

import pytest

from onepen.memory.index.index import IndexEntry, parse_index
from onepen.memory.snapshot import take
from onepen.memory.text.refusal import NothingToChange
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.errors import NoSuchCardHere
from onepen.orchestrator.requests import SearchRequest
from onepen.orchestrator.service import Service

KILN = "# Kiln\n\n## Firing\n\n- cold shelf\n\n## Hosting\n\nGandi.\n"


@pytest.fixture
def kiln(service: Service, root: Path) -> Service:
    """A project with a good entry for one of its two sections, and for a file."""
    service.add_project("Kiln", text=KILN)
    service.add_project("Roof")
    (root / "projects/kiln").mkdir()
    (root / "projects/kiln/log.csv").write_text("a,b\n")
    index = root / "projects/_index.md"
    lines = parse_index(index.read_text()).with_entry("kiln", IndexEntry("firing", "Cold.", ("shelf",)))
    lines = lines.with_entry("kiln", IndexEntry("log.csv", "All firings."), link="kiln/log.csv")
    index.write_text(lines.text)
    return service


def problems(service: Service) -> list[str]:
    return [problem.kind for problem in service.doctor().problems]


def test_an_archived_card_leaves_prompts_and_comes_back_as_it_was(kiln: Service, root: Path) -> None:
    before = (root / "projects/_index.md").read_text()
    done = kiln.archive("kiln")
    assert done.paths == ("projects/kiln.md", "projects/_index.md", "memory/2026-11-29.md")
    index = (root / "projects/_index.md").read_text()
    assert "## [Kiln](kiln.md)\nstatus: archived · updated: 2026-11-29\n\n## [Roof]" in index
    assert "kiln.md#" not in index and "kiln/log.csv" not in index
    view = View(open_workspace(root))
    assert "Kiln" not in take(view, view.workspace.house).text("projects.md")
    layer = next(file for layer in kiln.context().layers for file in layer.files if file.path == "projects/_index.md")
    assert "Kiln" not in layer.text and "1 archived card" in layer.text
    assert [hit.path for hit in kiln.search(SearchRequest("cold shelf")).hits][:1] == ["projects/kiln.md"]
    assert problems(kiln) == []
    kiln.log("the indexes are brought into line, and that changes nothing")
    assert (root / "projects/_index.md").read_text() == index
    kiln.archive("projects/kiln.md", undo=True)
    assert (root / "projects/_index.md").read_text() == before
    assert "status: active" in (root / "projects/kiln.md").read_text()
    assert problems(kiln) == []


def test_it_gets_back_the_status_that_it_had_and_no_line_for_what_is_gone(kiln: Service, root: Path) -> None:
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("status: active", "status: done"))
    kiln.archive("Kiln")
    (root / "projects/kiln/log.csv").unlink()
    card.write_text(card.read_text().replace("## Firing", "## Burning"))
    kiln.archive("kiln", undo=True)
    assert "status: done" in card.read_text()
    block = parse_index((root / "projects/_index.md").read_text()).card("kiln")
    assert block is not None
    assert [entry.section_id for entry in block.entries] == ["burning", "hosting"]


def test_a_hand_that_wrote_archived_is_enough(kiln: Service, root: Path) -> None:
    card = root / "projects/kiln.md"
    card.write_text(card.read_text().replace("status: active", "status: archived"))
    kiln.log("reconciles")
    view = View(open_workspace(root))
    assert "Kiln" not in take(view, view.workspace.house).text("projects.md")
    assert problems(kiln) == []
    kiln.archive("kiln", undo=True)
    assert "Kiln" in take(view, view.workspace.house).text("projects.md")


def test_what_is_so_already_is_said(kiln: Service) -> None:
    with pytest.raises(NothingToChange, match=r"projects/kiln\.md is not archived"):
        kiln.archive("kiln", undo=True)
    kiln.archive("kiln")
    with pytest.raises(NothingToChange, match="archived already"):
        kiln.archive("kiln")


def test_a_card_that_is_not_here_is_named_with_what_comes_closest(kiln: Service) -> None:
    kiln.add_client("Acme", id="acme")
    kiln.add_project("Glaze", client="acme")
    with pytest.raises(NoSuchCardHere, match="'klin': not in the house's own space; did you mean kiln") as caught:
        kiln.archive("klin")
    assert caught.value.hint == "onepen search klin"
    with pytest.raises(NoSuchCardHere) as caught:
        kiln.archive("glaze")
    assert caught.value.hint == "the same with --client acme"
    with pytest.raises(NoSuchCardHere, match="client acme's space"):
        kiln.archive("research/glaze.md", client="acme")
    assert kiln.archive("glaze", client="acme").paths[0] == "clients/acme/projects/glaze.md"
