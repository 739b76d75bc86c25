"""A chat as a person has it: typed into a shell, with an orchestrator behind it and a server of the Messages API."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.program import LIMIT, PROGRAM, Program, orchestrators

ENTRY = {"section_id": "firing", "keywords": ["cone 6"], "summary": "Fire at 1220 since 3 Nov."}
WRITE = {
    "tool": "write_memory_card",
    "input": {"project": "kiln", "old_text": "- fire at 1200\n", "new_text": "- fire at 1220\n", "index_entry": ENTRY},
}
LOG = {"tool": "log_event", "input": {"text": "kiln fired"}}


@pytest.fixture
def shell(tmp_path: Path) -> Program:
    shell = Program(tmp_path)
    (tmp_path / "kiln.md").write_text("## Firing\n- fire at 1200\n- soak for ten minutes\n")
    begun = shell.shell("onepen init ws && onepen -C ws add project Kiln --from kiln.md")
    assert begun.code == 0, begun
    return shell


def until(reached: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def chat_file(shell: Program) -> Path:
    (path,) = shell.home.glob("ws/chats/*.jsonl")
    return path


def test_ask_with_the_offline_model(shell: Program) -> None:
    ran = shell.ok("-C", "ws", "ask", "How long do we soak?")
    assert '> "soak for ten minutes" (projects/kiln.md:12)\n' in ran.out and "usage" not in ran.out
    assert "usage: offline, 3 calls · ≈ B " in ran.err and "· search_history, read_card" in ran.err
    answer = shell.ok("-C", "ws", "ask", "How long do we soak?", "--json").json
    assert answer["sources"] == ["projects/kiln.md:12"] and answer["stop_reason"] == "end_turn"
    assert {"session", "answer", "tools", "usage", "cost_usd"} <= answer.keys()
    assert shell("-C", "ws", "ask", " ").code == 2
    chats = sorted(shell.home.glob("ws/chats/*"))
    foretold = shell.ok("-C", "ws", "ask", "How long do we soak?", "--dry-run").out
    assert foretold.startswith("Would ask offline with ≈ ") and "Nothing was sent." in foretold
    assert sorted(shell.home.glob("ws/chats/*")) == chats
    assert "soak" in shell.ok("-C", "ws", "ask", "-", stdin="How long do we soak?\n").out


def test_a_chat_of_several_lines_edits_a_card_and_has_two_sub_agents_side_by_side(shell: Program) -> None:
    both = [{"tool": "delegate", "input": {"agent": "researcher", "task": f"Task {n}", "answer": True}} for n in "AB"]
    report = {"tool": "report", "input": {"summary": "Found.", "answer": "1222 degrees"}}
    rules = [
        {"agent": "main", "turn": 1, "reply": [{"text": "I write it."}, WRITE]},
        {"agent": "main", "turn": 2, "reply": [{"text": "Written."}]},
        {"agent": "main", "turn": 3, "reply": both},
        {"agent": "main", "turn": 4, "contains": "1222 degrees", "reply": [{"text": "Both say 1222."}]},
        {"agent": "researcher", "reply": [report], "delay": 0.3},
    ]
    (shell.home / "script.json").write_text(json.dumps(rules))
    typed = "We fire at 1220 now.\n\nFind out both.\n/usage\n/drafts\n/nonsense\n/quit\nnever\n"
    ran = shell.ok("-C", "ws", "chat", "--model", "scripted:script.json", stdin=typed)
    assert ran.out == "Written.\nBoth say 1222.\n"
    assert "2 answers since you began" in ran.err and "/nonsense: no such command" in ran.err
    assert "- fire at 1220\n" in (shell.home / "ws/projects/kiln.md").read_text()
    going = shell.ok("-C", "ws", "chat", "--resume", "--model", "offline", stdin="How long do we soak?\n")
    assert "soak for ten minutes" in going.out
    assert f"onepen chat --resume {chat_file(shell).stem}" in going.err
    assert shell.ok("-C", "ws", "doctor").code == 0
    wrong = shell("-C", "ws", "chat", "--resume", "2020-01-01-x")
    assert wrong.code == 2 and "not in this space; the latest are" in wrong.err


def test_killed_in_the_middle_of_a_turn_it_goes_on_and_writes_nothing_twice(shell: Program) -> None:
    """Field case 51 with a server that refuses histories with unanswered calls."""
    rules = [
        {"turn": 1, "reply": [{"text": "I write it."}, WRITE, LOG]},
        {"turn": 2, "contains": "go on", "reply": "It is done."},
        {"turn": 2, "reply": "Late.", "delay": 30},
    ]
    with MessagesApi(rules) as api:
        env = {**shell.env, **api.env}
        child = subprocess.Popen(
            [PROGRAM, "-C", "ws", "chat"],
            cwd=shell.home, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert child.stdin is not None
        child.stdin.write(b"We fire at 1220 now.\n")
        child.stdin.flush()
        until(lambda: len(api.asked) == 2)
        (pid,) = orchestrators(shell.home)
        os.kill(pid, signal.SIGKILL)
        out, err = child.communicate(timeout=LIMIT)
        assert child.returncode == 1 and b"what was said and done is kept" in err, (out, err)
        path = chat_file(shell)
        rows = path.read_text().splitlines(keepends=True)
        path.write_text("".join(rows[:-1]))  # the log line's result was not stored either
        ran = shell.ok("-C", "ws", "chat", "--resume", env=api.env, stdin="go on\n")
        assert ran.out == "It is done.\n"
        results = [b for m in api.asked[-1].body["messages"] for b in m["content"] if b["type"] == "tool_result"]
    assert len(results) == 2 and "the change was made, as commit" in results[1]["content"]
    (log,) = shell.home.glob("ws/memory/20*.md")
    assert log.read_text().count("kiln fired") == 1 and shell.ok("-C", "ws", "doctor").code == 0
    card = (shell.home / "ws/projects/kiln.md").read_text()
    assert card.count("1220") == 1 and "1200" not in card


def test_a_stream_that_breaks_is_made_again_and_its_tool_is_not_run(shell: Program) -> None:
    """Field case 52."""
    rules: list[dict[str, object]] = [
        {"nth": 1, "reply": "half", "fault": {"kind": "error_event", "at": "block"}},
        {"nth": 2, "reply": [WRITE], "fault": {"kind": "error_event", "at": "block"}},
        {"reply": "The whole."},
    ]
    before = (shell.home / "ws/projects/kiln.md").read_text()
    with MessagesApi(rules) as api:
        ran = shell.ok("-C", "ws", "ask", "Say it", "--foreground", env=api.env)
        assert len(api.asked) == 3
    assert ran.out == "The whole.\n" and "broke off" in ran.err
    assert (shell.home / "ws/projects/kiln.md").read_text() == before


def test_ctrl_c_ends_the_answer_and_not_the_chat(shell: Program) -> None:
    rules: list[dict[str, object]] = [{"contains": "zweitens", "reply": "Here."}, {"reply": "Never.", "delay": 30}]
    with MessagesApi(rules) as api:
        child = subprocess.Popen(
            [PROGRAM, "-C", "ws", "chat"], cwd=shell.home, env={**shell.env, **api.env},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert child.stdin is not None
        child.stdin.write(b"first\n")
        child.stdin.flush()
        until(lambda: len(api.asked) == 1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(b"zweitens\n", timeout=LIMIT)
    assert (child.returncode, out) == (0, b"Here.\n"), err


def test_on_a_terminal_the_words_come_as_they_are_said(shell: Program) -> None:
    (shell.home / "script.json").write_text(json.dumps([{"reply": [{"text": "At 1200 degrees.\x1b[2J"}]}]))
    quoted = shell.terminal("-C", "ws", "ask", "How long do we soak?", "--foreground")
    assert quoted.screen.count("soak for ten minutes") == 1, quoted.screen
    ran = shell.terminal("-C", "ws", "ask", "What do we fire at?", "--model", "scripted:script.json", "--foreground")
    assert ran.code == 0 and ran.screen.count("At 1200 degrees.\\x1b[2J") == 1
