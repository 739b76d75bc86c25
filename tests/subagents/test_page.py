import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents.toolbox.page import LINE_CHARS, PAGE_CHARS, PAGE_LINES, Line, lines_of, page, parse_page

texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n\t ()"), max_size=200)


@given(texts, st.integers(1, 20), st.integers(1, 20))
def test_a_page_reads_back_as_it_was(text: str, first: int, most: int) -> None:
    shown = page("inputs/a.md", text, first, most=most)
    assert parse_page(shown.render()) == shown


@given(texts)
def test_pages_follow_each_other_and_leave_nothing_out(text: str) -> None:
    lines: list[str] = []
    while len(lines) < len(lines_of(text)):
        shown = page("inputs/a.md", text, len(lines) + 1, most=3)
        assert [line.number for line in shown.lines] == list(range(len(lines) + 1, len(lines) + len(shown.lines) + 1))
        lines += [line.text for line in shown.lines]
    assert lines == lines_of(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb", ["a", "b"]),
        ("a\x0cb\u2028c", ["a\x0cb\u2028c"]),
    ],
)
def test_a_line_ends_at_a_line_feed(text: str, lines: list[str]) -> None:
    assert lines_of(text) == lines


def test_how_a_page_looks() -> None:
    text = "".join(f"line {k}\n" for k in range(1, 13))
    assert page("projects/kiln.md", text, 9, most=2).render() == (
        "projects/kiln.md, lines 9-10 of 12\n     9\tline 9\n    10\tline 10\n(more: read on with start=11)"
    )
    assert page("projects/kiln.md", text, 11).render().endswith("\tline 12")
    assert page("projects/kiln.md", text, 13).render() == "projects/kiln.md, lines 1-0 of 12"


def test_a_long_file_comes_in_pages() -> None:
    many = page("a", "x\n" * 10_000, most=9_999)
    assert len(many.lines) == PAGE_LINES
    wide = page("a", ("y" * 7_000 + "\n") * 20)
    assert sum(len(line.text) for line in wide.lines) <= PAGE_CHARS
    assert wide.remarks == (f"more: read on with start={len(wide.lines) + 1}",)


@pytest.mark.parametrize("shift", range(4))
@pytest.mark.parametrize("whole", ["👩‍👩‍👧", "🇩🇪", "é"])
def test_a_long_line_is_cut_between_characters(shift: int, whole: str) -> None:
    line = "x" * (LINE_CHARS - len(whole) + shift) + whole + "y" * 100
    (cut,) = page("a", line).lines
    assert cut.cut and len(cut.text) <= LINE_CHARS
    assert line.startswith(cut.text)
    assert cut.text.strip("xy") in ("", whole)
    assert parse_page(page("a", line).render()) == page("a", line)
    assert "+\t" in page("a", line).render()


@pytest.mark.parametrize("text", ["", "Nothing found.", "a, lines 1-2 of 3\nno number", "a, lines 1-2"])
def test_other_text_is_no_page(text: str) -> None:
    assert parse_page(text) is None


def test_a_line_that_looks_like_a_remark_stays_a_line() -> None:
    shown = page("a", "(more: read on with start=7)\n")
    assert shown.lines == (Line(1, "(more: read on with start=7)"),)
    assert parse_page(shown.render()) == shown


PEM = ["-----BEGIN PRIVATE KEY-----", *["MIIFAKE" * 9] * 80, "-----END PRIVATE KEY-----"]


def test_a_secret_is_shown_as_its_kind_and_its_line_is_marked_as_not_whole() -> None:
    shown = page("inputs/a.md", "user: ana\npassword: hunter2-fake\nend\n")
    assert [line.text for line in shown.lines] == ["user: ana", "[a named password]", "end"]
    assert [line.cut for line in shown.lines] == [False, True, False]
    assert parse_page(shown.render()) == shown


@pytest.mark.parametrize("first", [1, 3, 40, 83])
def test_no_page_shows_a_part_of_a_private_key(first: int) -> None:
    text = "\n".join(["key:", *PEM, "end"])
    shown = page("inputs/a.md", text, first, most=10)
    assert "MIIFAKE" not in shown.render()
    assert shown.lines[0].number == first
