"""What a model gets wrong, and what it is told: one clear error each, and nothing done."""

from typing import Any

import pytest

from onepen.subagents.messages import ToolUse
from onepen.subagents.toolbox import toolinput
from onepen.subagents.toolbox.toolset import TOOLS, tools
from onepen.testing.bench import Bench

WRITE: dict[str, Any] = {"text": "# Glaze two\n\n## Matte\n\nx\n"}


@pytest.mark.parametrize(
    ("tool", "given", "told"),
    [
        ("write_draft", [], "write_draft: the input must be an object with text, target?, file?, edit?, section?"),
        ("write_draft", "glaze", 'not "glaze"'),
        ("write_draft", None, "not null"),
        ("write_draft", {}, "write_draft: text is missing; nothing was done"),
        ("write_draft", {"target": "projects/kiln.md"}, "text is missing"),
        ("write_draft", {**WRITE, "text": 3}, "write_draft: text must be a text"),
        ("write_draft", {**WRITE, "sources": "inputs/a.md"}, 'sources must be a list, such as ["glaze"]'),
        ("write_draft", {**WRITE, "edit": "overwrite"}, "edit: Input should be 'create', 'append', 'replace' or"),
        ("write_draft", {**WRITE, "txt": "x"}, "there is no txt; did you mean text? It takes text, target?"),
        ("write_draft", {**WRITE, "index": [{"section_id": "matte"}]}, "index[0].summary is missing"),
        ("write_draft", {**WRITE, "index": {"section_id": "matte"}}, "index must be a list"),
        ("write_draft", {**WRITE, "index": [{"section_id": "matte", "summary": "x", "keywords": "glaze"}]},
         'index[0].keywords must be a list, such as ["glaze"]'),
        ("write_draft", {**WRITE, "index": [{"section": "matte", "summary": "x"}]},
         "there is no index[0].section; did you mean section_id?"),
        ("write_draft", {**WRITE, "text": "a \ud83d b"}, "half a character"),
        ("propose_edit", {"card": "kiln", "old_text": "celadon", "new_te": "x"}, "new_text is missing"),
        ("propose_edit", {"card": "kiln", "old_text": "celadon", "new_text": "x"}, "index_entry is missing"),
        ("propose_edit", {"card": "kiln", "old_text": "celadon", "new_text": "x", "index_entry": "x"},
         "index_entry must be an object"),
        ("read_input", {"name": "cones.md", "start": "3"}, "start must be a whole number"),
        ("read_input", {"name": "cones.md", "start": 0}, "start: Input should be greater than or equal to 1"),
        ("read_card", {"card": ["kiln"]}, "card must be a text"),
        ("search", {"query": " "}, "query is empty"),
        ("report", {"summary": "done", "complete": "yes"}, "complete must be true or false"),
        ("report", {}, "summary is missing"),
        ("run_command", {"command": "ls"}, "run_command: this agent may not use it; its definition gives it: edit_dr"),
        ("run_command ", {"command": "ls"}, "there is no tool 'run_command '; yours are: edit_draft, propose_edit, "),
        ("Write_Draft", WRITE, "there is no tool"),
        ("", {}, "there is no tool ''"),
        ("x" * 500, {}, "there is no tool"),
    ],
)  # fmt: skip
def test_an_input_that_does_not_fit(bench: Bench, tool: str, given: Any, told: str) -> None:
    tools = bench.toolbox()
    refused = tools.refused(tool, given)
    assert told in refused
    assert len(refused) < 400
    assert bench.drafted() == {} and tools.toolbox.report is None and tools.asked == []


def test_three_mebibytes_of_text(bench: Bench) -> None:
    entry = {"section_id": "glaze", "summary": "x"}
    given = {"card": "kiln", "old_text": "celadon", "new_text": "x" * (3 << 20), "index_entry": entry}
    assert "far more than a draft may have" in bench.toolbox().refused("propose_edit", given)


def test_a_tool_that_this_agent_may_not_use(bench: Bench) -> None:
    tools = bench.toolbox(allowed=frozenset({"read_card"}))
    told = tools.refused("write_draft", WRITE)
    assert told == "write_draft: this agent may not use it; its definition gives it: read_card, report"
    assert bench.drafted() == {}
    tools.ok("read_card", card="kiln")
    tools.ok("report", summary="done")


def test_search_is_asked_of_the_orchestrator(bench: Bench) -> None:
    tools = bench.toolbox()
    assert tools.ok("search", query="cone 6", limit=3).startswith("inputs/cones.md:2")
    assert tools.asked == [("search", {"query": "cone 6", "limit": 3})]


def test_a_report_is_kept(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("report", summary="done", answer="1222", complete=False)
    assert tools.toolbox.report == toolinput.ReportInput(summary="done", answer="1222", complete=False)


def test_nulls_count_as_not_given(bench: Bench) -> None:
    bench.toolbox().ok("write_draft", **WRITE, section=None, index=None, sources=None, name=None, edit=None, title=None)
    assert list(bench.drafted()) == ["glaze-two.md"]


def test_results_name_their_call(bench: Bench) -> None:
    assert bench.toolbox().toolbox.run(ToolUse("u77", "search", {"query": "x"})).tool_use_id == "u77"


def test_the_set_is_sorted_and_the_same_each_time() -> None:
    assert [tool.name for tool in tools()] == sorted(tool.name for tool in tools())
    assert tools() == tools() == TOOLS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("edit_draft", toolinput.EditDraft),
        ("propose_edit", toolinput.ProposeEdit),
        ("read_card", toolinput.ReadCard),
        ("read_input", toolinput.ReadInput),
        ("report", toolinput.ReportInput),
        ("run_command", toolinput.RunCommand),
        ("search", toolinput.Search),
        ("write_draft", toolinput.WriteDraft),
    ],
)
def test_what_a_model_is_told_is_what_is_checked(name: str, kind: type[toolinput.ToolInput]) -> None:
    (spec,) = (tool for tool in TOOLS if tool.name == name)
    schema: Any = spec.input_schema
    assert set(schema["properties"]) == set(kind.model_fields)
    assert set(schema["required"]) == {name for name, field in kind.model_fields.items() if field.is_required()}
    entry = {
        "index": lambda: schema["properties"]["index"]["items"],
        "index_entry": lambda: schema["properties"]["index_entry"],
    }
    for field in entry.keys() & kind.model_fields.keys():
        assert set(entry[field]()["properties"]) == set(toolinput.Entry.model_fields)
