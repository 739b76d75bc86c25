import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onepen.staging.finding import blocked
from onepen.staging.quotes import Quote, QuoteImpossible, check_quotes, quotes, render_quote
from onepen.staging.sentence import sentences

CONES = 'Cones\n\n- cone 6 was reached at 1222 degrees\r\nShe said "stop (now)". It held. Done\n'
SOURCES = {
    "inputs/cones.md": CONES,
    "projects/kiln.md": "# Kiln\nfire at 1200\n",
    "inputs/日本.md": "窯は千二百度。冷めた。\n",
}
LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=60)


def verdicts(line: str) -> list[str]:
    return [finding.message for finding in check_quotes(line, SOURCES.get) if finding.level == "block"]


@pytest.mark.parametrize(
    "line",
    [
        '> "cone 6 was reached at 1222 degrees" (inputs/cones.md:3)',
        '  > "cone 6 was reached at 1222 degrees" (inputs/cones.md:3)',
        '- > "cone 6 was reached at 1222 degrees" (inputs/cones.md:3)\r',
        '> "- cone 6 was reached at 1222 degrees" (inputs/cones.md:3)',
        '> "reached at 1222" (inputs/cones.md:3)',
        '> "She said "stop (now)"." (inputs/cones.md:4)',
        '> "fire at 1200" (projects/kiln.md:2)',
        '> "千二百度" (inputs/日本.md:1)',
    ],
)
def test_a_quote_that_stands_where_it_says_holds(line: str) -> None:
    assert len(quotes(line)) == 1
    assert check_quotes(line, SOURCES.get) == ()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('> "cone 6 was reached at 1223 degrees" (inputs/cones.md:3)', "byte for byte"),
        ('> "Cone 6 was reached at 1222 degrees" (inputs/cones.md:3)', "byte for byte"),
        ('> "cone\u00a06 was reached at 1222 degrees" (inputs/cones.md:3)', "byte for byte"),
        ('> "cone 6 was reached at 1222 degrees" (inputs/cones.md:4)', "byte for byte"),
        ('> "cone 6 was reached at 1222 degrees" (inputs/cones.md:2)', "byte for byte"),
        ('> "cone 6 was reached at 1222 degrees" (inputs/cones.md:99)', "does not exist"),
        ('> "cone 6 was reached at 1222 degrees" (inputs/other.md:3)', "no file"),
        ('> "cone 6 was reached at 1222 degrees" (../cones.md:3)', "no file"),
        ('> "cone 6 was reached at 1222 degrees" (https://example.org/x:3)', "no file"),
        ('> "one 6 was reached" (inputs/cones.md:3)', "cut out of a word"),
        ('> "cone 6 was reach" (inputs/cones.md:3)', "cut out of a word"),
        ('> "1222 degrees and more" (inputs/cones.md:3)', "byte for byte"),
        ('> " " (inputs/cones.md:3)', "nothing is quoted"),
    ],
)
def test_a_quote_that_does_not_is_blocked_with_its_line(line: str, says: str) -> None:
    (finding,) = check_quotes(f"fine\n{line}\n", SOURCES.get, first_line=10)
    assert (finding.kind, finding.level, finding.line) == ("quote", "block", 11)
    assert says in finding.message


@pytest.mark.parametrize(
    "line",
    [
        '> "no place"',
        '> "text" (inputs/cones.md)',
        "> “curly” (inputs/cones.md:3)",
        '> "a" (inputs/cones.md:0)',
        '> "" (inputs/cones.md:3)',
    ],
)
def test_what_only_looks_like_a_quote_is_pointed_at(line: str) -> None:
    assert quotes(line) == ()
    (finding,) = check_quotes(line, SOURCES.get)
    assert (finding.kind, finding.level) == ("quote_form", "warn")


def test_a_plain_block_quote_is_no_quote_of_ours() -> None:
    assert check_quotes("> somebody said so\n>\n", SOURCES.get) == ()


def test_quotes_are_found_with_their_lines() -> None:
    body = '- fire\n  > "fire at 1200" (projects/kiln.md:2)\n\n> "Done" (inputs/cones.md:4)\n'
    assert quotes(body) == (Quote("fire at 1200", "projects/kiln.md", 2, 2), Quote("Done", "inputs/cones.md", 4, 4))


@given(before=LINE, text=LINE, number=st.integers(1, 3))
def test_any_line_can_be_quoted_and_its_quote_holds(before: str, text: str, number: int) -> None:
    text = text.strip()
    assume(text)
    source = "\n".join([*[before] * (number - 1), text, before])
    try:
        line = render_quote(text, "inputs/a (1).md", number)
    except QuoteImpossible:
        assume(False)
    assert quotes(line) == (Quote(text, "inputs/a (1).md", number, 1),)
    assert check_quotes(line, {"inputs/a (1).md": source}.get) == ()


@given(text=LINE, at=st.integers(0, 59), other=LINE)
def test_one_changed_character_breaks_a_quote(text: str, at: int, other: str) -> None:
    text = text.strip()
    assume(text)
    at = at % len(text)
    changed = text[:at] + other[0] + text[at + 1 :]
    assume(changed not in text and changed == changed.strip() and changed)
    try:
        line = render_quote(changed, "inputs/a.md", 1)
    except QuoteImpossible:
        assume(False)
    assert blocked(check_quotes(line, {"inputs/a.md": text + "\n"}.get))


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("two\nlines", "a.md", 1),
        (" lead", "a.md", 1),
        ("", "a.md", 1),
        ("x", 'a" (b.md', 1),
        ("x", "a\n.md", 1),
        ("x", "a.md", 0),
        ('a" (b.md:3)', " a.md", 1),
    ],
)
def test_what_can_not_be_quoted_in_one_line_is_not(text: str, path: str, line: int) -> None:
    with pytest.raises(QuoteImpossible):
        render_quote(text, path, line)


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        ("One. Two! Three", ("One.", "Two!", "Three")),
        ("- item one. And more.", ("item one.", "And more.")),
        ("version 1.2 of a.b stays whole.", ("version 1.2 of a.b stays whole.",)),
        ("窯は千二百度。冷めた。", ("窯は千二百度。", "冷めた。")),
        ('He said "no." Then left.', ('He said "no."', "Then left.")),
        ("   ", ()),
        ("## Heading", ("Heading",)),
    ],
)
def test_sentences_of_a_line(line: str, pieces: tuple[str, ...]) -> None:
    assert sentences(line) == pieces
    assert all(piece in line for piece in pieces)


@pytest.mark.parametrize(
    "body",
    [
        '" (' * 300_000,
        '> "' + '" (' * 300_000 + "a:1)",
        '> "x" (inputs/cones.md:3)\n' * 40_000,
        '> "' * 300_000,
        " " * 1_000_000 + ")",
        '> "a"' + " " * 900_000 + "(a:1)",
    ],
    ids=["opens", "closes", "many", "begins", "blank", "gap"],
)
def test_a_mebibyte_of_anything_takes_no_time(body: str) -> None:
    begun = time.process_time()
    check_quotes(body, SOURCES.get)
    assert time.process_time() - begun < 3


def test_quotes_beyond_a_thousand_are_not_checked_but_refused() -> None:
    findings = check_quotes('> "Cones" (inputs/cones.md:1)\n' * 1_001, SOURCES.get)
    assert "at most 1,000 quotes" in findings[0].message


def test_a_secret_in_a_place_is_not_repeated() -> None:
    key = "sk-ant-api03-" + "F" * 40
    assert key not in verdicts(f'> "x" (inputs/{key}:3)')[0]
