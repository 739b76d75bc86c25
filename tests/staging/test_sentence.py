"""Where a sentence ends, and where in doubt it doesn't."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.staging.sentence import Paragraphs, sentences


@pytest.mark.parametrize(
    "line",
    [
        "Nobody may say e.g. lead glazes are safe.",
        "Nobody may say e.g. Lead glazes are safe.",
        "Heat it approx. never.",
        "Das gilt z.B. Nie für Blei.",
        "Das gilt z. B. Nie für Blei.",
        "Glasuren vgl. Blei sind bzw. Waren nie sicher.",
        "Am 3. November brannte nichts.",
        "See No. 5 of the list and fig. 3.5 too.",
        "Never ask Dr. Müller or J. S. Bach.",
        "Selon M. Dupont le plomb est sûr.",
        "El Sr. Pérez nunca dijo eso.",
        'He lied: "Lead is safe. Drink from it," and left.',
        "Er log: „Blei ist sicher. Trink daraus“ und ging.",
        "Nothing (not even this. Lead is safe) holds.",
        "Lead is safe... Not at all",
        "Lead is … Not safe",
        "It ended at 5 p.m. Nobody came.",
        "What? not so.",
    ],
)
def test_no_sentence_is_cut(line: str) -> None:
    assert sentences(line) == (line,)


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("It held at 1222. Then it cooled.", ("It held at 1222.", "Then it cooled.")),
        ("I say no. Lead is bad.", ("I say no.", "Lead is bad.")),
        (
            "We left the DNS. It is 22 °C. Öfen kühlen.",
            ("We left the DNS.", "It is 22 °C.", "Öfen kühlen."),
        ),
        ("- One! Two? 3 of them.", ("One!", "Two?", "3 of them.")),
        ("(All of it.) Then more.", ("(All of it.)", "Then more.")),
        ("窯は千二百度。冷めた。", ("窯は千二百度。", "冷めた。")),
    ],
)
def test_sentences_are_told_apart(line: str, pieces: tuple[str, ...]) -> None:
    assert sentences(line) == pieces


@pytest.mark.parametrize(
    ("text", "firsts"),
    [
        ("a\nb\n\nc", [1, 1, 3, 4]),
        ("# a\nb", [1, 2]),
        ("- a\n  b\n- c", [1, 1, 3]),
        ("1. a\n2. b\nc", [1, 2, 2]),
        ("it ended in\n1998. Then", [1, 1]),
        ("> a\n> b\nc", [1, 1, 1]),
        ('> "a" (inputs/x.md:1)\n> "b" (inputs/x.md:2)', [1, 2]),
        ("| a |\n| b |", [1, 2]),
        ("a\n===\nb", [1, 2, 3]),
    ],
)
def test_paragraphs(text: str, firsts: list[int]) -> None:
    lines = text.split("\n")
    for path, expected in (("a.md", firsts), ("a.csv", list(range(1, len(lines) + 1)))):
        paragraphs = Paragraphs(path, lines)
        assert [paragraphs.at(n).first for n in range(1, len(lines) + 1)] == expected


@given(st.text(max_size=200))
def test_sentences_leave_no_character_out(line: str) -> None:
    pieces = sentences(line.replace("\n", " "))
    at = 0
    for piece in pieces:
        at = line.replace("\n", " ").index(piece, at) + len(piece)


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=30), min_size=1, max_size=8))
def test_each_line_stands_where_its_paragraph_says(lines: list[str]) -> None:
    paragraphs = Paragraphs("a.md", lines)
    for number, line in enumerate(lines, 1):
        paragraph = paragraphs.at(number)
        begin, end = paragraph.span(number)
        assert paragraph.text[begin:end] in line
        assert paragraph.offset(number, 0) == begin
        assert paragraph.offset(number, len(line)) == end


@pytest.mark.parametrize("text", ["a. " * 300_000, "A. " * 300_000, "(" * 900_000, ". " * 400_000, "「。" * 300_000])
def test_a_mebibyte_takes_no_time(text: str) -> None:
    begun = time.process_time()
    sentences(text)
    Paragraphs("a.md", text.split(" "))
    assert time.process_time() - begun < 5
