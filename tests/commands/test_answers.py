"""Questions with nobody to answer: no command waits, the end of input is never a yes, an option answers each."""

import hashlib
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from onepen.testing.program import LIMIT, PROGRAM, Program

# How stdin may look where nobody answers.
NOBODY = ["</dev/null", "< <(printf y)", "< <(printf 'y\\n')", "< <(yes)", "<&-"]


class Waiting:
    """A workspace with one draft that was shown and then changed, so that approving it needs an answer."""

    def __init__(self, folder: Path, draft: dict[str, str]) -> None:
        self.onepen = Program(folder)
        self.id, self.target = draft["id"], folder / "ws" / draft["target"]
        self.file = folder / "ws" / draft["path"]

    def change(self, line: str) -> None:
        self.file.write_bytes(self.file.read_bytes() + line.encode())

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.file.read_bytes()).hexdigest()

    def memory(self) -> dict[Path, bytes]:
        root = self.onepen.home / "ws"
        places = ("projects", "research", "memory", "logs")
        return {path: path.read_bytes() for place in places for path in (root / place).rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Waiting:
    onepen = Program(tmp_path_factory.mktemp("answers"))
    onepen.ok("init", "ws")
    (onepen.home / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    result = onepen.json("delegate", "At what was cone 6 reached?", "--input", "cones.md", "-C", "ws")
    (draft,) = result["tasks"][0]["drafts"]
    onepen.ok("show", draft["id"], "-C", "ws")
    waiting = Waiting(onepen.home, draft)
    waiting.change("By hand.\n")
    return waiting


@pytest.fixture
def waiting(begun: Waiting, tmp_path: Path) -> Waiting:
    """A copy for each test: a workspace can be moved."""
    copy = tmp_path / "copy"
    shutil.copytree(begun.onepen.home, copy)
    root = begun.onepen.home / "ws"
    places = {"target": begun.target, "path": begun.file}
    return Waiting(copy, {"id": begun.id, **{key: str(path.relative_to(root)) for key, path in places.items()}})


@pytest.mark.parametrize("stdin", NOBODY)
def test_approving_what_changed_ends_with_3_and_names_the_option(stdin: str, waiting: Waiting) -> None:
    before, begun = waiting.memory(), time.monotonic()
    ran = waiting.onepen.shell(f"{PROGRAM} -C ws approve {waiting.id} {stdin}")
    assert ran.code == 3 and time.monotonic() - begun < 5
    assert f"--sha256 {waiting.sha256}" in ran.out
    assert "+By hand." in ran.out
    assert waiting.memory() == before and not waiting.target.exists()


def test_the_same_with_json_is_one_document_that_holds_the_diff(waiting: Waiting) -> None:
    ran = waiting.onepen("approve", waiting.id, "--json", "-C", "ws")
    assert ran.code == 3
    (decision,) = ran.json["decisions"]
    assert (decision["outcome"], decision["sha256"], ran.json["commit"]) == ("needs_person", waiting.sha256, None)
    assert "+By hand." in decision["diff"]


def test_stdin_may_be_a_socket(waiting: Waiting) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"y\n")
        done = subprocess.run(
            [PROGRAM, "-C", "ws", "approve", waiting.id],
            cwd=waiting.onepen.home, env=waiting.onepen.env, stdin=theirs.fileno(), capture_output=True, timeout=LIMIT,
        )  # fmt: skip
    assert done.returncode == 3 and not waiting.target.exists()


def test_under_nohup(waiting: Waiting) -> None:
    ran = waiting.onepen.shell(f"nohup {PROGRAM} -C ws approve {waiting.id}")
    assert ran.code == 3 and not waiting.target.exists()


def test_with_the_option_it_works_without_a_terminal(waiting: Waiting) -> None:
    ran = waiting.onepen("approve", waiting.id, "--sha256", waiting.sha256, "-C", "ws")
    assert ran.code == 0
    assert "By hand." in waiting.target.read_text()


def test_other_bytes_than_those_named_are_not_approved(waiting: Waiting) -> None:
    named = waiting.sha256
    waiting.change("And more.\n")
    ran = waiting.onepen("approve", waiting.id, "--sha256", named, "-C", "ws")
    assert ran.code in (1, 2, 3) and not waiting.target.exists()


@pytest.mark.parametrize(
    ("typed", "code"), [(b"\x04", 3), (b"\n", 3), (b"n\n", 3), (b"no\n", 3), (b"yeah\n", 3), (b"y\n", 0), (b"YES\n", 0)]
)
def test_on_a_terminal_the_new_diff_is_shown_and_asked_about(typed: bytes, code: int, waiting: Waiting) -> None:
    ran = waiting.onepen.terminal("approve", waiting.id, "-C", "ws", types=typed, env={"NO_COLOR": "1"})
    assert ran.code == code, ran.screen
    assert "+By hand." in ran.screen and "[y/N]" in ran.screen
    assert waiting.target.exists() == (code == 0)


@pytest.mark.parametrize(("verb", "stdin"), [*(("reject", stdin) for stdin in NOBODY), ("send-back", "</dev/null")])
def test_a_missing_reason_names_its_option(verb: str, stdin: str, waiting: Waiting) -> None:
    before = waiting.memory()
    ran = waiting.onepen.shell(f"{PROGRAM} -C ws {verb} {waiting.id} {stdin}")
    assert (ran.code, ran.out) == (3, "")
    assert f'onepen {verb} {waiting.id} -m "why"' in ran.err
    assert waiting.memory() == before
    assert waiting.onepen.json("drafts", "-C", "ws")["drafts"][0]["id"] == waiting.id


@pytest.mark.parametrize(("typed", "code"), [(b"\x04", 3), (b"\n", 3), (b"not our voice\n", 0)])
def test_on_a_terminal_the_reason_is_asked_for(typed: bytes, code: int, waiting: Waiting) -> None:
    ran = waiting.onepen.terminal("reject", waiting.id, "-C", "ws", types=typed)
    assert ran.code == code, ran.screen
    (draft,) = waiting.onepen.json("drafts", "--all", "-C", "ws")["drafts"]
    assert (draft["status"], draft["reason"]) == (
        ("refused", "not our voice") if code == 0 else ("waiting", "a person decides")
    )


def test_the_reason_may_come_from_stdin(waiting: Waiting) -> None:
    assert waiting.onepen("reject", waiting.id, "-m", "-", "-C", "ws", stdin="too long\n").code == 0
    (draft,) = waiting.onepen.json("drafts", "--all", "-C", "ws")["drafts"]
    assert draft["reason"] == "too long"


@pytest.mark.parametrize("stdin", ["</dev/null", "<&-"])
def test_an_editor_is_not_opened_without_a_terminal(stdin: str, waiting: Waiting) -> None:
    ran = waiting.onepen.shell(f"EDITOR='touch opened' {PROGRAM} -C ws edit {waiting.id} {stdin}")
    assert ran.code == 3
    assert str(waiting.file) in ran.err and f"onepen approve {waiting.id}" in ran.err
    assert not (waiting.onepen.home / "opened").exists()


def test_an_edit_on_a_terminal_shows_the_new_change_and_needs_no_second_answer(waiting: Waiting) -> None:
    ran = waiting.onepen.terminal(
        "edit", waiting.id, "-C", "ws", env={"EDITOR": "sed -i s/1222/1223/", "NO_COLOR": "1"}
    )
    assert ran.code == 0, ran.screen
    assert "1223" in ran.screen and "1222 degrees" not in ran.screen.split("sha256")[1]
    waiting.onepen.ok("show", waiting.id, "-C", "ws")


def test_without_an_editor_the_file_is_named(waiting: Waiting) -> None:
    ran = waiting.onepen.terminal("edit", waiting.id, "-C", "ws")
    assert ran.code == 2
    assert "EDITOR" in ran.screen and waiting.file.name in ran.screen


@pytest.mark.parametrize("stdin", ["</dev/null", "< <(printf y)", "<&-"])
def test_init_over_a_folder_with_files_asks_nothing_and_keeps_them(stdin: str, tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    (tmp_path / "SOUL.md").write_text("mine\n")
    ran = onepen.shell(f"{PROGRAM} init . {stdin}")
    assert ran.code == 0
    assert (tmp_path / "SOUL.md").read_text() == "mine\n"
    again = onepen.ok("init", ".")
    assert "nothing was missing" in again.out


def test_several_drafts_can_be_decided_at_once_and_a_short_beginning_is_enough(waiting: Waiting) -> None:
    task = waiting.id.rsplit("-", 1)[0]
    ran = waiting.onepen.ok("show", task[: len(task) - 1], "-C", "ws")
    assert re.search(rf"\b{waiting.id}\b", ran.out)


def test_an_id_that_fits_nothing_or_too_much(waiting: Waiting) -> None:
    ran = waiting.onepen("show", "nope", "-C", "ws")
    assert (ran.code, ran.out) == (2, "") and "nope" in ran.err
    task = waiting.id.rsplit("-", 1)[0]
    (waiting.onepen.home / "ws/staging" / f"{task[:4]}zzzz").mkdir()
    ran = waiting.onepen("approve", task[:4], "-C", "ws")
    assert (ran.code, ran.out) == (2, "")
    assert task in ran.err and f"{task[:4]}zzzz" in ran.err
