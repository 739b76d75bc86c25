"""Drafts that wait for the same card: they are listed as such, and shown one against the other."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onepen.orchestrator.beside import marked, same_place
from onepen.orchestrator.results import DraftView
from onepen.testing.program import Program

KILN = "# Kiln\n\n## Firing\n\n- fire at 1200\n\n## Glaze\n\n- celadon\n"


def proposes(word: str, section: str, old: str, new: str) -> list[dict[str, Any]]:
    """Two replies: an edit of the kiln's card, then the report."""
    entry = {"section_id": section, "summary": f"Now {new}.", "keywords": [word]}
    edit = {"card": "kiln", "section": section, "old_text": old, "new_text": new, "index_entry": entry}
    return [
        {"contains": word, "turn": 1, "reply": [{"tool": "propose_edit", "input": edit}]},
        {"contains": word, "turn": 2, "reply": [{"tool": "report", "input": {"summary": "done"}}]},
    ]


RULES = [
    *proposes("hotter", "firing", "1200", "1220"),
    *proposes("colder", "firing", "1200", "1180"),
    *proposes("glossy", "glaze", "celadon", "shino"),
]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    onepen = Program(tmp_path_factory.mktemp("beside"))
    onepen.ok("init", "ws")
    onepen.ok("add", "project", "Kiln", "--from", "-", "-C", "ws", stdin=KILN)
    (onepen.home / "script.json").write_text(json.dumps(RULES))
    model = f"scripted:{onepen.home / 'script.json'}"
    said = onepen.ok("delegate", "hotter", "colder", "glossy", "--project", "kiln", "--model", model, "-C", "ws")
    (onepen.home / "said").write_text(said.out)
    onepen.ok("down", "--now", "-C", "ws")
    return onepen.home


@pytest.fixture
def onepen(begun: Path, tmp_path: Path) -> Iterator[Program]:
    shutil.copytree(begun, tmp_path / "copy")
    onepen = Program(tmp_path / "copy")
    yield onepen
    onepen("down", "--now", "-C", "ws")


def by_word(onepen: Program) -> dict[str, Any]:
    """The drafts that wait, by the words of their tasks."""
    tasks = {task["task"]: task["text"] for task in onepen.json("status", "-C", "ws")["tasks"]}
    return {tasks[draft["task"]]: draft for draft in onepen.json("drafts", "-C", "ws")["drafts"]}


def test_the_list_marks_drafts_for_the_same_card(onepen: Program) -> None:
    drafts = by_word(onepen)
    assert {word: len(draft["beside"]) for word, draft in drafts.items()} == {"hotter": 2, "colder": 2, "glossy": 2}
    same = {other["id"]: other["same"] for other in drafts["hotter"]["beside"]}
    assert same == {drafts["colder"]["id"]: "section", drafts["glossy"]["id"]: "elsewhere"}
    assert all("diff" not in other for other in drafts["hotter"]["beside"])
    listed = onepen.ok("drafts", "-C", "ws").out.splitlines()
    [line] = [line for line in listed if line.startswith(drafts["hotter"]["id"])]
    assert {"beside", drafts["colder"]["id"], drafts["glossy"]["id"]} <= set(line.replace(",", "").split())


def test_delegate_says_so_at_its_end(onepen: Program) -> None:
    said = (onepen.home / "said").read_text()
    assert said.count(", which go to the same target") == 3, "each is beside two others"


def test_show_sets_one_against_the_other(onepen: Program) -> None:
    drafts = by_word(onepen)
    hotter, colder, glossy = (drafts[word]["id"] for word in ("hotter", "colder", "glossy"))
    text = onepen.ok("show", hotter, "-C", "ws").out
    assert f"{colder} by researcher waits for section firing, too (replace)" in " ".join(text.split())
    between = text.split(f"With {colder} in the place of this draft:\n")[1].split("\nNext")[0]
    assert f"--- projects/kiln.md with {hotter}\n+++ projects/kiln.md with {colder}\n" in between
    assert "-- fire at 1220\n+- fire at 1180\n" in between and "celadon" not in between.split("@@")[0]
    assert f"{glossy} by researcher waits for section glaze of it (replace)" in " ".join(text.split())
    assert f"With {glossy}" not in text, "both can stand"
    assert text.rstrip().endswith(f"onepen approve {hotter}, or edit, send-back -m, reject -m")


