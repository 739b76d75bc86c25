"""`worker check`: good programs pass, and each rule is told when a program breaks it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from onepen.orchestrator.tasks.conformance import NOWHERE, Check, conformance
from onepen.subagents.sandbox.level import Level, probe
from onepen.testing.worker import worker

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/workers"
OWN = (sys.executable, "-P", "-m", "onepen.subagents")
PUPPET = """
import json, os, sys, time
hello = json.loads(sys.stdin.readline())
def send(kind, **fields):
    print(json.dumps({"v": 1, "task": hello["task"], "attempt": hello["attempt"], "type": kind, **fields}), flush=True)
def receive():
    line = sys.stdin.readline()
    return json.loads(line)
def ask(turn, *blocks):
    send("model_request", id=turn, delta=[{"role": "user", "content": list(blocks)}])
    return receive()
said = {"type": "text", "text": "what?"}
"""
HELLO = 'send("hello", version="0", pid=1)\n'


def checks(command: Sequence[str], level: Level) -> dict[str, Check]:
    return {check.name: check for check in conformance(command, level=level).checks}


def program(folder: Path, body: str) -> tuple[str, ...]:
    file = folder / "program.py"
    file.write_text(PUPPET + body)
    return (sys.executable, str(file))


@pytest.mark.parametrize("command", [(str(EXAMPLES / "asks.py"),), (str(EXAMPLES / "counts.sh"),), OWN], ids=str)
def test_good_ones_pass(command: Sequence[str]) -> None:
    # Ours is never started by its module's name in the sandbox: where a package lies in a clone, it would not be found.
    result = conformance(command, level=NOWHERE if command == OWN else probe())
    assert result.ok, [check for check in result.checks if check.level == "wrong"]
    levels = {check.level for check in result.checks}
    assert "note" not in levels and (command != OWN or levels == {"ok"})
    assert {check.name for check in result.checks} >= {"reports", "ends after its report", "ends when it is cancelled"}


def test_it_can_be_told_as_json() -> None:
    document = json.loads(json.dumps(conformance(("/bin/true",), level=probe()).as_json()))
    assert document["ok"] is False and document["command"] == ["/bin/true"]
    assert document["sandbox"] == probe().kind
    assert document["checks"] == [{"name": "says hello", "level": "wrong", "seen": "it exited with 0"}]


BAD: dict[str, tuple[str, str, str]] = {
    "no hello": ('send("report", summary="done", answer="x")', "says hello", "it exited with 0"),
    "another's name": (
        HELLO + 'hello["task"] = "t2"; send("report", summary="done")',
        "speaks the wire",
        "report in the name of task 't2', attempt 1",
    ),
    "nothing": (HELLO + 'send("report", summary="done")', "leaves something", "neither a draft nor an answer"),
    "crash": (HELLO + 'raise SystemExit("no such luck")', "reports", "its last words: 'no such luck'"),
    "not understood": (HELLO + 'send("report", summary=7)', "reports", "a message was not understood: report.summary"),
    "stays": (
        HELLO + 'send("report", summary="done", answer="x"); time.sleep(60)',
        "ends after its report",
        "it still ran 2 s later",
    ),
    "tools ignored": (
        HELLO + 'ask(1, said); ask(2, said); send("report", summary="done", answer="x")',
        "speaks the wire",
        "model_request 2: the last reply called 1 tools; each has to be answered exactly once",
    ),
    "one id twice": (
        HELLO + 'send("tool_request", id=1, name="search", input={}); receive(); ask(1, said)',
        "speaks the wire",
        "two requests have the id 1",
    ),
    "another prefix": (
        HELLO + 'send("model_request", id=1, prefix_sha="abc", delta=[{"role": "user", "content": [said]}])\n'
        'receive(); send("report", summary="done", answer="x")',
        "knows the prefix",
        "prefix_sha is abc…",
    ),
    "bad draft": (
        HELLO + 'open(hello["folders"]["drafts"] + "/a.md", "w").write("no front matter")\n'
        'send("report", summary="done")',
        "leaves drafts that can be read",
        "a.md",
    ),
    "elsewhere": (
        HELLO + 'open(hello["folders"]["inputs"] + "/firing notes.md", "a").write("more")\n'
        'send("report", summary="done", answer="x")',
        "changes nothing but its drafts",
        "inputs/firing notes.md",
    ),
    "deaf": (
        HELLO + 'reply = ask(1, said)\nif reply["type"] == "cancel": time.sleep(60)\n'
        'send("report", summary="done", answer="x")',
        "ends when it is cancelled",
        "it still ran 2 s after `cancel`",
    ),
    "goes on when refused": (
        HELLO + 'reply = ask(1, said)\nif reply.get("error"): time.sleep(60)\nif reply["type"] == "cancel": exit()\n'
        'send("report", summary="done", answer="x")',
        "ends when its model is refused",
        "it still ran 2 s after a reply with `error`",
    ),
    "asks for ever": (
        HELLO + 'blocks, turn = [said], 0\nwhile True:\n    turn += 1\n    reply = ask(turn, *blocks)\n'
        '    if reply.get("error") or reply["type"] == "cancel": exit()\n'
        '    blocks = [{"type": "tool_result", "tool_use_id": b["id"], "content": "x"} for b in reply["content"]'
        ' if b["type"] == "tool_use"]\n    if not blocks:\n        send("report", summary="x", answer="x"); exit()\n',
        "keeps to its turns",
        "it asked 3 times, limits.turns was 2",
    ),
    "short lines only": (
        HELLO + 'reply = ask(1, said)\nif reply.get("error") or reply["type"] == "cancel": exit()\n'
        'if len(str(reply)) > 1 << 20: raise SystemExit("too long")\nsend("report", summary="x", answer="x")',
        "reads a line of 3 MiB",
        "its last words: 'too long'",
    ),
}  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", BAD)
def test_each_rule_is_told_when_it_is_broken(name: str, tmp_path: Path) -> None:
    body, rule, seen = BAD[name]
    found = checks(program(tmp_path, body), NOWHERE if name == "elsewhere" else probe())
    assert found[rule].level == "wrong" and seen in found[rule].seen, found


@pytest.mark.parametrize(
    ("body", "rule", "seen"),
    [
        ('print("Loading…")\n' + HELLO, "prints nothing else on stdout", "1 lines that are no messages"),
        (HELLO + 'send("report", summary="once", answer="x")\n', "says nothing after its report", "report: too late"),
    ],
)
def test_what_is_borne_is_a_note(body: str, rule: str, seen: str, tmp_path: Path) -> None:
    result = conformance(program(tmp_path, body + 'send("report", summary="done", answer="x")'), level=probe())
    found = {check.name: check for check in result.checks}
    assert result.ok and found[rule].level == "note" and seen in found[rule].seen


@pytest.mark.skipif(not probe().confines, reason="nothing confines a worker on this system")
def test_what_works_without_the_sandbox_only_is_told(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("")
    started = "import sys\nsys.path.insert(0, sys.argv[0].rpartition('/')[0])\nimport beside\n"
    file = tmp_path / "program.py"
    file.write_text(started + PUPPET + HELLO + 'send("report", summary="done", answer="x")')
    command = (sys.executable, str(file))
    found = checks(command, probe())
    assert found["works in the sandbox"].level == "wrong" and "No module named 'beside'" in found["says hello"].seen
    assert "works in the sandbox" not in checks(command, NOWHERE)
    assert conformance((*command, str(tmp_path)), level=probe()).checks[0].level == "ok", "its command names the folder"


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        conformance(("/no/such/program",), level=probe())


def test_what_it_starts_is_ended_with_it(tmp_path: Path) -> None:
    steps: list[list[Any]] = [["hello"], ["background", f"echo $$ > {tmp_path}/pid; exec sleep 600"], ["sleep", 0.5]]
    conformance(worker(*steps, ["report", {"summary": "done", "answer": "x"}]), level=NOWHERE)  # it writes outside
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()
