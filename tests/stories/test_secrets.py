"""Keys and passwords in notes, cards, drafts, inputs and environments: none becomes memory, none is repeated."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from onepen.subagents.environment import ALLOWED, FIXED
from onepen.testing.messages_api import MessagesApi
from onepen.testing.program import Program

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIFAKEFAKEFAKEFAKE\n-----END RSA PRIVATE KEY-----"
VALUES = {
    "an Anthropic key": "sk-ant-api03-" + "FAKE" * 20 + "FA",
    "an AWS access key id": "AKIAFAKEFAKEFAKE0000",
    "a GitHub token": "ghp_" + "F" * 36,
    "a private key": PEM,
    "a named password": "password: hunter2-fake",
    "a password in a URL": "https://u:p4ss@host",
}
CORES = {
    "a private key": "MIIFAKE",
    "a named password": "hunter2",
    "a password in a URL": "p4ss",
    "an Anthropic key": "FAKEFAKE",
    "an AWS access key id": "AKIAFAKE",
    "a GitHub token": "FFFFFFFF",
}


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    program.ok("init", "ws")
    return program


def holding(folder: Path, value: str) -> set[str]:
    """The files below a folder that hold a text."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in files if value.encode() in path.read_bytes()}


@pytest.mark.parametrize("kind", VALUES)
def test_no_door_lets_a_secret_in(onepen: Program, kind: str) -> None:
    value, core, ws = VALUES[kind], CORES[kind], onepen.home / "ws"
    (onepen.home / "card.md").write_text(f"# Hosting\n\nThe login.\n\n{value}\n")
    one_line = " ".join(value.split())
    note = ("log", f"the login is {one_line}")
    ran = onepen(*note, cwd=ws)
    assert ran.code == 2 and f"the day log's line: this looks like {kind}" in ran.err and "--allow-secret" in ran.err
    assert core not in ran.out + ran.err
    for what in ("project", "research")[: 2 if kind == "a private key" else 1]:
        ran = onepen("add", what, "Hosting", "--from", onepen.home / "card.md", "--json", cwd=ws)
        error = ran.json["error"]
        assert f"/hosting.md, the new text, line 5: this looks like {kind}" in error["message"]
        assert (ran.code, error["exit_code"]) == (2, 2) and "--allow-secret" in error["hint"]
        assert core not in ran.out + ran.err
    assert holding(ws, core) == set()
    onepen.ok(*note, "--allow-secret", cwd=ws)
    assert any(path.startswith("memory/") for path in holding(ws, core))
    assert len(onepen.json("history", cwd=ws)["commits"]) == 1


def script(onepen: Program, *replies: list[dict[str, object]], agent: str) -> str:
    """A scripted model that says these things in turn, for one agent."""
    rules = [{"agent": agent, "turn": n, "reply": reply} for n, reply in enumerate(replies, 1)]
    file = onepen.home / f"{agent}.json"
    file.write_text(json.dumps(rules))
    return f"scripted:{file}"


@pytest.mark.parametrize("kind", VALUES)
def test_a_chat_that_is_to_remember_one_says_where_it_stands_all_the_same(onepen: Program, kind: str) -> None:
    value, core, ws = VALUES[kind], CORES[kind], onepen.home / "ws"
    entry = {"section_id": "login", "summary": "The login.", "keywords": ["login"]}
    card = {"project": "hosting", "old_text": "", "new_text": f"## Login\n\n{value}\n", "index_entry": entry}
    calls: list[dict[str, object]] = [
        {"tool": "write_memory_card", "input": card},
        {"tool": "log_event", "input": {"text": f"the login is {' '.join(value.split())}"}},
        {"tool": "delegate", "input": {"agent": "researcher", "task": f"find who uses {value}"}},
    ]
    if len(value) <= 150 and kind != "a password in a URL":  # an index line takes no address and no long line anyway
        hidden = {**card, "new_text": "## Login\n\nIn the store.\n", "index_entry": {**entry, "summary": value}}
        calls.append({"tool": "write_memory_card", "input": hidden})
    model = script(onepen, calls, [{"text": "That I may not keep."}], agent="main")
    ran = onepen("ask", f"Remember: {value}", "--model", model, "--foreground", cwd=ws)
    assert ran.code == 0, ran
    told = " ".join(ran.err.split())
    assert f"your message holds {kind}" in told and "stands in chats/" in told and core not in ran.out + ran.err
    assert holding(ws, core) and all(path.startswith("chats/") for path in holding(ws, core))
    assert not list((ws / "logs").glob("commits-*"))


