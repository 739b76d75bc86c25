from dataclasses import replace
from pathlib import Path

import pytest

from onepen.memory.commit.ledger import Ledger
from onepen.memory.history import Commit, commit_json
from onepen.memory.workspace import Space, open_workspace

NONE: Commit = Commit(1, "c1-aaaaaa", None, "t", "u", "w", None, None, None, None, (), (), ())


def line(sequence: int, key: str | None, machine: str = "aaaaaa") -> str:
    return commit_json(replace(NONE, id=f"c{sequence}-{machine}", key=key)) + "\n"


@pytest.fixture
def space(tmp_path: Path) -> Space:
    (tmp_path / "logs").mkdir()
    (tmp_path / "onepen.toml").write_text('id = "abcdefgh1234"\n')
    return open_workspace(tmp_path).house


def log(space: Space) -> Path:
    return space.root / "logs" / "commits-2026-11.jsonl"


def commit_of(ledger: Ledger, space: Space, key: str) -> str | None:
    ledger.look(space)
    return ledger.known(space, key)


def test_keys_and_numbers_are_read_from_all_months(space: Space) -> None:
    log(space).write_text(line(3, "k3 ü") + line(7, None) + line(5, 'with "quotes" \\'))
    log(space).with_name("commits-2026-10.jsonl").write_text(line(2, "k2"))
    ledger = Ledger(space.root)
    assert commit_of(ledger, space, "k3 ü") == "c3-aaaaaa"
    assert commit_of(ledger, space, 'with "quotes" \\') == "c5-aaaaaa"
    assert commit_of(ledger, space, "k2") == "c2-aaaaaa"
    assert commit_of(ledger, space, "k") is None
    assert commit_of(ledger, space, "null") is None
    assert ledger.highest == 7


def test_what_is_added_and_what_git_replaces_is_noticed(space: Space) -> None:
    ledger = Ledger(space.root)
    assert commit_of(ledger, space, "k1") is None
    log(space).write_text(line(1, "k1"))
    assert commit_of(ledger, space, "k1") == "c1-aaaaaa"
    with log(space).open("a") as file:
        file.write(line(2, "k2"))
    assert commit_of(ledger, space, "k2") == "c2-aaaaaa"
    merged = log(space).with_name("merged")
    merged.write_text(line(1, "kx") + line(2, "k2") + line(9, "k9", "zzzzzz"))
    merged.replace(log(space))
    assert commit_of(ledger, space, "k9") == "c9-zzzzzz"
    assert commit_of(ledger, space, "k1") is None
    assert ledger.highest == 9
    log(space).unlink()
    assert commit_of(ledger, space, "k2") is None
    assert ledger.highest == 9


def test_lines_in_another_form_and_rubbish(space: Space) -> None:
    text = '{ "key": "k4", "id": "c4-bbbbbb" }\n<<<<<<< HEAD\n{"id": 5}\n[1]\nnull\n\n{"id":"c6-cccccc","v":1}\n'
    log(space).write_bytes(text.encode() + b"\xff\xfe\n" + line(8, "k8").encode().rstrip(b"\n"))
    ledger = Ledger(space.root)
    assert commit_of(ledger, space, "k4") == "c4-bbbbbb"
    assert commit_of(ledger, space, "k8") == "c8-aaaaaa"
    assert ledger.highest == 8


def undoing(sequence: int, other: int, key: str | None = None) -> str:
    return commit_json(replace(NONE, id=f"c{sequence}-aaaaaa", key=key, undoes=f"c{other}-aaaaaa")) + "\n"


def test_the_key_of_what_was_undone_is_free_until_the_undoing_is_undone(space: Space) -> None:
    ledger = Ledger(space.root)
    log(space).with_name("commits-2026-10.jsonl").write_text(line(1, "k1") + line(2, "k2"))
    log(space).write_text(undoing(3, 1, "request 7"))
    assert (commit_of(ledger, space, "k1"), commit_of(ledger, space, "k2")) == (None, "c2-aaaaaa")
    assert commit_of(ledger, space, "request 7") == "c3-aaaaaa"
    with log(space).open("a") as file:
        file.write(line(4, "k1"))
    assert commit_of(ledger, space, "k1") == "c4-aaaaaa"
    with log(space).open("a") as file:
        file.write('{ "undoes": "c4-aaaaaa", "id": "c5-aaaaaa" }\n' + undoing(6, 3))
    assert commit_of(ledger, space, "k1") == "c1-aaaaaa"
