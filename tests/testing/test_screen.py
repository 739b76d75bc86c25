"""The terminal of the tests shows what a terminal shows."""

import pytest

from onepen.testing.screen import Screen, UnknownSequence


def shown(text: str, columns: int = 10, rows: int = 3) -> list[str]:
    screen = Screen(columns, rows)
    screen.feed(text)
    return screen.lines


@pytest.mark.parametrize(
    ("sent", "lines"),
    [
        ("a\r\nb", ["a", "b", ""]),
        ("abc\rX", ["Xbc", "", ""]),
        ("abcdefghijkl", ["abcdefghij", "kl", ""]),
        ("\x1b[?7labcdefghijkl\x1b[?7h", ["abcdefghil", "", ""]),
        ("abc\x1b[2D\x1b[K", ["a", "", ""]),
        ("abc\x1b[2K\rx", ["x", "", ""]),
        ("a\r\nb\r\nc\x1b[2A\r\x1b[J", ["", "", ""]),
        ("a\x1b[2Bb\x1b[1;1HX\x1b[Cc", ["X c", "", " b"]),
        ("\x1b[31mred\x1b[0m\x1b[?2004h\x1b[?25l", ["red", "", ""]),
        ("窯窯窯窯窯窯", ["窯窯窯窯窯", "窯", ""]),
        ("e\u0301a", ["e\u0301a", "", ""]),
    ],
)
def test_what_is_sent_is_shown(sent: str, lines: list[str]) -> None:
    assert shown(sent) == lines
    pieces = Screen(10, 3)
    for c in sent:
        pieces.feed(c)
    assert pieces.lines == lines, "in pieces, too"


def test_what_scrolls_off_is_kept() -> None:
    screen = Screen(10, 2)
    screen.feed("one\r\ntwo\r\nthree\r\nfour")
    assert screen.lines == ["three", "four"]
    assert screen.text == "one\ntwo\nthree\nfour"


def test_it_says_where_its_cursor_stands() -> None:
    assert Screen(10, 3).feed("ab\r\ncd\x1b[6n") == "\x1b[2;3R"


def test_a_smaller_screen_keeps_the_line_with_the_cursor() -> None:
    screen = Screen(10, 3)
    screen.feed("one\r\ntwo\r\nthree")
    screen.resize(4, 2)
    assert screen.lines == ["two", "thre"]


def test_an_unknown_sequence_is_no_silence() -> None:
    with pytest.raises(UnknownSequence):
        Screen().feed("\x1b[3z")
