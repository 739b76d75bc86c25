from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.recall.passage import MAX_CODE_LINES, MAX_LINES, Passage, passages, split_lines

CARD = dedent("""\
    ---
    title: Kiln
    ---
    # Kiln

    ## Firing

    Twice a month:

    - fire at 1220
      and hold
      - only stoneware
    - cool slowly

    | Cone | °C |
    |---|---|
    | 6 | 1222 |

    ```sh
    # no heading
    fire --now
    ```
    ## Empty
    ## Last
""")


def cut(text: str, path: str = "projects/kiln.md") -> list[tuple[int, int, str]]:
    return [(p.line, p.end, p.text) for p in passages(path, text)]


def test_a_card_is_cut_at_its_blocks() -> None:
    assert cut(CARD) == [
        (1, 3, "---\ntitle: Kiln\n---"),
        (4, 8, "# Kiln\n\n## Firing\n\nTwice a month:"),
        (10, 11, "- fire at 1220\n  and hold"),
        (12, 12, "  - only stoneware"),
        (13, 13, "- cool slowly"),
        (17, 17, "| 6 | 1222 |"),
        (19, 22, "```sh\n# no heading\nfire --now\n```"),
        (23, 23, "## Empty"),
        (24, 24, "## Last"),
    ]


def test_the_context_says_what_a_passage_is_about() -> None:
    by_line = {p.line: p.context for p in passages("projects/kiln.md", CARD)}
    assert "Firing" in by_line[10] and "Twice a month" in by_line[10]
    assert "fire at 1220" in by_line[12]
    assert "Cone" in by_line[17]


def test_underlined_headings_are_headings() -> None:
    found = passages("notes.rst", "Backups\n-------\n\nEvery night.\n\nOften.\n")
    assert [p.line for p in found] == [1, 6]
    assert found[1].context == "Backups"


def test_files_of_lines_are_cut_into_lines() -> None:
    assert cut("name,days\nWeiss,5\n\nBehrens,9\n", "s.csv") == [
        (1, 1, "name,days"),
        (2, 2, "Weiss,5"),
        (4, 4, "Behrens,9"),
    ]
    assert passages("s.csv", "name,days\nWeiss,5\n")[1].context == "name,days"


def test_code_is_cut_at_blank_lines_and_its_remarks_are_no_headings() -> None:
    assert cut("# one\na = 1\n\nb = 2\n", "x.py") == [(1, 2, "# one\na = 1"), (4, 4, "b = 2")]


def test_long_blocks_are_cut_to_size() -> None:
    assert all(p.end - p.line < MAX_LINES for p in passages("a.md", "word\n" * 100))
    assert all(p.end - p.line < MAX_CODE_LINES for p in passages("a.py", "x = 1\n" * 100))
    assert all(p.end - p.line < MAX_CODE_LINES for p in passages("a.md", "```\n" + "x\n" * 100 + "```\n"))


@given(
    st.text(alphabet=st.sampled_from("a#- \n\r|`~=*1.\t>\u2028é"), max_size=200),
    st.sampled_from(["a.md", "a.csv", "a.py", "a", "a.jsonl"]),
)
def test_passages_are_the_lines_of_the_file_in_order(text: str, path: str) -> None:
    lines = split_lines(text)
    found = passages(path, text)
    last = 0
    for passage in found:
        assert last < passage.line <= passage.end <= len(lines)
        assert passage.text.split("\n") == lines[passage.line - 1 : passage.end]
        last = passage.end
    covered = {n for p in found for n in range(p.line, p.end + 1)}
    left = [line for n, line in enumerate(lines, 1) if n not in covered and any(c.isalnum() for c in line)]
    assert left == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_ends_are_no_part_of_a_passage(end: str) -> None:
    assert passages("a.md", f"one{end}two{end}") == (Passage("a.md", 1, 2, "one\ntwo"),)
