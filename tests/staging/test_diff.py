import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.target import parse_target
from onepen.staging.diff import DraftDiff, describe_bytes, diff
from onepen.staging.draft import Draft

KILN = Draft(
    "d.md", parse_target("projects/kiln.md"), "append", None, "", "", (), (), "agent", None, None, None, "0" * 64
)
TEN = "".join(f"line {n}\n" for n in range(10))


def shown(
    before: str | None, after: str, old: str | None = None, new: str | None = None, lines: int = 2_000
) -> DraftDiff:
    return diff(KILN, before, after, old, new, max_lines=lines)


def test_a_change_is_shown_with_three_lines_around_it() -> None:
    got = shown(TEN, TEN.replace("line 5\n", "line five\n"))
    assert got.text == dedent(
        """\
        --- projects/kiln.md
        +++ projects/kiln.md
        @@ -3,7 +3,7 @@
         line 2
         line 3
         line 4
        -line 5
        +line five
         line 6
         line 7
         line 8
        """
    )
    assert got.hidden == 0


def test_two_changes_far_apart_are_two_groups() -> None:
    text = "".join(f"line {n}\n" for n in range(40))
    got = shown(text, text.replace("line 2\n", "two\n").replace("line 30\n", "thirty\n")).text
    assert [line for line in got.splitlines() if line.startswith("@@")] == ["@@ -1,6 +1,6 @@", "@@ -28,7 +28,7 @@"]


def test_a_new_file_and_one_without_its_last_newline() -> None:
    assert (
        shown(None, "a\nb").text
        == "--- (absent)\n+++ projects/kiln.md\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    )
    assert "\\ No newline" in shown("a", "a\n").text
    assert shown("a\n", "a\n").plain() == "(no difference in projects/kiln.md)\n"


def test_line_ends_are_shown_only_where_they_differ() -> None:
    assert shown("a\r\nb\r\n", "a\r\nc\r\n").text.endswith(" a\n-b\n+c\n")
    assert "-a\\x0d\n+a\n" in shown("a\r\nb\n", "a\nb\n").text


def test_lines_of_the_index_that_differ_are_shown_below() -> None:
    got = shown("a\n", "b\n", "# P\n- one\n- two\n", "# P\n- one\n- zwei\n")
    assert (got.index_before, got.index_after) == ("- two\n", "- zwei\n")
    assert got.plain().endswith("index:\n-- two\n+- zwei\n")


def test_harmful_characters_are_shown_as_escapes() -> None:
    got = shown("a\n", "b\u202e\x1b[31m\x00\n").text
    assert "+b\\u{202e}\\x1b[31m\\x00\n" in got


@pytest.mark.parametrize("cluster", ["👩‍👩‍👧‍👦", "🇩🇪", "e\u0301", "👍🏽"])
@pytest.mark.parametrize("shift", range(4))
def test_a_long_line_is_cut_between_characters_and_says_so(cluster: str, shift: int) -> None:
    got = shown(None, "x" * shift + cluster * 3_000)
    line = got.text.split("\n")[3]
    kept = line[1 + shift :].partition("…")[0]
    assert kept == cluster * (len(kept) // len(cluster))
    assert "more characters]" in line and got.hidden == 1
    assert "not shown" in got.plain()
    got.text.encode()


def test_what_is_hidden_is_counted() -> None:
    got = shown("old\n", "".join(f"{n}\n" for n in range(500)), lines=100)
    assert got.hidden == 504 - 100
    assert "404 more lines" in got.plain()


GIANTS = {
    "every line differs": ("".join(f"a{n}\n" for n in range(200_000)), "".join(f"b{n}\n" for n in range(200_000))),
    "one line of 8 MiB": ("x" * (8 << 20), "y" * (8 << 20)),
    "two kinds of line": ("a\nb\n" * 20_000, "b\na\na\n" * 15_000),
    "5,000 that differ": ("".join(f"a{n}\n" for n in range(5_000)), "".join(f"b{n}\n" for n in range(5_000))),
    "equal lines": ("a\n" * 1_000, "a\n" * 999 + "b\n"),
    "one blank line, often": ("\n" * 900 + "x\n", "y\n" + "\n" * 950),
    "a line added at the top": (
        "".join(f"a{n}\n" for n in range(200_000)),
        "new\n" + "".join(f"a{n}\n" for n in range(200_000)),
    ),
}


@pytest.mark.parametrize("giant", GIANTS.values(), ids=GIANTS)
def test_the_first_screen_of_a_giant_takes_less_than_two_seconds(giant: tuple[str, str]) -> None:
    begun = time.process_time()
    got = shown(*giant)
    assert time.process_time() - begun < 2
    assert len(got.text) < 8_000_000
    assert got.text.count("\n") <= 2_000


@given(
    st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12),
    st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12),
)
def test_the_after_can_be_read_from_the_diff(old: list[str], new: list[str]) -> None:
    """Applying the shown groups to the old lines gives the new ones."""
    before, after = "".join(f"{x}\n" for x in old), "".join(f"{x}\n" for x in new)
    result: list[str] = []
    at = 0
    for line in shown(before, after).text.split("\n")[2:-1]:
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            begin = int(start) - (0 if count == "0" else 1)
            result += old[at:begin]
            at = begin
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            assert old[at] == line[1:]
            result += [line[1:]] if line.startswith(" ") else []
            at += 1
    assert result + old[at:] == new


def test_bytes_that_are_no_text_are_described() -> None:
    assert describe_bytes(b"\x89PNG\r\n") == "(no text: 6 bytes, beginning with 89 50 4e 47 0d 0a)\n"
