"""A history that is followed says at every moment what a reader would."""

from pathlib import Path

import pytest

from onepen.memory.follow import Followed
from onepen.memory.history import read_commits
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.service import Service


@pytest.fixture
def view(root: Path) -> View:
    return View(open_workspace(root))


def test_it_grows_with_the_log(root: Path, view: View, service: Service) -> None:
    followed = Followed(view.workspace.house)
    assert followed.commits(view) == ()
    for n in range(3):
        service.log(f"line {n}")
        assert followed.commits(view) == read_commits(view, view.workspace.house)
        assert len(followed.commits(view)) == n + 1
    assert followed.commits(view) is followed.commits(view), "where nothing came, nothing is done"


def test_a_log_that_was_replaced_or_cut_is_read_anew(root: Path, view: View, service: Service) -> None:
    followed = Followed(view.workspace.house)
    for n in range(4):
        service.log(f"line {n}")
    followed.commits(view)
    (log,) = (root / "logs").glob("commits-*.jsonl")
    rows = log.read_text().splitlines(keepends=True)
    log.write_text("".join(rows[:1] + rows[3:]))
    assert followed.commits(view) == read_commits(view, view.workspace.house) and len(followed.commits(view)) == 2
    log.unlink()
    assert followed.commits(view) == ()
    log.write_text("".join(rows) + rows[0][:40])
    assert len(followed.commits(view)) == 4
    with log.open("a") as file:
        file.write(rows[0][40:])
    assert followed.commits(view) == read_commits(view, view.workspace.house)
