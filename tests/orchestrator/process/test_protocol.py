"""Lines in and out, whatever a stranger sends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.process.protocol import (
    MOST,
    Garbled,
    Hello,
    Lines,
    decode,
    encode,
    greeted,
    greeting,
    hello,
)

HELLO = Hello("0.1.0", "1:2", 42, "2026-11-30T08:00:00+01:00", 3)
json_lines = st.dictionaries(st.text(max_size=5), st.integers() | st.lists(st.text(max_size=5), max_size=3), max_size=3)


def test_both_say_who_they_are() -> None:
    assert hello(decode(encode(HELLO.line()))) == HELLO
    assert greeted(decode(encode(greeting("1:2"))))[1] == "1:2"


@pytest.mark.parametrize(
    "line",
    [
        {"onepen": 2, "version": "9", "workspace": "1:2", "pid": 1, "since": "", "busy": 0},
        {"version": "9", "workspace": "1:2"},
        {"onepen": 1, "version": 9, "workspace": "1:2", "pid": 1, "since": "", "busy": 0},
        {"onepen": 1, "version": "9", "workspace": "1:2", "pid": True, "since": "", "busy": 0},
        {"onepen": 1, "version": "9", "workspace": "1:2", "pid": "1", "since": "", "busy": 0},
        {},
    ],
)
def test_another_protocol_is_refused(line: dict[str, object]) -> None:
    with pytest.raises(Garbled):
        hello(line)


@pytest.mark.parametrize("data", [b"", b"[]", b"nothing", b"\xff", b"[" * 100_000, b'"text"'])
def test_what_is_no_object_is_garbled(data: bytes) -> None:
    with pytest.raises(Garbled):
        decode(data)


@given(st.lists(json_lines, max_size=4), st.integers(1, 7))
def test_lines_come_out_whole_however_they_come_in(sent: list[dict[str, object]], size: int) -> None:
    data = b"".join(map(encode, sent))
    lines, got = Lines(), []
    for at in range(0, len(data), size):
        got += lines.feed(data[at : at + size])
    assert got == sent


def test_half_characters_survive() -> None:
    assert decode(encode({"text": "a\udc80"})) == {"text": "a\udc80"}


def test_a_line_without_end_is_cut_off() -> None:
    lines = Lines()
    with pytest.raises(Garbled, match="more than"):
        for _ in range(MOST // (1 << 20) + 1):
            lines.feed(b"x" * (1 << 20))


def test_a_line_that_is_too_long_is_not_sent() -> None:
    with pytest.raises(Garbled, match="the most"):
        encode({"text": "x" * MOST})
