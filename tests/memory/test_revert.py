"""What taking back a change gives, for any text: text in, text out."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onepen.memory.commit.passage import Lines, Place
from onepen.memory.commit.revert import RevertRefused, reverted_files
from onepen.memory.commit.splice import splices
from onepen.memory.commit.text_change import text_changes
from onepen.memory.history import Commit, TextChange, commit_json, parse_commits
from onepen.memory.workspace import Space

TODAY = date(2026, 11, 30)
LINES = st.lists(
    st.sampled_from(["a", "b", "c", "- x", "- y", "", "## One", "## Two", "# T", "```", "  z", "1. n"]), max_size=14
)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["\n", "", "\n\n"]))


def told(path: str, before: str, after: str) -> tuple[TextChange, ...]:
    """What the history tells of a change of a file."""
    old, new = before.encode(), after.encode()
    return text_changes(path, old, new, splices(old, new), None, Space(Path("/ws"), None))


def back(path: str, changes: tuple[TextChange, ...], now: str) -> str | None:
    return reverted_files(changes, {path: now}.__getitem__, lambda one: one, TODAY)[path]


@pytest.mark.parametrize("path", ["projects/kiln.md", "projects/kiln/notes.txt"])
@given(before=TEXTS, after=TEXTS)
@example(before="a\nb\n", after="b")
@example(before="\n\n\n", after="a")
@example(before="a\n\nb\n", after="a\nb\n")
def test_a_change_taken_back_at_once_is_undone_or_refused_never_something_else(
    path: str, before: str, after: str
) -> None:
    changes = told(path, before, after)
    if not changes or not before or not after:
        return
    try:
        found = back(path, changes, after)
    except RevertRefused:
        return
    assert found is not None
    # Blank lines at the very end are nobody's, and a last line may be given a newline when it is put back in between.
    assert found.rstrip("\n") == before.rstrip("\n")


@given(body=st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=8, unique=True), data=st.data())
def test_lines_that_are_told_apart_always_come_back_whatever_stands_around_them(
    body: list[str], data: st.DataObject
) -> None:
    before = "# T\n\n" + "".join(f"- {line}\n" for line in body)
    k = data.draw(st.integers(0, len(body) - 1))
    with_new = data.draw(st.booleans())
    after = before.replace(f"- {body[k]}\n", "- new\n" if with_new else "")
    changes = told("projects/kiln.md", before, after)
    above, below = "# Z\n\nBy hand.\n- a\n- new\n\n", "- last\n"
    assert back("projects/kiln.md", changes, above + after + below) == above + before + below


def test_a_change_of_before_places_were_told_is_refused_where_text_only_went() -> None:
    with pytest.raises(RevertRefused, match="the history doesn't tell where the text stood"):
        back("projects/kiln.md", (TextChange("projects/kiln.md", "one", "- x\n", ""),), "## One\n\n- y\n")


def test_a_history_that_does_not_say_whole_is_understood() -> None:
    assert back("research/x.md", (TextChange("research/x.md", None, "", "# X\n"),), "# X\n") is None
    gone: Callable[[str], str | None] = {"research/x.md": None}.__getitem__
    came = reverted_files((TextChange("research/x.md", None, "# X\n", ""),), gone, lambda one: one, TODAY)
    assert came == {"research/x.md": "# X\n"}


def test_places_are_whole_lines_in_their_section() -> None:
    text = "x\n## One\n- x\nx\n## Two\nx\r\n- x"
    lines = Lines(text, is_document=True)
    assert lines.places("x\n", "one") == [Place(text.index("x\n## Two"), text.index("## Two"))]
    assert lines.places("x\n", None) == [Place(0, 2)]
    assert len(lines.places("x\n", "nowhere")) == 3
    assert lines.places("- x\n", "two") == [Place(len(text) - 3, len(text))]
    assert lines.places("x\n- x\n", "two") == [Place(text.index("x\r\n"), len(text))]
    assert Lines("a\n", is_document=False).places("a\n\n", None) == []


def test_the_line_in_the_log_brings_the_pieces_back() -> None:
    changes = told("projects/kiln.md", "# T\n\n- a\n- b\n", "# T\n\n- a\n")
    assert changes[0].behind == "- a\n"
    time = "2026-11-30T14:05:00+01:00"
    one = Commit(1, "c1-aaaaaa", None, time, "user:ana", "x", *(None,) * 4, (), ("projects/kiln.md",), changes)
    assert parse_commits(commit_json(one))[0] == (one,)
