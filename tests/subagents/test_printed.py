"""What is kept of what a command prints."""

from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents.toolbox.printed import Printed


def printed(*pieces: bytes, head: int = 10, tail: int = 10) -> Printed:
    kept = Printed(head, tail)
    for piece in pieces:
        kept.add(piece)
    return kept


def test_what_fits_is_kept_as_it_is() -> None:
    assert printed(b"2 3 5", b" 7 11 13\n").text() == "2 3 5 7 11 13\n"
    assert printed().text() == ""


def test_the_middle_is_left_out_and_counted() -> None:
    kept = printed(b"begin line\n" + b"x" * 1_000_000, b"\nend line\n")
    assert kept.text() == "begin line\n[… 1,000,001 bytes left out …]\n\nend line\n"
    assert kept.size == 1_000_021


@given(st.lists(st.binary(max_size=40)))
def test_pieces_make_no_difference(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    assert printed(*pieces).text() == printed(whole).text()
    assert printed(*pieces).size == len(whole)


@given(st.text(alphabet="aäß€😀", max_size=60))
def test_no_character_is_cut_in_two(text: str) -> None:
    """Each half of a character would read as U+FFFD."""
    assert "\ufffd" not in printed(text.encode()).text()


def test_what_is_hidden_in_it_is_shown_and_what_is_no_text_is_not() -> None:
    assert printed(b"\x1b[31mred\xe2\x80\xae", head=40).text() == "\\x1b[31mred\\u{202e}"
    assert printed(b"\x7fELF\0\0").text() == "(6 bytes that are no text)"
    assert printed(b"\0" + b"x" * 100).text() == "(101 bytes that are no text)"


def test_a_flood_costs_no_memory() -> None:
    kept = Printed()
    for _ in range(2_000):
        kept.add(b"y\n" * 32_768)
    assert kept.size == 2_000 * 65_536
    assert len(kept._tail) + len(kept._head) < 100_000
