"""The sessions that the docs show are real: they are run again, and print what the pages say."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.timeout(180)  # a page starts up to twenty programs, one after another


@pytest.fixture(scope="module")
def session() -> ModuleType:
    spec = importlib.util.spec_from_file_location("session", REPOSITORY / "docs" / "session.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = ["README.md", "docs/tutorial.md", "docs/how-to/batches.md", "docs/how-to/git.md", "docs/how-to/history.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_shows_what_the_commands_print(session: ModuleType, page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    again, changed = session.rerun(text)
    assert changed == [], f"run: python docs/session.py {page}"
    assert again == text


def test_a_page_that_tells_another_story_is_found_out(session: ModuleType) -> None:
    true = "$ echo one && echo two\none\n…\n"
    page = f"Look:\n\n```console\n{true}$ printf 'a\\nb\\n'\na\nc\n$ false\n(exit 1)\n```\n\nSo.\n"
    again, changed = session.rerun(page)
    assert [one.splitlines()[0] for one in changed] == ["$ printf 'a\\nb\\n'"]
    assert again == page.replace("a\nc\n", "a\nb\n")


def test_the_shell_stays_where_the_page_went(session: ModuleType) -> None:
    again, _ = session.rerun("```console\n$ mkdir -p a/b && cd a\n$ cd b\n$ pwd\n```\n")
    assert again.endswith("$ pwd\n/tmp/a/b\n```\n")


@pytest.mark.parametrize(
    ("told", "printed"),
    [
        ("ab1cdef2  researcher  in_review\nNext: onepen show ab1cdef2-1\n",
         "xk9mnop3  researcher  in_review\nNext: onepen show xk9mnop3-1\n"),
        ("committed as c1-abcdef\n  memory/2026-11-30.md\n", "committed as c1-zzzzzz\n  memory/2027-01-02.md\n"),
        ("commit: c2-abcdef  2026-11-30T23:59:01+00:00\n", "commit: c2-zzzzzz  2026-12-01T00:01:44+00:00\n"),
        ("one\n…\nfour\n", "one\ntwo\nthree\nfour\n"),
        ("…\n", ""),
    ],
)  # fmt: skip
def test_what_differs_from_run_to_run_is_passed_over(session: ModuleType, told: str, printed: str) -> None:
    assert session.agrees(told, printed)


@pytest.mark.parametrize(
    ("told", "printed"),
    [
        ("committed as c1-abcdef\n", "committed as c2-abcdef\n"),
        ("ab1cdef2  researcher  in_review\n", "ab1cdef2  researcher  committed\n"),
        ('> "Fire at 1220." (inputs/a.md:3)\n', '> "Fire at 1220." (inputs/a.md:4)\n'),
        ("one\n…\nfour\n", "one\ntwo\n"),
        ("one\n", "one\ntwo\n"),
    ],
)
def test_what_counts_is_compared(session: ModuleType, told: str, printed: str) -> None:
    assert not session.agrees(told, printed)
