"""`approve` on a terminal: what is committed was on the screen, and a person said yes to it."""

import shutil
from pathlib import Path

import pytest

from onepen.testing.program import Program

PLAIN = {"NO_COLOR": "1"}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    onepen = Program(tmp_path_factory.mktemp("approving"))
    onepen.ok("init", "ws")
    (onepen.home / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    onepen.ok("delegate", "At what was cone 6 reached?", "--input", "cones.md", "-C", "ws")
    return onepen.home


@pytest.fixture
def onepen(begun: Path, tmp_path: Path) -> Program:
    shutil.copytree(begun, tmp_path / "copy")
    return Program(tmp_path / "copy")


def waiting(onepen: Program) -> str:
    (draft,) = onepen.json("drafts", "-C", "ws")["drafts"]
    return str(draft["id"])


def file_of(onepen: Program) -> Path:
    (draft,) = onepen.json("drafts", "-C", "ws")["drafts"]
    return onepen.home / "ws" / str(draft["path"])


def test_a_draft_that_nobody_saw_is_shown_and_asked_about(onepen: Program) -> None:
    id_ = waiting(onepen)
    ran = onepen.terminal("approve", id_, "-C", "ws", env=PLAIN, types=b"y\n")
    assert ran.code == 0 and f"Approve {id_}? [y/N]" in ran.screen
    assert "1222 degrees" in ran.screen.split("[y/N]")[0]
    assert f"{id_}: committed" in ran.screen


@pytest.mark.parametrize("typed", [b"n\n", b"\n", b"\x04"])
def test_no_leaves_the_draft_and_the_next_approve_asks_again(typed: bytes, onepen: Program) -> None:
    id_ = waiting(onepen)
    for _ in range(2):
        ran = onepen.terminal("approve", id_, "-C", "ws", env=PLAIN, types=typed)
        assert ran.code == 3 and f"not approved: {id_} stays as it is" in ran.screen
        assert "[y/N]" in ran.screen and "--sha256" not in ran.screen
    assert waiting(onepen) == id_


def test_yes_answers_for_a_draft_as_it_was_collected(onepen: Program) -> None:
    ran = onepen.terminal("approve", waiting(onepen), "--yes", "-C", "ws", env=PLAIN)
    assert ran.code == 0 and "[y/N]" not in ran.screen


def test_yes_does_not_answer_for_a_draft_that_was_changed(onepen: Program) -> None:
    id_, file = waiting(onepen), file_of(onepen)
    file.write_text(file.read_text() + "By hand.\n")
    ran = onepen("approve", id_, "--yes", "-C", "ws")
    assert ran.code == 3 and "--yes doesn't answer for this" in ran.out
    assert onepen.terminal("approve", id_, "--yes", "-C", "ws", env=PLAIN, types=b"n\n").code == 3
    assert waiting(onepen) == id_


def test_a_long_change_is_cut_to_the_screen_and_says_how_to_see_all(onepen: Program) -> None:
    id_, file = waiting(onepen), file_of(onepen)
    file.write_text(file.read_text() + "".join(f"Line {k}.\n" for k in range(200)))
    ran = onepen.terminal("approve", id_, "-C", "ws", env=PLAIN, types=b"n\n")
    assert "more lines not shown" in ran.screen and f"onepen show {id_}" in ran.screen
    assert len(ran.screen.splitlines()) < 60 and "Line 199." not in ran.screen


def test_without_a_terminal_an_unchanged_draft_passes(onepen: Program) -> None:
    assert onepen("approve", waiting(onepen), "-C", "ws").code == 0


def test_a_blocked_draft_says_what_can_be_done_with_it(onepen: Program) -> None:
    id_, file = waiting(onepen), file_of(onepen)
    file.write_text(file.read_text().replace("1222", "1223"))
    said = f"onepen edit {id_}, or reject -m"
    shown = onepen.ok("show", id_, "-C", "ws").out
    assert said in shown and "onepen approve" not in shown
    ran = onepen("approve", id_, "-C", "ws")
    assert ran.code == 1 and said in ran.out


def test_a_committed_draft_shows_what_it_changed_and_is_not_rejected(onepen: Program) -> None:
    id_ = waiting(onepen)
    onepen.ok("approve", id_, "-C", "ws")
    shown = onepen.ok("show", id_, "-C", "ws").out
    assert "changed: research/" in shown and "1222 degrees" in shown.split("+++")[1]
    assert "can't be made" not in shown and "Next:" not in shown
    ran = onepen("reject", id_, "-m", "late", "-C", "ws")
    assert ran.code == 1 and f"{id_}: can't be rejected: it is in memory already" in ran.out


def test_a_task_means_its_one_draft_that_waits(onepen: Program) -> None:
    first = waiting(onepen)
    task = first.rpartition("-")[0]
    folder = file_of(onepen).parent
    onepen.ok("approve", task, "-C", "ws")
    assert folder.is_dir()
    listed = onepen.ok("drafts", "--all", "-C", "ws").out
    assert "finding" not in listed and "Next:" not in listed


def test_the_offline_model_can_not_follow_remarks(onepen: Program) -> None:
    id_ = waiting(onepen)
    ran = onepen("send-back", id_, "-m", "shorter", "-C", "ws")
    assert (ran.code, ran.out) == (2, "")
    assert "can't follow remarks" in ran.err and f"onepen edit {id_}" in ran.err
    assert waiting(onepen) == id_


def test_what_is_offered_next_is_not_refused(onepen: Program) -> None:
    id_ = waiting(onepen)
    shown = onepen.ok("show", id_, "-C", "ws").out
    assert f"Next: onepen approve {id_}, or edit, reject -m" in shown
    assert onepen("send-back", id_, "-m", "shorter", "-C", "ws").code == 2, "offline can't follow remarks"
    file_of(onepen).write_text("no front matter\n")
    assert f"Next: onepen edit {id_}, or reject -m" in onepen.ok("show", id_, "-C", "ws").out