@pytest.mark.parametrize("kind", VALUES)
def test_a_worker_drafts_none_and_its_report_names_the_kind(onepen: Program, kind: str) -> None:
    value, core, ws = VALUES[kind], CORES[kind], onepen.home / "ws"
    text = f"# Login\n\n## Where\n\n{value}\n"
    clean = "# Login\n\n## Where\n\nIn the store.\n"
    index = [{"section_id": "where", "summary": " ".join(value.split())[:190], "keywords": ["login"]}]
    model = script(
        onepen,
        [{"tool": "write_draft", "input": {"title": "Login", "text": text}}],
        [{"tool": "write_draft", "input": {"title": "Login", "text": clean, "index": index}}],
        [{"tool": "report", "input": {"summary": f"Found {value}", "answer": f"It is {value}."}}],
        agent="researcher",
    )
    (task,) = onepen.json("delegate", "Where is the login?", "--model", model, "--foreground", cwd=ws)["tasks"]
    (draft,) = task["drafts"]  # made of the answer
    assert f"[{kind}]" in task["answer"] and core not in json.dumps(task)
    assert holding(ws, core) == {f"staging/{task['task']}/1/transcript.jsonl"}
    onepen.ok("approve", draft["id"], "--sha256", draft["sha256"], cwd=ws)
    assert f"[{kind}]" in (ws / draft["target"]).read_text()
    assert holding(ws, core) == {f"staging/{task['task']}/1/transcript.jsonl"}


@pytest.mark.parametrize("kind", VALUES)
def test_what_lies_in_an_input_is_not_quoted(onepen: Program, kind: str) -> None:
    value, core, ws = VALUES[kind], CORES[kind], onepen.home / "ws"
    (onepen.home / "hosting.md").write_text(f"The hosting login is {value}\n\nHosting moved to Hetzner in May.\n")
    words = ("delegate", "What is the hosting login?", "--input", "../hosting.md", "--foreground")
    (task,) = onepen.json(*words, cwd=ws)["tasks"]
    assert core not in json.dumps(task)
    assert holding(ws, core) == {f"staging/{task['task']}/inputs/hosting.md"}


def test_a_task_and_a_reason_are_looked_through_too(onepen: Program) -> None:
    ws = onepen.home / "ws"
    (onepen.home / "cones.md").write_text("Cone 6 was reached on 3 November.\n")
    ran = onepen("delegate", "Log in with password: hunter2-fake", cwd=ws)
    assert ran.code == 2 and "the task: this looks like a named password" in ran.err and "--allow-secret" in ran.err
    assert not (ws / "staging").exists()
    (task,) = onepen.json("delegate", "When was cone 6 reached?", "--input", "../cones.md", cwd=ws)["tasks"]
    draft = task["drafts"][0]["id"]
    assert onepen("reject", draft, "-m", "password: hunter2-fake", cwd=ws).code == 2
    assert holding(ws, "hunter2") == set()


ENVIRONMENT = {
    "NEW_VENDOR_TOKEN": "tok-FAKE-1",
    "AWS_SECRET_ACCESS_KEY": "FAKE-2",
    "DATABASE_URL": "postgres://u:FAKE-3@h/d",
}


def test_values_of_the_shells_own_credentials_are_refused_whatever_they_look_like(onepen: Program) -> None:
    ws = onepen.home / "ws"
    for text, name in (("use tok-FAKE-1", "NEW_VENDOR_TOKEN"), ("or FAKE-2", "AWS_SECRET_ACCESS_KEY")):
        ran = onepen("log", text, cwd=ws, env=ENVIRONMENT)
        assert ran.code == 2 and f"the value of {name}" in ran.err and "FAKE" not in ran.err
    assert holding(ws, "FAKE") == set()
    onepen.ok("log", "use tok-FAKE-1", "--allow-secret", cwd=ws, env=ENVIRONMENT)


WORKER = """
import anyio, os, sys
from pathlib import Path
from onepen import DelegateRequest
from onepen.memory.clock import SystemClock
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.compose import build_service
from onepen.orchestrator.settings.redact import Known, held_in
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.tasks.workshop import Workshop
from onepen.subagents.pool import ProcessPool
from onepen.testing.worker import worker

said = "key FAKE-2, token tok-FAKE-1, at postgres://u:FAKE-3@h/d, AKIAFAKEFAKEFAKE0000"
steps = worker(
    ["environment"], ["shell", "env > environment.csv"], ["print", said + "\\n"],
    ["shell", "echo '" + said + "' >&2"],
    ["shell", "printf -- '---\\ntarget: research/env.md\\nedit: create\\n---\\n# Env\\n\\n' > env.md; env >> env.md"],
    ["report", {"summary": "done"}],
)
service = build_service(Path("ws"))
workshop = Workshop(ProcessPool(steps, Known(held_in(os.environ)).mask), Gateway())
service._workshop = lambda: workshop
result = anyio.run(service.delegate, DelegateRequest(("Print your environment",)))
print(result.tasks[0].task)
"""


