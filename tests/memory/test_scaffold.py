import tomllib
from datetime import date
from pathlib import Path

import pytest

from onepen.memory.exam.doctor import examine
from onepen.memory.ids import AgentId, BadTitle, ClientId
from onepen.memory.scaffold import SHIPPED_AGENTS, init, plan_agent, plan_client, plan_workspace, shipped
from onepen.memory.settings import LimitSettings, parse_settings
from onepen.memory.text.frontmatter import parse_front_matter
from onepen.memory.tokens import estimate
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace

TODAY = date(2026, 11, 29)


def made(root: Path) -> tuple[str, ...]:
    return init(root, id="abcdefgh", name="Kiln House", today=TODAY)


def test_a_new_workspace_opens_and_has_nothing_to_report(tmp_path: Path) -> None:
    paths = made(tmp_path / "a" / "ws")
    workspace = open_workspace(tmp_path / "a" / "ws")
    assert workspace.settings.name == "Kiln House"
    assert {"onepen.toml", "RULES.md", "OPS.md", "projects/_index.md", "agents/RULES.md", ".gitattributes"} <= set(
        paths
    )
    assert examine(View(workspace)) == ()


def test_every_agent_stands_in_the_registry_with_what_it_is_for(tmp_path: Path) -> None:
    made(tmp_path)
    registry = (tmp_path / "agents/_index.md").read_text()
    for agent in SHIPPED_AGENTS:
        front = parse_front_matter((tmp_path / f"agents/{agent}.md").read_text())
        assert front.problem is None
        assert front.text("name") == agent
        assert (front.text("description") or "missing") in registry


def test_only_the_researcher_can_be_done_without_a_model() -> None:
    offline = [a for a in SHIPPED_AGENTS if parse_front_matter(shipped(f"agents/{a}.md")).values.get("onepen")]
    assert offline == ["researcher"]


def test_a_second_init_makes_only_what_is_missing(tmp_path: Path) -> None:
    made(tmp_path)
    (tmp_path / "SOUL.md").write_bytes(b"mine\r\n")
    (tmp_path / "BRIEF.md").unlink()
    before = (tmp_path / "onepen.toml").read_bytes()
    assert made(tmp_path) == ("BRIEF.md",)
    assert (tmp_path / "SOUL.md").read_bytes() == b"mine\r\n"
    assert (tmp_path / "onepen.toml").read_bytes() == before


def test_a_folder_with_agents_md_opens_as_it_is(tmp_path: Path) -> None:
    theirs = {"AGENTS.md": "rules", "SOUL.md": "soul", "MEMORY.md": "memory", "TOOLS.md": "tools"}
    for name, text in theirs.items():
        (tmp_path / name).write_text(text)
    assert "OPS.md" not in made(tmp_path)
    assert not (tmp_path / "OPS.md").exists()
    assert {name: (tmp_path / name).read_text() for name in theirs} == theirs


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/SOUL.md").symlink_to(tmp_path / "dotfiles-soul.md")
    assert "SOUL.md" not in made(tmp_path / "ws")
    assert not (tmp_path / "dotfiles-soul.md").exists()


def test_new_files_are_for_their_owner_only(tmp_path: Path) -> None:
    made(tmp_path / "ws")
    assert (tmp_path / "ws").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "ws").rglob("*"))


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash", "Müller", "窯 🐙", ""])
def test_a_name_of_any_kind_is_kept(name: str) -> None:
    [toml] = [p for p in plan_workspace(lambda _: False, "abcdefgh", name, TODAY) if p.path == "onepen.toml"]
    assert tomllib.loads(toml.data.decode())["name"] == name


def test_a_name_of_two_lines_is_refused() -> None:
    with pytest.raises(BadTitle):
        plan_workspace(lambda _: False, "abcdefgh", "a\nid = 1", TODAY)


def test_a_client_has_the_shape_of_a_space() -> None:
    planned = {p.path: p.data.decode() for p in plan_client(ClientId("mueller"), "Müller & Söhne")}
    assert set(planned) == {
        *("PERSONA.md", "USER.md", "OPS.md", "BRIEF.md", "MEMORY.md"),
        *("projects/_index.md", "research/_index.md"),
    }
    assert planned["USER.md"].startswith("# Müller & Söhne\n")


def test_an_agent_of_ones_own_begins_as_a_readable_definition() -> None:
    planned = plan_agent(AgentId("poet"), "Rhymes: on demand", None)
    front = parse_front_matter(planned.data.decode())
    assert planned.path == "agents/poet.md"
    assert (front.text("name"), front.text("description")) == ("poet", "Rhymes: on demand")


def test_a_given_definition_is_kept_to_the_byte() -> None:
    text = "---\nname: Poet\r\ntools: Read\n---\nbody without end"
    assert plan_agent(AgentId("poet"), "Poet", text).data == text.encode()


def test_git_keeps_the_lines_of_both_sides_and_leaves_the_machine_room_out(tmp_path: Path) -> None:
    made(tmp_path)
    attributes = (tmp_path / ".gitattributes").read_text()
    for place in ("/memory/[0-9]*-*.md", "/logs/*.jsonl", "/clients/*/memory/[0-9]*-*.md", "/clients/*/logs/*.jsonl"):
        assert f"{place} merge=union" in attributes
    assert ".onepen/" in (tmp_path / ".gitignore").read_text().splitlines()


def test_the_shipped_texts_are_short() -> None:
    """They are read with every call: all that the main agent and a sub-agent start with fits in 2,500 tokens."""
    main = ("SOUL.md", "USER.md", "RULES.md", "OPS.md", "BRIEF.md", "MEMORY.md", "agents/RULES.md")
    assert sum(estimate(shipped(name)) for name in main) <= 1_700
    assert all(estimate(shipped(f"agents/{agent}.md")) <= 400 for agent in SHIPPED_AGENTS)


def test_the_rules_name_the_tools_that_a_worker_has() -> None:
    rules = shipped("agents/RULES.md")
    for tool in ("search", "read_card", "read_input", "write_draft", "propose_edit", "edit_draft", "report"):
        assert f"`{tool}`" in rules
    assert '> "exact text" (path:line)' in rules


def test_the_limits_that_a_new_workspace_tells_of_are_those_that_hold() -> None:
    [toml] = [p for p in plan_workspace(lambda _: False, "abcdefgh", "", TODAY) if p.path == "onepen.toml"]
    text = toml.data.decode()
    told = text[text.index("\n# [limits]\n") :].replace("\n# ", "\n")
    said = tomllib.loads(told)["limits"]
    assert said == {name: value for name, value in LimitSettings().model_dump().items() if name in said}
    assert {"task_usd", "day_usd", "client_day_usd", "task_tokens", "day_tokens"} == set(said)
    assert parse_settings(text + 'timezone = "Europe/Berlin"\n[limits]\nturns = 5\n').limits.turns == 5
