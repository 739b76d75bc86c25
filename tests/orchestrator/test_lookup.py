"""The workers' search: what a task may read, and nothing else."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import TaskId
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.lookup import Answer, Found, Lookup, parse_answer
from onepen.orchestrator.service import Service
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
