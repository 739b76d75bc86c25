"""Field case 32, over the whole program: whatever a client's people and agents do, nothing of another comes out.

Two clients with equal names for everything, a real orchestrator for both, a model that asks for what is not its own.
"""

import inspect
import json
import re
from collections.abc import Iterator

import pytest

from onepen.orchestrator.chat.toolset import tools as main_tools
from onepen.orchestrator.commands.table import ROWS
from onepen.orchestrator.process.asked import DOWN, SHORT, WATCH, WORK
from onepen.subagents.toolbox.toolset import tools as sub_tools
from onepen.testing.messages_api import MessagesApi
from onepen.testing.warm import Warm
from tests.apart.paths import ACROSS, COMMANDS, HOUSE, MAIN_TOOLS, OPERATIONS, SUB_TOOLS
from tests.apart.stage import OUTSIDE, Curious, Day, begin, git, mark, tell, without_tricks

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    home = tmp_path_factory.mktemp("apart")
    with MessagesApi([Curious(home / "ws")], cache=True) as api, Warm(home, api.env) as onepen:
        begin(onepen, home / "ws")
        yield tell(onepen, api, home / "ws")


def test_each_way_out_is_named_and_tried() -> None:
    """Who adds a command, an operation or a tool adds it to the lists, too."""
    assert set(COMMANDS) == {row.name for row in ROWS if row.takes_client}
    assert set(HOUSE) == {row.name for row in ROWS if not row.takes_client}
    assert set(OPERATIONS) == {*SHORT, *WORK, DOWN, WATCH}
    assert set(OPERATIONS.values()) <= {row.name for row in ROWS}
    assert {tool.name for tool in main_tools()} == MAIN_TOOLS
    assert {tool.name for tool in sub_tools()} == SUB_TOOLS


def test_only_a_person_looks_over_all_clients_and_only_in_these_commands() -> None:
    assert {row.name for row in ROWS if "all_clients" in inspect.signature(row.run).parameters} == ACROSS


def test_nothing_of_another_client_is_shown(day: Day) -> None:
    assert {line.command for line in day.of("acme")} == set(COMMANDS)
    for line in day.of("acme"):
        assert mark("bolt") not in line.told, line
        assert "bolt" not in without_tricks(line.told).lower(), line
    for line in day.of("bolt"):
        assert mark("acme") not in line.told, line


def test_each_path_was_walked_and_not_only_refused(day: Day) -> None:
    """Else nothing would have been looked at."""
    told = ""
    for line in day.of("acme"):
        if not line.reaches:
            assert line.ran.code == 0, line
            told += line.command if mark("acme") in line.told else ""
    for command in ("delegate", "show", "ask", "chat", "search", "history", "why"):
        assert command in told, "it said what is the client's own"


def test_what_is_the_others_is_refused(day: Day) -> None:
    reached = [line for line in day.of("acme") if line.reaches]
    assert len(reached) > 15
    for line in reached:
        assert line.ran.code != 0, line


def test_no_request_holds_anything_of_another_client(day: Day) -> None:
    asked = day.requests["acme"]
    assert {kind for raw in asked for kind in _agents(raw)} == {"main", "researcher", "writer", "reviewer"}
    for raw in asked:
        assert mark("bolt") not in _without_calls(raw)
        assert "bolt" not in without_tricks(_without_calls(raw)).lower()


def _agents(raw: str) -> list[str]:
    system = json.dumps(json.loads(raw).get("system", ""))
    return re.findall(r'<agent id=\\+"([a-z-]+)\\+"', system) or ["main"]


def _without_calls(raw: str) -> str:
    """A request without what the model itself said, which is a stranger's and knows both names."""
    body = json.loads(raw)
    for message in body["messages"]:
        if message["role"] == "assistant":
            message["content"] = ""
    return json.dumps(body, ensure_ascii=False)


