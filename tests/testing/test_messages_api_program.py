"""The double from a shell: `python -m onepen.testing.messages_api`."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-m", "onepen.testing.messages_api"]
BODY = json.dumps(
    {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
).encode()


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.json"
    path.write_text('[{"reply": "good day"}]')
    return path


def said(url: str) -> str:
    """What the double at this address says."""
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21", "content-type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/messages", BODY, headers), timeout=10) as answer:
        return str(json.load(answer)["content"][0]["text"])


@contextmanager
def running(*args: str | Path) -> Iterator[tuple[subprocess.Popen[bytes], Any]]:
    with subprocess.Popen([*PROGRAM, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            yield child, json.loads(child.stdout.readline())
        finally:
            child.kill()


def test_it_says_where_it_is_and_ends_by_a_signal(rules: Path, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    with running("--rules", rules, "--record", record) as (child, ready):
        assert ready["pid"] == child.pid
        assert said(ready["url"]) == "good day"
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0
    (line,) = (json.loads(line) for line in record.read_text().splitlines())
    assert (line["n"], line["status"], line["rule"]) == (1, 200, 0)
    assert line["body"].encode() == BODY


def test_it_ends_with_its_input_if_told_to(rules: Path) -> None:
    with running("--rules", rules, "--until-eof") as (child, _):
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(10) == 0


def test_rules_can_be_read_again(rules: Path) -> None:
    with running("--rules", rules) as (child, ready):
        rules.write_text('{"rules": [{"reply": "good night"}]}')
        os.kill(child.pid, signal.SIGHUP)
        deadline = time.monotonic() + 10
        while said(ready["url"]) != "good night":
            assert time.monotonic() < deadline


def test_a_port_can_be_chosen(rules: Path) -> None:
    with running("--rules", rules) as (child, ready):
        port = ready["url"].rpartition(":")[2]
        said(ready["url"])
        child.terminate()
        child.wait(10)
        with running("--rules", rules, "--port", port) as (_, again):
            assert again["url"] == ready["url"], "at once, though connections to it have just ended"


def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *args], capture_output=True, text=True, timeout=30, check=False)


def test_a_command_can_be_run_against_it(rules: Path) -> None:
    done = run("--rules", rules, "--", "sh", "-c", 'echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY"; exit 7')
    assert done.returncode == 7
    assert done.stdout.startswith("http://127.0.0.1:")
    assert done.stdout.endswith(" sk-test-key\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ('[{"reply": 1}]', "rule 0: reply: Input should be a valid"),
        ('{"rule": []}', "rule: Extra inputs are not permitted"),
        ('{"rules": [{"nth": 0}]}', "rule 0: nth: Input should be greater"),
    ],
)
def test_rules_that_are_none_end_it_at_once(rules: Path, text: str, reason: str) -> None:
    rules.write_text(text)
    done = run("--rules", rules)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {rules}: ")
    assert reason in done.stderr


def test_rules_that_are_missing_end_it_at_once(tmp_path: Path) -> None:
    assert "can't be read" in run("--rules", tmp_path / "none.json").stderr
