"""What is quoted of the lines around a hit."""

from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.extractive.excerpt import distinct, excerpt

PATH = "inputs/a.md"


def quote(text: str, line: int, question: str) -> list[str]:
    lines = dict(enumerate(dedent(text).split("\n"), start=1))
    found = excerpt(PATH, lines, line, question)
    return [] if found is None else found.render().split("\n")


def test_a_short_paragraph_is_quoted_whole() -> None:
    text = """\
        # Log

        The glaze cracked because the kiln
        door was opened."""
    assert quote(text, 3, "Why did the glaze crack?") == [
        f'> "The glaze cracked because the kiln" ({PATH}:3)',
        f'> "door was opened." ({PATH}:4)',
    ]


def test_a_heading_goes_along_when_it_says_what_the_text_does_not() -> None:
    assert quote("## Firing\n\n- 1220 degrees", 3, "At which temperature is the firing?") == [
        f'> "## Firing" ({PATH}:1)',
        f'> "1220 degrees" ({PATH}:3)',
    ]
    assert quote("## Firing\n\n- firing at 1220 degrees", 3, "At which temperature is the firing?") == [
        f'> "firing at 1220 degrees" ({PATH}:3)'
    ]


def test_of_a_long_line_the_sentence_that_answers_is_quoted() -> None:
    filler = "Nothing of note happened in the studio on that day. " * 10
    text = f"{filler}The glaze cracked at noon. {filler}"
    assert quote(text, 1, "When did the glaze crack?") == [f'> "The glaze cracked at noon." ({PATH}:1)']


def test_of_a_long_paragraph_the_lines_of_the_sentence_are_quoted() -> None:
    rows = [f"Line {n} says that nothing happened on this day of the year, which was a long one." for n in range(12)]
    rows[5] = "The glaze cracked because the kiln door was opened by"
    rows[6] = "a curious visitor."
    assert [row[-2] for row in quote("\n".join(rows), 6, "Why did the glaze crack?")] == ["6", "7"]


def test_a_table_row_is_quoted_with_the_line_of_its_columns() -> None:
    text = "| cone | degrees |\n|---|---|\n| 6 | 1222 |\n| 10 | 1285 |"
    rows = [f'> "| cone | degrees |" ({PATH}:1)', f'> "| 6 | 1222 |" ({PATH}:3)']
    assert quote(text, 3, "How many degrees is cone 6?") == rows
    assert quote(text, 1, "Which cone?") == rows[:1]


def test_nothing_is_quoted_of_a_blank_or_missing_line() -> None:
    assert quote("a\n\nb", 2, "a?") == []
    assert quote("a", 7, "a?") == []


def test_the_same_text_is_quoted_once() -> None:
    lines = {
        1: "Cone 6 is 1222.",
        3: "Cone 6 is 1222.",
        5: '> "Cone 6 is 1222." (inputs/b.md:4)',
        7: "Cone 10 is 1285.",
    }
    found = [excerpt(PATH, lines, n, "cone 6?") for n in (1, 3, 5, 7)]
    kept = distinct([one for one in found if one is not None], 6)
    assert [one.pieces[0].line for one in kept] == [1, 7]


def test_of_one_passage_one_excerpt_is_kept_the_best() -> None:
    lines = {1: "The glaze cracked. " + "It was a day like any other in the studio. " * 12, 2: "The glaze ran, too."}
    found = [excerpt(PATH, lines, n, "What did the glaze do?") for n in (2, 1)]
    [kept] = distinct([one for one in found if one is not None], 6)
    assert kept == found[0]


def test_the_heading_of_an_earlier_finding_is_not_quoted() -> None:
    rows = ["## Is the glaze safe?", "", '> "No, never." (inputs/b.md:4)']
    for path, quoted in (("research/glaze.md", 1), ("inputs/glaze.md", 2)):
        found = excerpt(path, dict(enumerate(rows, 1)), 3, "Is the glaze safe?")
        assert found is not None
        assert len(found.pieces) == quoted


def test_a_sentence_that_runs_over_lines_is_one_statement() -> None:
    lines = {1: "Nobody may say that", 2: "glazes are safe. It is", 3: "not so."}
    found = excerpt(PATH, lines, 2, "Are glazes safe?")
    assert found is not None
    assert found.statements == ("Nobody may say that glazes are safe. It is not so.",)
    assert found.places == (f"{PATH}:1", f"{PATH}:2", f"{PATH}:3")


@given(rows=st.lists(st.text(max_size=60).filter(lambda t: "\n" not in t), min_size=1, max_size=12), data=st.data())
def test_whatever_the_lines_each_piece_stands_in_its_line(rows: list[str], data: st.DataObject) -> None:
    lines = dict(enumerate(rows, start=1))
    line = data.draw(st.integers(1, len(rows)))
    found = excerpt(PATH, lines, line, "What about the kiln?")
    for piece in () if found is None else found.pieces:
        assert piece.text in lines[piece.line]
        assert piece.text.strip()
