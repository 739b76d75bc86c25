import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.commit.reach import may_write
from onepen.memory.ids import AgentId, ClientId
from onepen.memory.scaffold import plan_agent, plan_client


@pytest.mark.parametrize(
    "path",
    ["projects/kiln.md", "research/cone-6.md", "projects/_index.md", "projects/kiln/sales/launch.csv", "MEMORY.md",
     "PERSONA.md", "BRIEF.md", "agents/poet.md", "agents/_index.md", "agents/RULES.md", "memory/2026-11-30.md",
     "memory/synthesis.md", "logs/commits-2026-11.jsonl", "logs/seals-2026-11.jsonl", "clients/acme/research/x.md",
     "clients/acme/logs/commits-2026-11.jsonl"],
)  # fmt: skip
def test_the_files_of_memory_are_written(path: str) -> None:
    assert may_write(path)


@pytest.mark.parametrize(
    "path",
    [".git/config", ".git/hooks/pre-commit", ".onepen/redo/log", ".gitattributes", ".gitignore", "onepen.toml",
     "Makefile", "../x.md", "projects/../.git/config", "/etc/passwd", "projects/kiln/.git/config", "projects//x.md",
     "projects/Kiln.md", "clients/acme/.git/config", "clients/../MEMORY.md", "clients/acme",
     "clients/acme/clients/b/MEMORY.md", "staging/t1/task.md", "chats/x.jsonl", "logs/usage-2026-11.jsonl",
     "memory/notes.md", "agents/x/y.md",
     "agents/CLAUDE.md", "projects/kiln/a\n.md", "MEMORY.md\n", "projects/kiln/.envrc", "", "README.md", ".envrc"],
)  # fmt: skip
def test_nothing_else_is(path: str) -> None:
    assert not may_write(path)


def test_what_a_client_and_an_agent_begin_with_is_written() -> None:
    planned = [f"clients/acme/{p.path}" for p in plan_client(ClientId("acme"), "Acme")]
    planned.append(plan_agent(AgentId("poet"), "Poet", None).path)
    assert all(may_write(path) for path in planned)


@given(st.lists(st.sampled_from(["..", ".", "", ".git", ".onepen", "projects", "kiln", "clients", "acme", "a.md"])))
def test_no_path_that_is_written_leads_up_or_into_a_hidden_folder(parts: list[str]) -> None:
    path = "/".join(parts)
    if may_write(path):
        assert not any(part == "" or part.startswith(".") for part in parts)
