import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onepen.memory.commit.splice import Splice, spliced, splices

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\r\n", "ü\n".encode(), b"no newline"]), max_size=12)
TEXTS = st.one_of(st.binary(max_size=40), LINES.map(b"".join))


@given(TEXTS, TEXTS)
@example(b"a", b"a\n")
@example(b"a\na\n", b"a\n")
@example(b"", b"x")
def test_the_pieces_make_the_new_out_of_the_old(before: bytes, after: bytes) -> None:
    pieces = splices(before, after)
    assert spliced(before, pieces) == after
    assert all(piece.old != piece.new for piece in pieces)


@given(TEXTS, TEXTS, TEXTS)
def test_lines_that_both_begin_with_change_no_piece_behind_them(first: bytes, before: bytes, after: bytes) -> None:
    ahead = first and first.rstrip(b"\n") + b"\n"
    moved = [Splice(piece.offset + len(ahead), piece.old, piece.new) for piece in splices(before, after)]
    assert splices(ahead + before, ahead + after) == tuple(moved)


def test_pieces_are_the_lines_that_changed() -> None:
    before = b"---\nupdated: 1\n---\n\nsame\nold\nend\n"
    after = b"---\nupdated: 2\n---\n\nsame\nnew\nend\nmore\n"
    assert splices(before, after) == (
        Splice(4, b"updated: 1\n", b"updated: 2\n"),
        Splice(25, b"old\n", b"new\n"),
        Splice(33, b"", b"more\n"),
    )


def test_a_piece_is_small_in_a_large_file() -> None:
    lines = [b"line %d\n" % k for k in range(20_000)]
    after = [*lines[:10], b"new\n", *lines[11:19_000], *lines[19_001:]]
    pieces = splices(b"".join(lines), b"".join(after))
    assert [(piece.old, piece.new) for piece in pieces] == [(b"line 10\n", b"new\n"), (b"line 19000\n", b"")]


def test_a_piece_is_refused_where_it_does_not_fit() -> None:
    with pytest.raises(ValueError, match="byte 2"):
        spliced(b"abcdef", [Splice(2, b"xx", b"y")])
