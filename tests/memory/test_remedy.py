"""What `doctor --fix` offers: only what has one right outcome, and never a person's text."""

from datetime import date
from pathlib import Path

import pytest

from onepen.memory.exam.git import missing_lines, with_lines
from onepen.memory.exam.remedy import Fix, may_go, plan
from onepen.memory.problem import Level, Problem
from onepen.memory.scaffold import init, shipped
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace


@pytest.fixture
def view(tmp_path: Path) -> View:
    init(tmp_path, id="abcdefgh", name="", today=date(2026, 11, 29))
    return View(open_workspace(tmp_path))


def problem(kind: str, path: str, level: Level = "error", line: int = 0) -> Problem:
    return Problem(path, line, kind, level, "…")


@pytest.mark.parametrize(
    ("found", "fix"),
    [
        (problem("card_unindexed", "projects/kiln.md"), ("index", "./", 0)),
        (problem("entry_missing", "clients/acme/research/clay.md"), ("index", "clients/acme/", 0)),
        (problem("section_renamed", "projects/_index.md", "warning"), ("index", "./", 0)),
        (problem("agent_unlisted", "agents/poet.md"), ("registry", "agents/poet.md", 0)),
        (problem("day_unsealed", "memory", "info"), ("seal", "memory", 0)),
        (problem("commit_pending", ".onepen/redo/log", "info"), ("settle", ".onepen/redo/log", 0)),
        (problem("leftover", "projects/.kiln.md.c7-abcdef.tmp", "warning"),
         ("aside", "projects/.kiln.md.c7-abcdef.tmp", 0)),
        (problem("journal_line_unreadable", "staging/t1/run.jsonl", "warning", 3), ("line", "staging/t1/run.jsonl", 3)),
        (problem("commit_unreadable", "clients/acme/logs/commits-2026-11.jsonl", "warning", 2),
         ("line", "clients/acme/logs/commits-2026-11.jsonl", 2)),
    ],
)  # fmt: skip
def test_what_is_certain_is_offered(view: View, found: Problem, fix: tuple[str, str, int]) -> None:
    (view.workspace.root / "clients/acme").mkdir(parents=True)
    fixes, left = plan(view, [found])
    assert [(one.kind, one.path, one.line) for one in fixes] == [fix]
    assert left == ()


@pytest.mark.parametrize(
    "found",
    [
        problem("card_missing", "projects/_index.md"),
        problem("entry_orphan", "projects/_index.md"),
        problem("index_stray", "projects/_index.md", "warning"),
        problem("conflict_copy", "projects/kiln (conflicted copy).md", "warning"),
        problem("kept_beside", "projects/kiln.md.due-c7-abcdef", "warning"),
        problem("sealed_line_changed", "memory/2026-11-29.md"),
        problem("leftover", "projects/.kiln.md.swapfile.tmp", "warning"),
        problem("journal_line_unreadable", "staging/t1/run.jsonl", "error", 3),
        problem("commit_unreadable", "logs/commits-2026-11.jsonl", "error", 2),
        problem("seal_unreadable", "logs/seals-2026-11.jsonl", "warning", 2),
    ],
    ids=lambda found: f"{found.kind}-{found.level}",
)
def test_what_is_for_the_person_is_left_to_them(view: View, found: Problem) -> None:
    assert plan(view, [found]) == ((), (found,))


def test_one_fix_answers_all_problems_of_a_spaces_indexes_and_lines_go_from_the_end(view: View) -> None:
    found = [
        problem("journal_line_unreadable", "staging/t1/run.jsonl", "warning", 3),
        problem("entry_missing", "projects/kiln.md", line=4),
        problem("journal_line_unreadable", "staging/t1/run.jsonl", "warning", 8),
        problem("entry_missing", "projects/kiln.md", line=9),
        problem("card_unindexed", "research/clay.md"),
    ]
    fixes, _ = plan(view, found)
    assert [(fix.kind, fix.line) for fix in fixes] == [("index", 0), ("line", 8), ("line", 3)]
    assert fixes[0].what.endswith(": projects/kiln.md, research/clay.md")


def test_where_commits_cannot_be_settled_nothing_is_offered(view: View) -> None:
    found = [problem("commit_unsettled", "projects/_index.md"), problem("card_unindexed", "projects/kiln.md")]
    assert plan(view, found)[0] == ()


def test_a_booking_that_was_being_written_goes_and_a_damaged_one_stays(view: View) -> None:
    path = "logs/usage-2026-11.jsonl"
    (view.workspace.root / "logs").mkdir()
    (view.workspace.root / path).write_text('{"v": 1, "task": "t"}\n{"v": 1, "ta\n{"v": 1, "task": }\n')
    torn, damaged = (problem("usage_unreadable", path, line=number) for number in (2, 3))
    fixes, left = plan(view, [torn, damaged])
    assert [(fix.kind, fix.line) for fix in fixes] == [("line", 2)]
    assert left == (damaged,)


@pytest.mark.parametrize(
    ("path", "line", "goes"),
    [
        ("projects/.kiln.md.new.tmp", 0, True),
        ("staging/t1/.run.jsonl.0a1b2c3d.tmp", 0, True),
        ("projects/kiln.md", 0, False),
        ("memory/2026-11-29.md", 3, False),
        ("projects/kiln.md", 3, False),
        ("logs/seals-2026-11.jsonl", 3, False),
        ("clients/acme/logs/usage-2026-11.jsonl", 3, True),
        ("staging/t1/1/drafts/run.jsonl", 3, False),
    ],
)
def test_nothing_but_remnants_of_our_own_ever_goes(path: str, line: int, goes: bool) -> None:
    assert may_go(path, line) is goes


def test_lines_for_git_are_added_behind_what_a_person_wrote() -> None:
    whole = shipped("gitattributes")
    assert missing_lines(".gitattributes", whole) == ()
    assert with_lines(".gitattributes", whole) == whole
    mine = "*.png binary\n/logs/*.jsonl -text merge=union\n# /memory/[0-9]*-*.md merge=union"
    grown = with_lines(".gitattributes", mine)
    assert grown.startswith(mine + "\n# onepen\n/memory/[0-9]*-*.md merge=union -text\n")
    assert "\n/logs/" in mine and grown.count("/logs/*.jsonl") == 2  # one of them is the clients'
    assert with_lines(".gitattributes", grown) == grown
    assert missing_lines(".gitignore", ".onepen\n") == ("worker.log", "**/staging/*/*/work/")
    assert Fix("git", ".gitignore", "x").line == 0
