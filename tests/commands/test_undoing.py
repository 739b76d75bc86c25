"""`onepen undo` at a terminal and without one: what is shown, what counts as yes, and what is refused how."""

from pathlib import Path

import pytest

from onepen.orchestrator.compose import build_service
from onepen.testing.program import Program

KEY = "sk-ant-" + "api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    onepen.ok("-C", "ws", "add", "research", "Cones", "--from", "-", stdin="# Cones\n\n## Heat\n\nCone 6 at 1222.\n")
    return onepen


def card(onepen: Program) -> Path:
    return onepen.home / "ws/research/cones.md"


@pytest.mark.parametrize(("typed", "code"), [(b"\n", 3), (b"n\n", 3), (b"\x04", 3), (b"y\n", 0)])
@pytest.mark.parametrize("named", [(), ("c1",)])
def test_on_a_terminal_the_change_is_shown_and_asked_about(
    typed: bytes, code: int, named: tuple[str, ...], onepen: Program
) -> None:
    ran = onepen.terminal("-C", "ws", "undo", *named, types=typed, env={"NO_COLOR": "1"})
    assert ran.code == code, ran.screen
    assert "-Cone 6 at 1222." in ran.screen and "[y/N]" in ran.screen
    assert card(onepen).exists() == (code != 0)


def test_the_history_of_a_file_that_is_gone_is_told_where_it_was(onepen: Program) -> None:
    onepen.ok("-C", "ws", "undo", "--yes")
    told = onepen.ok("history", "cones.md", cwd=onepen.home / "ws/research").out
    assert "research/cones.md: created" in told and told.count("\n") == 2
    assert onepen("history", "other.md", cwd=onepen.home / "ws/research").code == 2


def test_yes_asks_nothing_on_a_terminal(onepen: Program) -> None:
    ran = onepen.terminal("-C", "ws", "undo", "c1", "--yes", env={"NO_COLOR": "1"})
    assert ran.code == 0 and "[y/N]" not in ran.screen and not card(onepen).exists()


def test_a_space_with_nothing_to_undo_says_so(onepen: Program) -> None:
    onepen.ok("-C", "ws", "undo", "--yes")
    ran = onepen("-C", "ws", "undo", "--yes")
    assert ran.code == 2 and "the house's own space: no commit is left that could be undone" in ran.err
    onepen.ok("-C", "ws", "add", "client", "Acme", "--id", "acme")
    (made,) = (c["id"] for c in onepen.json("-C", "ws", "history", "--client", "acme")["commits"])
    assert "Next: onepen undo c2" in onepen.ok("-C", "ws", "history", "c1").out
    assert "Next" not in onepen.ok("-C", "ws", "history", made).out, "what can't be undone isn't offered"
    ran = onepen("-C", "ws", "undo", made)
    assert ran.code == 1 and "next: onepen prune --client acme" in ran.err
    assert onepen("-C", "ws", "undo", "--client", "acme", "--yes").code == 2
    assert onepen("-C", "ws", "undo", "--client", "nobody").code == 2


def test_an_id_is_looked_up_in_the_space_where_one_stands_first(onepen: Program) -> None:
    onepen.ok("-C", "ws", "add", "client", "Acme", "--id", "acme")
    onepen.ok("-C", "ws", "add", "project", "Ofen", "--client", "acme")
    made = onepen.json("-C", "ws", "history", "--client", "acme")["commits"][0]["id"]
    assert onepen("-C", "ws", "undo", made, "--client", "acme", "--dry-run").code == 0
    assert onepen("-C", "ws", "undo", "c1", "--client", "acme").code == 2, "named, a client's space is the only one"
    told = onepen.json("-C", "ws", "undo", made)
    assert told["undone"] == made and told["paths"][0] == "clients/acme/projects/ofen.md"
    assert not (onepen.home / "ws/clients/acme/projects/ofen.md").exists()
    onepen.ok("-C", "ws", "doctor")


def test_a_secret_goes_out_without_a_word_and_comes_back_with_one(onepen: Program) -> None:
    made = onepen.json("-C", "ws", "add", "research", f"Keys {KEY}", "--id", "keys", "--allow-secret")["commit"]
    undoing = onepen.json("-C", "ws", "undo", made)["commit"]
    assert not (onepen.home / "ws/research/keys.md").exists()
    ran = onepen("-C", "ws", "undo", undoing)
    assert ran.code == 2 and KEY not in ran.err + ran.out and "--allow-secret" in ran.err, ran
    assert not (onepen.home / "ws/research/keys.md").exists()
    onepen.ok("-C", "ws", "undo", undoing, "--allow-secret")
    assert KEY in (onepen.home / "ws/research/keys.md").read_text()


@pytest.mark.parametrize("named", [None, "c1"])
def test_a_request_that_comes_again_is_done_once(named: str | None, onepen: Program) -> None:
    service = build_service(onepen.home / "ws")
    first = service.undo(named, request="4f2a9c01")
    again = service.undo(named, request="4f2a9c01")
    assert first == again and first.commit is not None
    assert len(service.history().commits) == 2
