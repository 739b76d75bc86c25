"""The workers that misbehave, looked at directly: each step does what it says, and nothing more."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.worker import worker

WHO = {"v": 1, "task": "t1", "attempt": 3}


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    made = tmp_path / "drafts"
    made.mkdir()
    return made


def ran(drafts: Path, *steps: list[Any], answers: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    folders = {"drafts": str(drafts), "inputs": "/inputs", "space": "/space", "snapshot": "/snapshot"}
    hello = json.dumps({**WHO, "type": "hello", "folders": folders}).encode() + b"\n"
    return subprocess.run(worker(*steps), input=hello + answers, capture_output=True, timeout=20)


@pytest.mark.parametrize(
    ("step", "out"),
    [
        (["print", "Loading…\n"], "Loading…\n".encode()),
        (["bytes", "fffe0a"], b"\xff\xfe\n"),
        (["flood", 20], b"noise\nnoise\nnoise\nno"),
        (["endless", 3000], b"x" * 3000),
        (["close", 1], b""),
        (["deaf"], b""),
        (["sleep", 0], b""),
    ],
)
def test_what_is_printed(drafts: Path, step: list[Any], out: bytes) -> None:
    run = ran(drafts, step)
    assert run.stdout == out
    assert run.stderr == b"" or step[0] == "close"


@pytest.mark.parametrize(
    ("step", "messages"),
    [
        (["report", {"summary": "done"}], [{**WHO, "type": "report", "summary": "done"}]),
        (["send", "progress", {"text": "x"}], [{**WHO, "type": "progress", "text": "x"}]),
        (["split", 3, "progress", {"text": "x"}], [{**WHO, "type": "progress", "text": "x"}]),
        (["foreign", "t2", 9, "report", {}], [{"v": 1, "task": "t2", "attempt": 9, "type": "report"}]),
    ],
)
def test_messages(drafts: Path, step: list[Any], messages: list[Any]) -> None:
    assert [json.loads(line) for line in ran(drafts, step).stdout.splitlines()] == messages


def test_messages_on_one_line(drafts: Path) -> None:
    out = ran(drafts, ["glued", ["progress", {"text": "a"}], ["report", {}]]).stdout
    assert out.count(b"\n") == 1
    first, end = json.JSONDecoder().raw_decode(out.decode())
    assert (first["type"], json.loads(out[end:])["type"]) == ("progress", "report")


def test_it_says_who_it_is(drafts: Path) -> None:
    hello = json.loads(ran(drafts, ["hello"]).stdout)
    assert hello["type"] == "hello" and hello["pid"] > 1


def test_questions_wait_for_their_answer(drafts: Path) -> None:
    run = ran(drafts, ["ask", {"delta": []}], ["request", "search", {"query": "x"}], answers=b"first\n")
    asked = [json.loads(line) for line in run.stdout.splitlines()]
    assert [(one["type"], one["id"]) for one in asked] == [("model_request", 1), ("tool_request", 2)]
    assert asked[1]["input"] == {"query": "x"}
    assert run.stderr == b"first\nend of input\n"


def test_shell_commands_know_the_folders(drafts: Path) -> None:
    ran(drafts, ["shell", 'echo "$DRAFTS $INPUTS $SPACE $PWD" > a'])
    assert (drafts / "a").read_text().split() == [str(drafts), "/inputs", "/space", str(drafts)]


def test_background_commands_are_not_waited_for(drafts: Path) -> None:
    run = ran(drafts, ["background", "echo started; read line; echo after"], ["print", "went on\n"], answers=b"x\n")
    assert b"went on" in run.stdout and b"after" in run.stdout


def test_stderr(drafts: Path) -> None:
    run = ran(drafts, ["stderr", 250])
    assert (len(run.stderr), run.stdout) == (250, b"")


def test_the_environment(drafts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    run = ran(drafts, ["environment"])
    assert json.loads(run.stdout) == json.loads(run.stderr)
    assert json.loads(run.stdout)["LC_TIME"] == "C.UTF-8"


@pytest.mark.parametrize(
    ("step", "code"), [(["exit", 7], 7), (["signal", "SIGSEGV"], -11), (["signal", "SIGTERM"], -15)]
)
def test_how_it_ends(drafts: Path, step: list[Any], code: int) -> None:
    assert ran(drafts, step).returncode == code


def test_one_that_is_deaf_stays(drafts: Path) -> None:
    assert ran(drafts, ["deaf"], ["signal", "SIGTERM"], ["print", "still here"]).stdout == b"still here"


def test_the_steps_of_a_task_are_found_by_its_text(drafts: Path) -> None:
    folders = {"drafts": str(drafts), "inputs": "/inputs", "space": "/space", "snapshot": "/snapshot"}
    hello = json.dumps({**WHO, "type": "hello", "text": "It works", "folders": folders}).encode() + b"\n"
    steps = json.dumps({"hangs": [["sleep", 60]], "works": [["print", "done"]]})
    command = (*worker()[:-1], steps)
    assert subprocess.run(command, input=hello, capture_output=True, timeout=20).stdout == b"done"
