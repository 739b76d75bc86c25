"""The workers' search: what a task may read, and nothing else."""

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import TaskId
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.service import Service
from onepen.orchestrator.tasks.lookup import Answer, Found, Lookup, parse_answer
from onepen.staging.folder import TaskFolder


@pytest.fixture
def lookup(root: Path, make_service: Callable[[], Service]) -> Lookup:
    service = make_service()
    service.add_project("Kiln", id="kiln", text="## Firing\n\nThe kiln mark is HOUSE-1.\n")
    service.add_client("Bolt", id="bolt")
    service.add_project("Kiln", client="bolt", id="kiln", text="## Firing\n\nThe kiln mark is BOLT-77.\n")
    service.log("the kiln mark is LOG-5")
    (root / "projects/kiln").mkdir()
    (root / "projects/kiln/prices.csv").write_text("item,price\nkiln mark,FILE-2\n")
    (root / "projects/link.md").symlink_to(root / "clients/bolt/projects/kiln.md")
    folder = TaskFolder(root / "staging/t1")
    folder.inputs.mkdir(parents=True)
    (folder.inputs / "notes.md").write_text("The kiln mark is INPUT-3.\n")
    (folder.inputs / "other.md").write_text("The kiln mark is UNDECLARED-4.\n")
    workspace = open_workspace(root)
    return Lookup(View(workspace), workspace.house, TaskFolder(workspace.house.staging(TaskId("t1"))), ("notes.md",))


def test_it_finds_cards_files_of_projects_and_inputs_and_nothing_else(lookup: Lookup) -> None:
    text, is_error, shown = lookup.tool({"query": "kiln mark"})
    assert not is_error
    assert {"HOUSE-1", "FILE-2", "INPUT-3"} <= set(text.replace(".", " ").replace(",", " ").split())
    for hidden in ("BOLT-77", "LOG-5", "UNDECLARED-4"):
        assert hidden not in text
    assert set(shown) == {"projects/kiln.md", "projects/kiln/prices.csv", "inputs/notes.md"}


@pytest.mark.parametrize(
    "path",
    ["MEMORY.md", "clients/bolt/projects/kiln.md", "projects/../MEMORY.md", "projects/link.md", "inputs/other.md",
     "inputs/../task.md", "/etc/passwd", "projects/_index.md", "projects/", "projects/none.md", ""],
)  # fmt: skip
def test_what_a_task_may_not_read_is_nothing_to_it(lookup: Lookup, path: str) -> None:
    assert lookup.read(path) is None


def test_bad_input_of_the_tool_is_an_error_that_names_the_field(lookup: Lookup) -> None:
    for given_, field in (({}, "query"), ({"query": " "}, "query"), ({"query": "x", "limit": 0}, "limit")):
        text, is_error, _ = lookup.tool(given_)
        assert is_error
        assert field in text


FINDING = """\
---
title: When was the kiln mark cut?
---
# When was the kiln mark cut?

## What I found

> "The kiln mark is INPUT-3." (inputs/notes.md:1)

> "The kiln mark was cut by Ida." (inputs/gone.md:7)

Not found in what I read:
- engraver
"""
SECOND = """\
# Who cut it?

## What I found

> ""The kiln mark was cut by Ida." (inputs/gone.md:7)" (research/first.md:10)
"""


def test_of_a_finding_only_quotes_count_and_of_those_only_what_stands_nowhere_else(root: Path, lookup: Lookup) -> None:
    (root / "research").mkdir(exist_ok=True)
    (root / "research/first.md").write_text(FINDING)
    (root / "research/second.md").write_text(SECOND)
    found = lookup.find("When was the kiln mark cut, and which engraver?", 40)
    places = [(place.path, place.line, place.text) for place in found.places if place.path.startswith("research/")]
    assert places == [("research/first.md", 10, "The kiln mark was cut by Ida.")]
    assert found.missing == ("engraver",)


def test_inputs_come_before_cards_that_say_the_same(lookup: Lookup) -> None:
    places = lookup.find("What is the kiln mark?").places
    assert [place.path for place in places][:2] == ["inputs/notes.md", "projects/kiln.md"]


def test_the_card_that_is_written_is_no_source(root: Path, lookup: Lookup) -> None:
    assert "projects/kiln.md" in {place.path for place in lookup.find("kiln mark").places}
    workspace = open_workspace(root)
    folder = TaskFolder(workspace.house.staging(TaskId("t1")))
    other = Lookup(View(workspace), workspace.house, folder, ("notes.md",), "projects/kiln.md")
    assert "projects/kiln.md" not in {place.path for place in other.find("kiln mark").places}


def test_two_thousand_lines_are_searched_in_a_second(lookup: Lookup, root: Path) -> None:
    rows = [
        f"- Entry {k}: the kiln of hall {k % 7} was fired to cone {k % 11} and nothing broke." for k in range(2_000)
    ]
    rows[1_234] = "- The lid of the Rohde was cracked by a curious visitor."
    (root / "staging/t1/inputs/notes.md").write_text("\n".join(rows))
    start = perf_counter()
    assert lookup.find("Who cracked the lid of the Rohde kiln?").places[0].line == 1_235
    assert perf_counter() - start < 3  # a tenth of that on a quiet machine


def test_words_that_stand_nowhere_are_listed(lookup: Lookup) -> None:
    assert lookup.find("kiln Mongolia").missing == ("Mongolia",)


PLACES = st.builds(
    Found,
    st.integers(0, 100).map(lambda n: n / 100),
    st.integers(0, 100).map(lambda n: n / 100),
    st.sampled_from(("inputs/a b.md", "projects/kiln.md", "inputs/ü:1.md")),
    st.integers(1, 10_000),
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=40),
)


@given(places=st.lists(PLACES, max_size=5), missing=st.lists(st.sampled_from(("Mongolia", "über")), max_size=2))
def test_an_answer_reads_back_as_it_was_written(places: list[Found], missing: list[str]) -> None:
    answer = Answer(tuple(places), tuple(dict.fromkeys(missing)), 3, 120)
    assert parse_answer(answer.render()) == answer
