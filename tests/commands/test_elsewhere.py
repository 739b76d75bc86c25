"""One rule for what waits: the space where you stand, and one line about the others."""

import pytest

from onepen.testing.program import Program


@pytest.fixture(scope="module")
def onepen(tmp_path_factory: pytest.TempPathFactory) -> Program:
    onepen = Program(tmp_path_factory.mktemp("elsewhere"))
    onepen.ok("init", "ws")
    (onepen.home / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    onepen.ok("add", "client", "Acme Ltd", "--id", "acme", "-C", "ws")
    for where in ([], ["--client", "acme"]):
        onepen.ok("delegate", "At what was cone 6 reached?", "--input", "cones.md", *where, "-C", "ws")
    return onepen


def test_at_the_root_the_houses_drafts_wait_and_the_clients_are_counted(onepen: Program) -> None:
    said = onepen.ok("-C", "ws").out
    assert said.startswith("1 draft waits for you:\n")
    assert "1 more waits at clients: acme 1 (onepen drafts --all-clients)\n" in said
    assert len(onepen.json("drafts", "-C", "ws")["drafts"]) == 1
    assert onepen.json("status", "-C", "ws")["drafts_waiting"] == 1


def test_in_a_clients_folder_that_clients_drafts_wait(onepen: Program) -> None:
    said = onepen.ok("-C", "ws/clients/acme").out
    assert said.startswith("1 draft waits for you:\n  ") and "clients/acme/research/" in said
    assert "1 more waits elsewhere: the house 1 (onepen drafts --all-clients)\n" in said
    document = onepen.json("-C", "ws/clients/acme")
    assert document["elsewhere"] == [{"client": None, "drafts_waiting": 1, "interrupted": 0}]


def test_a_task_in_review_lists_its_drafts(onepen: Program) -> None:
    for args in (["status"], []):
        document = onepen.json(*args, "-C", "ws")
        (task,) = document["tasks"]
        (draft,) = task["drafts"]
        assert (draft["status"], draft["id"]) == ("waiting", f"{task['task']}-1")
        assert task["reason"] == f"a person decides on {draft['id']}"


def test_clients_are_listed_with_their_titles(onepen: Program) -> None:
    assert "clients: acme (Acme Ltd)\n" in onepen.ok("status", "-C", "ws").out


def test_inputs_that_were_left_out_are_said_once_and_a_named_link_is_told(onepen: Program) -> None:
    folder = onepen.home / "mixed"
    folder.mkdir()
    (folder / "a.md").write_text("Cone 6 was reached.\n")
    (folder / "b.bin").write_bytes(b"\x00\x01")
    (onepen.home / "link.md").symlink_to(folder / "a.md")
    ran = onepen.ok("delegate", "Cone 6?", "--answer", "--input", "mixed", "--input", "link.md", "-C", "ws")
    assert (ran.out + ran.err).count("b.bin") == 1
    assert f"--input link.md is a link; what is read is {folder / 'a.md'}" in ran.err
