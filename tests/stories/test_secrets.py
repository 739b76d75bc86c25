"""Keys and passwords in notes, cards, drafts, inputs and environments: none becomes memory, none is repeated."""

import json
from pathlib import Path

import pytest

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
    doors = [
        (("log", f"the login is {one_line}"), "the day log's line"),
        (("add", "project", "Hosting", "--from", onepen.home / "card.md"), "projects/hosting.md, the new text, line 5"),
        (
            ("add", "research", "Hosting", "--from", onepen.home / "card.md"),
            "research/hosting.md, the new text, line 5",
        ),
    ]
    for words, place in doors:
        ran = onepen(*words, cwd=ws)
        assert ran.code == 2 and place in ran.err and f"this looks like {kind}" in ran.err
        assert "--allow-secret" in ran.err
        assert core not in ran.out + ran.err
        told = onepen(*words, "--json", cwd=ws)
        assert core not in told.out and "--allow-secret" in json.loads(told.out)["error"]["hint"]
    assert holding(ws, core) == set()
    assert onepen.json("history", cwd=ws)["commits"] == []
    onepen.ok("log", "the login is under HOSTING in the password store", cwd=ws)
    onepen.ok(*doors[0][0], "--allow-secret", cwd=ws)
    assert any(path.startswith("memory/") for path in holding(ws, core))
    onepen.ok("doctor", cwd=ws)