def test_what_was_approved_is_no_longer_beside_and_the_other_is_examined_anew(onepen: Program) -> None:
    drafts = by_word(onepen)
    hotter, colder, glossy = (drafts[word]["id"] for word in ("hotter", "colder", "glossy"))
    for id_ in (hotter, colder, glossy):
        onepen.ok("show", id_, "-C", "ws")
    onepen.ok("approve", hotter, "-C", "ws")
    [late] = onepen.json("show", colder, "-C", "ws")["drafts"]
    assert [other["id"] for other in late["beside"]] == [glossy]
    assert any(finding["level"] == "block" for finding in late["findings"])
    assert onepen("approve", colder, "-C", "ws").code == 1
    assert onepen("approve", glossy, "-C", "ws").code == 0, "what goes elsewhere in the card is not touched by it"


def test_drafts_that_come_to_the_same_are_told_as_such(onepen: Program) -> None:
    drafts = by_word(onepen)
    file = onepen.home / "ws" / drafts["colder"]["path"]
    file.write_text(file.read_text().replace("1180", "1220"))
    text = onepen.ok("show", drafts["hotter"]["id"], "-C", "ws").out
    assert f"With {drafts['colder']['id']} in the place of this draft it would read the same." in text


def test_a_draft_whose_target_was_changed_by_hand_is_found_where_it_goes_now(onepen: Program) -> None:
    drafts = by_word(onepen)
    file = onepen.home / "ws" / drafts["glossy"]["path"]
    file.write_text(file.read_text().replace("target: projects/kiln.md", "target: research/kiln.md"))
    [shown] = onepen.json("show", drafts["hotter"]["id"], "-C", "ws")["drafts"]
    assert [other["id"] for other in shown["beside"]] == [drafts["colder"]["id"]]


def view(id_: str, **changes: Any) -> DraftView:
    given: dict[str, Any] = {
        "task": "t", "agent": "writer", "client": None, "target": "projects/kiln.md", "status": "waiting",
        "provenance": "agent", "findings": (), "created": "", "sha256": "", "path": "",
    }  # fmt: skip
    return DraftView(id_, **{**given, **changes})


def test_only_drafts_that_wait_for_one_target_of_one_client_are_beside_each_other() -> None:
    views = marked(
        (
            view("a"),
            view("b"),
            view("c", client="acme"),
            view("d", status="committed"),
            view("e", target="projects/oven.md"),
            view("f", target=""),
            view("g", target=""),
        )
    )
    assert {one.id: [other.id for other in one.beside] for one in views if one.beside} == {"a": ["b"], "b": ["a"]}


def test_a_whole_card_is_no_section() -> None:
    assert [same_place(*pair) for pair in ((None, None), ("x", None), ("x", "y"), ("x", "x"))] == [
        "target", "target", "elsewhere", "section",
    ]  # fmt: skip


def test_of_several_tasks_delegate_tells_each_end_once(onepen: Program) -> None:
    (onepen.home / "wait.json").write_text(json.dumps([{**RULES[0], "delay": 1.0}, *RULES[1:]]))
    model = f"scripted:{onepen.home / 'wait.json'}"
    said = onepen.ok("delegate", "hotter", "glossy", "--project", "kiln", "--model", model, "-C", "ws").err
    ends = [line.split(" ", 2)[2] for line in said.splitlines() if "in_review" in line]
    assert ends[0] == "in_review, 1 draft (1 of 2 done)" and len(ends) == 2
