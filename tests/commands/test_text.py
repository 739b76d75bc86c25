"""Text for people: nothing from outside has power over the screen, and nothing vital is cut."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.commands.text import because, cut, excerpt, one_line, pad, table, visible, width, wrap


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\x07b\x00c", "a\\x07b\\x00c"),
        ("\u202eevil", "\\u202eevil"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("line\r\nend\r", "line\nend\\x0d"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("Müller 焼成 👩‍👩‍👧 می‌خواهم", "Müller 焼成 👩‍👩‍👧 می‌خواهم"),
        ("half \ud83d", "half \\ud83d"),
    ],
)
def test_visible(raw: str, shown: str) -> None:
    assert visible(raw) == shown


def test_a_reason_does_not_say_the_status_again() -> None:
    assert because("cancelled", "cancelled by user:ana") == " by user:ana"
    assert because("failed", "the worker\ncrashed") == ": the worker crashed"
    assert because("failed", "failedly") == ": failedly"
    assert because("answered", "") == ""


@given(st.text())
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    left = {unicodedata.category(c) for c in visible(text) if c not in "\n\t"}
    assert not left & {"Cc", "Cs", "Zl", "Zp"}


@given(st.text(), st.integers(1, 40))
def test_cut_text_fits(text: str, columns: int) -> None:
    assert width(cut(one_line(text), columns)) <= columns


@given(st.text(max_size=20), st.integers(0, 40))
def test_padded_text_fills(text: str, columns: int) -> None:
    assert width(pad(text, columns)) == max(width(text), columns)


def test_a_wide_character_takes_two_columns() -> None:
    assert width("焼成 a") == 6
    assert cut("焼成焼成", 5) == "焼成…"


def test_a_table_is_aligned_and_its_last_column_cut() -> None:
    rows = [("t1-1", "projects/kiln.md", "researcher, a long remark"), ("t10-12", "MEMORY.md", "x")]
    assert table(rows, 44) == (
        "t1-1    projects/kiln.md  researcher, a lon…\n"
        "t10-12  MEMORY.md         x\n"
    )  # fmt: skip


def test_a_narrow_table_stands_one_field_a_line_and_keeps_ids_whole() -> None:
    rows = [("t1-1", "projects/a-rather-long-card-id.md", "a remark of some length")]
    assert table(rows, 20) == "t1-1\n  projects/a-rather-long-card-id.md\n  a remark of some…\n"


def test_an_empty_table_is_nothing() -> None:
    assert table([], 80) == ""


@pytest.mark.parametrize("columns", [10, 20, 40])
def test_wrapping_breaks_at_blanks_only_and_loses_nothing(columns: int) -> None:
    line = "  onepen: projects/a-very-long-name-of-a-card.md: this can't be read (next: onepen doctor)\n"
    rows = wrap(line, columns).splitlines()
    assert " ".join(rows).split() == line.split()
    assert all(width(row) <= columns or len(row.split()) == 1 for row in rows)
    assert wrap(line, 200) == line


def test_an_excerpt_stands_around_the_word() -> None:
    text = "before " * 50 + "glaze " + "after " * 50
    assert "glaze" in excerpt(text, 60, ["Glaze"]) and width(excerpt(text, 60, ["Glaze"])) <= 61
    assert excerpt("short", 60, ["glaze"]) == "short"
