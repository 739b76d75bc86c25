"""Workers that talk nonsense, too much, too late or twice, in a shell: field cases 40, 42 and 46, F20, F21."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.story import Line, Story

from .conftest import Install
from .test_silent import NOTE, delegate, running, writes

MARK = "61.4646"
DONE: list[Any] = ["report", {"summary": "done"}]
WORKERS: dict[str, list[list[Any]]] = {
    "is noisy": [
        ["print", "Loading…\n"],
        ["print", "2026-11-29 [info     ] warmed up   model=x\n"],
        ["print", '{"note": "not a protocol message"}\n'],
        ["glued", ["hello", {"version": "0", "pid": 1}], ["progress", {"text": "glued"}]],
        ["split", 3, "progress", {"text": "split"}],
        ["bytes", "fffe0a"],
        ["print", "\x1b[31mred\x1b[0m\n"],
        writes("is noisy"),
        DONE,
    ],
    "floods stderr": [["stderr", 5 << 20], ["hello"], writes("floods stderr"), DONE],
    "leaves a child": [["hello"], writes("leaves a child"), ["background", f"exec sleep {MARK}"], DONE],
    "stays": [["hello"], writes("stays"), DONE, ["sleep", 60]],
    "speaks for another": [
        ["hello"],
        ["foreign", "zzzzzzzz", 1, "report", {"summary": "of another task"}],
        writes("speaks for another"),
        DONE,
        ["report", {"summary": "once more"}],
    ],
    "floods": [["hello"], ["flood", 1 << 30]],
    "fills its folder": [
        ["hello"],
        ["shell", "i=0; while [ $i -lt 100000 ]; do : > f$i.md; i=$((i+1)); done"],
        ["sleep", 60],
    ],
    "works": [["hello"], writes("works"), DONE],
}
TAKEN = ("is noisy", "floods stderr", "leaves a child", "stays", "speaks for another", "works")


@pytest.mark.timeout(240)
def test_good_results_are_taken_and_floods_are_cut(install: Install, tmp_path: Path) -> None:
    """Field cases 40 and 42, F20, F21: side by side, with nobody delayed and nothing left behind."""
    (tmp_path / "n.md").write_text(NOTE)
    with Story(tmp_path, install(WORKERS)) as story:
        began = time.monotonic()
        *_, ran = story.tell("onepen init ws", Line(delegate(*WORKERS, limit=50), code=1))
        took = time.monotonic() - began
        tasks = dict(zip(WORKERS, ran.json["tasks"], strict=True))
        assert Counter(tasks[word]["status"] for word in TAKEN) == {"committed": len(TAKEN)}, tasks
        for word in TAKEN:
            assert (tasks[word]["attempts"], len(tasks[word]["drafts"])) == (1, 1)
        reasons = {"floods": "it printed more than 8388608 bytes", "fills its folder": "it left more than 4,000 files"}
        for word, why in reasons.items():
            assert (tasks[word]["status"], tasks[word]["attempts"]) == ("quarantined", 3), tasks[word]
            assert why in tasks[word]["reason"]
        assert took < 45 and not running(MARK)

        def log(word: str) -> str:
            folder = story.workspace / f"staging/{tasks[word]['task']}/1"
            return (folder / "worker.log").read_bytes().decode(errors="backslashreplace")

        for kept in ("Loading…", "warmed up", "not a protocol message", "\\xff\\xfe", "\x1b[31mred"):
            assert kept in log("is noisy")
        assert "were printed and not kept" in log("floods stderr")
        assert "it had reported 2 s before; the worker was still running and was ended" in log("stays")
        assert "it speaks for task 'zzzzzzzz'" in log("speaks for another")
        assert "it came late: the attempt was over" in log("speaks for another")
        for path in (story.workspace / "staging").glob("*/*/worker.log"):
            assert path.stat().st_size < 2 << 20
        story.tell("test $(ls ws/research/*.md | grep -vc _index) = 6", "onepen -C ws doctor")


RULES = [{"reply": [{"text": "well"}], "usage": {"input": 100, "output": 10}}]
ASK: dict[str, Any] = {"delta": [{"role": "user", "content": [{"type": "text", "text": "what?"}]}]}
LATE: list[list[Any]] = [["late", 0.3, {"summary": "late"}], ["hello"], ["ask", ASK]]


@pytest.mark.timeout(120)
def test_a_late_and_a_double_result_change_nothing(install: Install, tmp_path: Path) -> None:
    """Field case 46: attempt 1 outlives its limit and reports then; attempt 2 reports twice. Each is paid once."""
    (tmp_path / "n.md").write_text(NOTE)
    (tmp_path / "rules.json").write_text(json.dumps(RULES))
    with Story(tmp_path, install({"is late": [*LATE, ["sleep", 60]]})) as story:
        command = delegate("is late", limit=3).replace("--model offline", "--model scripted:rules.json")
        *_, ran = story.tell("onepen init ws", Line(command, code=1))
        [task] = ran.json["tasks"]
        assert (task["status"], task["attempts"], task["drafts"]) == ("timed_out", 1, []), task
        folder = story.workspace / "staging" / task["task"]
        assert "late" in (folder / "1/worker.log").read_text() and not (folder / "report.md").exists()
        install({"is late": [["hello"], ["ask", ASK], writes("is late"), DONE, ["report", {"summary": "again"}]]})
        [task] = story.run(f"onepen -C ws resume {task['task']} --json").json["tasks"]
        assert (task["status"], task["attempts"], len(task["drafts"])) == ("in_review", 2, 1), task
        assert "it came late: the attempt was over" in (folder / "2/worker.log").read_text()
        assert "again" not in (folder / "report.md").read_text()
        said = [json.loads(line) for path in folder.glob("*/*.jsonl") for line in path.read_text().splitlines()]
        paid = [line for line in said if line["kind"] == "reply" and not line["reused"]]
        assert task["usage"]["output"] == 10 * len(paid), "what was said before is used again, not paid again"
        story.tell("test $(ls ws/research/*.md | grep -vc _index) = 0", "onepen -C ws doctor")