def test_no_file_of_a_client_holds_anything_of_another(day: Day) -> None:
    files = [path for path in (day.workspace / "clients/acme").rglob("*") if path.is_file()]
    kinds = {path.relative_to(day.workspace / "clients/acme").parts[0] for path in files}
    assert {"chats", "staging", "logs", "memory", "projects", "research"} <= kinds
    assert {"transcript.jsonl", "run.jsonl", "task.md", "review.md"} <= {path.name for path in files}
    for path in files:
        assert "bolt" not in path.name
        text = path.read_text(errors="replace")
        assert mark("bolt") not in text, path
        assert "bolt" not in without_tricks(text).lower(), path


def test_no_file_of_a_clients_batch_holds_anything_of_another(day: Day) -> None:
    (folder,) = {path.parent for path in day.workspace.glob("batches/*/batch.toml") if "acme" in path.read_text()}
    files = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert {"batch.toml", "tasks.jsonl", "run.jsonl", "input.csv", "report.md", "progress.svg"} <= set(files)
    assert any(name.startswith("context/acme/") for name in files) and "context/bolt" not in "".join(files)
    for name, text in files.items():
        assert mark("bolt") not in text, name
        assert "bolt" not in f"{name} {without_tricks(text)}".lower(), name


def test_no_commit_of_git_holds_two_clients(day: Day) -> None:
    """The mirror commits what one commit of memory changed, with a message of the same client."""
    rows = git(day.workspace, "log", "--format=%x00%B%x01", "--name-only").split("\0")[1:]
    ours = [row for row in rows if "clients/acme/" in row]
    assert len(ours) > 10
    for row in ours:
        message, _, names = row.partition("\x01")
        assert {"/".join(name.split("/")[:2]) for name in names.split()} == {"clients/acme"}, row
        assert "bolt" not in without_tricks(message).lower(), row


def test_the_orchestrators_log_holds_nothing_of_anybody(day: Day) -> None:
    log = (day.workspace / ".onepen/orchestrator.log").read_text()
    assert "turn" in log and "delegate" in log
    assert [who for who in ("house", "acme", "bolt") if mark(who) in log] == []


def test_of_the_house_a_prompt_gets_persona_rules_brief_and_registry_and_nothing_else(day: Day) -> None:
    for raw in day.requests["acme"]:
        (agent,) = _agents(raw)
        system = json.dumps(json.loads(raw).get("system", ""))
        of_the_house, own = (set(re.findall(f"{mark(who)} in ([A-Za-z.]+)", system)) for who in ("house", "acme"))
        if agent == "main":
            assert of_the_house == {"SOUL.md", "USER.md", "RULES.md", "OPS.md", "BRIEF.md"}
            assert own == {"PERSONA.md", "USER.md", "OPS.md", "BRIEF.md", "MEMORY.md", "synthesis.md"}
        else:
            assert of_the_house == own == {"OPS.md", "BRIEF.md"}
        assert ("agents/_index.md" in system) == (agent != "reviewer")
        assert mark("house") not in re.sub(f"{mark('house')} in [A-Z]", "", system)


_FENCE = re.compile(r"\[([0-9a-f]{16}) (?!end )[^\n]*\]\n.*?\n\[\1 end of [^\n]*\]", re.DOTALL)


def test_what_came_from_outside_stands_between_fences_and_never_in_rules_or_persona(day: Day) -> None:
    """Words of an input, on their way through a draft, a card, its index, the day log and a synthesis."""
    seen: set[str] = set()
    for raw in (raw for client in day.requests for raw in day.requests[client]):
        body = json.loads(raw)
        (agent,) = _agents(raw)
        places = {f"system {k}": block["text"] for k, block in enumerate(body.get("system", ()))}
        told = [block for m in body["messages"] if m["role"] == "user" for block in m["content"]]
        places |= {f"{b['type']} {k}": str(b.get("text", b.get("content"))) for k, b in enumerate(told)}
        for place, text in places.items():
            if OUTSIDE in text:
                seen.add(f"{agent} {place.split()[0]}")
                assert OUTSIDE not in _FENCE.sub("", text), (agent, place, text)
                assert (agent, place) not in {("main", "system 0"), ("main", "system 1")}
                assert agent == "main" or place != "system 0"
    assert seen >= {"main system", "main tool_result", "researcher tool_result", "researcher system", "reviewer text"}
