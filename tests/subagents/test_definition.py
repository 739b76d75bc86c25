from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import AgentId
from onepen.subagents.definition import DRAFTING, READING, SAFE_TOOLS, AgentDefinition, NoSuchAgent, parse_definition


def defined(text: str) -> AgentDefinition:
    return parse_definition(AgentId("poet"), dedent(text))


def test_a_sub_agent_file_of_claude_code() -> None:
    poet = defined("""\
        ---
        name: poet
        description: "Writes verse: short ones"
        tools: Read, Grep, Glob, Write
        model: haiku
        maxTurns: 12
        color: green
        onepen:
          offline: true
        ---

        You write verse.

        ---
        Never prose.
        """)
    assert poet.description == "Writes verse: short ones"
    assert poet.tools == SAFE_TOOLS
    assert (poet.model, poet.max_turns, poet.offline) == ("haiku", 12, True)
    assert poet.prompt == "You write verse.\n\n---\nNever prose."
    assert dict(poet.extra) == {"color": "green"}
    assert poet.notices == () and poet.asks == frozenset()


@pytest.mark.parametrize(
    ("tools", "mine", "asks"),
    [
        ("tools: Read", READING, set()),
        ("tools: [Write, Edit]", DRAFTING, set()),
        ("tools:\n  - Read\n  - Bash(git status:*)", READING, {"run_command"}),
        ("tools: WebSearch, WebFetch, Bash", set(), {"web_search", "web_fetch", "run_command"}),
        ("tools: read_card, write_draft", {"read_card", "write_draft"}, set()),
        ("tools: '*'", SAFE_TOOLS, set()),
        ("tools:", SAFE_TOOLS, set()),
        ("model: opus", SAFE_TOOLS, set()),
        ("tools: []", set(), set()),
        ("tools: Read\ndisallowedTools: [search]", READING - {"search"}, set()),
        ("disallowedTools: Write", SAFE_TOOLS - DRAFTING, set()),
        ("disallowedTools: report", SAFE_TOOLS, set()),
    ],
)
def test_tools_are_mapped(tools: str, mine: frozenset[str], asks: set[str]) -> None:
    poet = defined(f"---\n{tools}\n---\nx\n")
    assert poet.tools == set(mine) | {"report"}
    assert poet.asks == asks
    assert poet.notices == ()


def test_tools_that_mean_nothing_here_are_named() -> None:
    poet = defined("---\ntools: Task, mcp__github__search, Read\n---\nx\n")
    assert poet.tools == READING | {"report"}
    assert poet.notices == ("tools that onepen doesn't have: Task, mcp__github__search",)


@pytest.mark.parametrize(("turns", "right"), [("1", 1), ("40", 40), ("99999", 1000)])
def test_turns(turns: str, right: int) -> None:
    assert defined(f"---\nmaxTurns: {turns}\n---\n").max_turns == right


@pytest.mark.parametrize("turns", ["0", "-1", "lots", "1.5", "1e3"])
def test_turns_that_are_no_number_are_said(turns: str) -> None:
    poet = defined(f"---\nmaxTurns: {turns}\n---\n")
    assert poet.max_turns is None
    assert len(poet.notices) == 1 and turns in poet.notices[0]


def test_front_matter_that_is_no_strict_yaml_is_read_line_by_line() -> None:
    poet = defined("""\
        ---
        name: poet
        description: Use this when: the user asks for verse: always. <example>a: b</example>
        tools: Read, Write
        maxTurns: 3
        ---
        You write verse.
        """)
    assert poet.description.startswith("Use this when: the user asks")
    assert poet.tools == SAFE_TOOLS and poet.max_turns == 3
    assert poet.prompt == "You write verse."
    assert "read line by line" in poet.notices[0]


def test_a_file_without_front_matter_is_a_prompt() -> None:
    poet = defined("You write verse.\n")
    assert (poet.prompt, poet.tools, poet.model) == ("You write verse.", SAFE_TOOLS, "inherit")


def test_a_block_that_is_never_closed_is_said() -> None:
    poet = defined("---\nname: poet\nYou write verse.\n")
    assert "You write verse." in poet.prompt and len(poet.notices) == 1


@pytest.mark.parametrize(
    ("own", "offline"),
    [("onepen: {offline: true}", True), ("onepen: {offline: false}", False), ("onepen: {}", False), ("a: b", False)],
)
def test_offline(own: str, offline: bool) -> None:
    assert defined(f"---\n{own}\n---\n").offline is offline


@given(st.text() | st.builds("---\n{}\n---\n{}".format, st.text(), st.text()))
def test_no_text_makes_it_fail_or_gives_more_than_the_safe_tools(text: str) -> None:
    poet = parse_definition(AgentId("poet"), text)
    assert {"report"} <= poet.tools <= SAFE_TOOLS


def test_an_unknown_agent_is_told_who_there_is() -> None:
    fault = NoSuchAgent("poet", ["writer", "researcher"])
    assert str(fault) == "agent poet: not in agents/ (known: researcher, writer) (next: onepen add agent TITLE)"
    assert fault.exit_code == 2