def test_a_worker_has_no_variable_but_those_that_are_listed(onepen: Program, tmp_path: Path) -> None:
    (tmp_path / "run.py").write_text(WORKER)
    ran = onepen.shell(f"{sys.executable} run.py", env=ENVIRONMENT)
    assert ran.code == 0, ran
    folder = tmp_path / "ws/staging" / ran.out.strip() / "1"
    assert {path.name for path in (folder / "drafts").iterdir()} == {"environment.csv", "env.md"}
    assert holding(tmp_path / "ws", "FAKE") == set()
    names = {line.partition("=")[0] for line in (folder / "drafts/environment.csv").read_text().splitlines()}
    assert names <= {*ALLOWED, *FIXED, "DRAFTS", "INPUTS", "SPACE", "PWD", "OLDPWD", "SHLVL", "_"}
    log = (folder / "worker.log").read_text()
    for name in ("the value of AWS_SECRET_ACCESS_KEY", "the value of NEW_VENDOR_TOKEN", "an AWS access key id"):
        assert log.count(f"[{name}]") == 2, log


@pytest.mark.parametrize("kind", ["a private key", "a named password"])
def test_one_written_by_hand_is_told_by_doctor_and_gets_into_no_index(onepen: Program, kind: str) -> None:
    value, core, ws = VALUES[kind], CORES[kind], onepen.home / "ws"
    onepen.ok("add", "project", "Hosting", cwd=ws)
    with (ws / "projects/hosting.md").open("a") as f:
        f.write(f"\n## Login\n\n{value}\n")
    onepen.ok("log", "moved", cwd=ws)
    assert "hosting.md#login" in (ws / "projects/_index.md").read_text()
    assert holding(ws, core) == {"projects/hosting.md"}
    found = [p for p in onepen("doctor", "--json", cwd=ws).json["problems"] if p["kind"] == "secret"]
    assert [(p["path"], p["level"]) for p in found] == [("projects/hosting.md", "warning")]
    assert kind in found[0]["message"] and core not in found[0]["message"]


CANARY = "canary-key-4242"  # without any shape


def test_the_key_that_is_used_stands_nowhere(onepen: Program) -> None:
    ws = onepen.home / "ws"
    told = {"status": 401, "type": "authentication_error", "message": f"invalid x-api-key: {CANARY}"}
    rules: list[dict[str, Any]] = [{"contains": "Refuse", "fault": told}, {"reply": [{"text": "Hello."}]}]
    with MessagesApi(rules) as api:
        env = {**api.env, "ANTHROPIC_API_KEY": CANARY}
        said = ""
        for words in (
            ("ask", "Hello?"), ("ask", "Refuse", "--debug"), ("ask", "Refuse", "--foreground", "--json"),
            ("delegate", "Refuse", "--json"), ("config", "show"), ("down",), ("log", f"the key is {CANARY}"),
        ):  # fmt: skip
            ran = onepen(*words, cwd=ws, env=env)
            said += ran.out + ran.err
        assert [seen for seen in api.requests if seen.headers.get("x-api-key") == CANARY]
    assert "[the value of ANTHROPIC_API_KEY]" in said or "[the key of profile default]" in said
    assert CANARY not in said
    assert holding(onepen.home, CANARY) == set()


def test_a_draft_that_repeats_the_key_that_is_used_cannot_stand(onepen: Program) -> None:
    ws = onepen.home / "ws"
    text = f"# Login\n\n## Where\n\nIt is {CANARY}.\n"
    accepted = {"tool": "verdict", "input": {"verdict": "accept", "reason": "fine"}}
    rules: list[dict[str, Any]] = [
        {"forced": "verdict", "reply": [accepted]},
        {"turn": 1, "reply": [{"tool": "write_draft", "input": {"title": "Login", "text": text}}]},
        {"reply": [{"tool": "report", "input": {"summary": "Done."}}]},
    ]
    with MessagesApi(rules) as api:
        env = {**api.env, "ANTHROPIC_API_KEY": CANARY}
        ran = onepen("delegate", "Login?", "--review", "auto", "--json", cwd=ws, env=env)
        (task,) = ran.json["tasks"]
        (draft,) = task["drafts"]
        assert draft["status"] == "waiting"
        assert any("the key of profile default" in finding["message"] for finding in draft["findings"])
        assert onepen("approve", draft["id"], "--sha256", draft["sha256"], cwd=ws, env=env).code == 1
    lasting = {path for path in holding(ws, CANARY) if not path.startswith(f"staging/{task['task']}/1/")}
    assert lasting == set()
