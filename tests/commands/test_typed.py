"""What was typed in chats is kept for the arrow keys, for nobody else, and no secret with it."""

import re
from pathlib import Path

import pytest

from onepen.orchestrator.commands.typed import MOST, Typed, typed_file
from onepen.testing.program import Program

KEY = "sk-ant-api03-" + "FAKE" * 22


def test_lines_come_back_in_order_without_doubles(tmp_path: Path) -> None:
    path = tmp_path / "state" / "typed" / "house.jsonl"
    one = Typed(path)
    assert one.lines() == ()
    for line in ("first", "two\nlines", "two\nlines", "  ", "half \ud83d", "first"):
        one.add(line)
    assert Typed(path).lines() == ("first", "two\nlines", "half \ud83d", "first")
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("secret", [KEY, "password: hunter2-fake", "AKIAFAKEFAKEFAKE0000"])
def test_a_line_with_a_secret_is_not_kept(tmp_path: Path, secret: str) -> None:
    Typed(tmp_path / "t.jsonl").add(f"remember {secret}")
    assert not (tmp_path / "t.jsonl").exists()


def test_a_credential_that_is_known_is_not_kept(tmp_path: Path) -> None:
    Typed(tmp_path / "t.jsonl", {"the key": "my-own-gateway-word-77"}).add("it is my-own-gateway-word-77")
    assert not (tmp_path / "t.jsonl").exists()


def test_damage_costs_its_own_lines_only(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"v": 1, "text": "a"}\n\xff\xfe\n[]\n{"v": 2, "text": "later"}\n{"v": 1, "te')
    one = Typed(path)
    assert one.lines() == ("a",)
    one.add("b")
    assert Typed(path).lines() == ("a", "b")


def test_a_folder_that_takes_nothing_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    Typed(tmp_path / "state" / "t.jsonl").add("words")


def test_it_does_not_grow_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    one = Typed(path)
    for k in range(MOST + 50):
        one.add(f"{k} {'x' * 5000}")
    kept = Typed(path).lines()
    assert (len(kept), kept[-1][:5]) == (MOST, f"{MOST + 49} ")
    before = path.stat().st_size
    assert Typed(path).lines() == kept
    assert path.stat().st_size == before < (MOST + 10) * 5100


def test_each_space_has_a_file_of_its_own() -> None:
    files = {typed_file("0123456789abcdef", client) for client in (None, "acme", "house", "bolt")}
    assert len(files) == 4


def test_what_was_typed_for_a_client_goes_with_the_client(tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    for client in ("acme", "bolt"):
        onepen.ok("add", "client", client, "-C", "ws")
    workspace = re.search(r'^id = "(.*)"$', (tmp_path / "ws" / "onepen.toml").read_text(), re.MULTILINE)
    assert workspace is not None
    folder = tmp_path / ".local" / "state" / "onepen" / "typed" / workspace[1]
    for client in ("acme", "bolt"):
        Typed(folder / f"{client}.jsonl").add("something said to it")
    onepen.ok("prune", "--client", "acme", "--confirm", "acme", "-C", "ws")
    assert sorted(path.name for path in folder.iterdir()) == ["bolt.jsonl"]
