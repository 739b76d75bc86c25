from textwrap import dedent

import pytest

from onepen.memory.exam.lint import card_problems, text_problems
from onepen.memory.text.document import parse_document


def card(text: str) -> list[tuple[int, str, str]]:
    return [(p.line, p.kind, p.level) for p in card_problems("projects/kiln.md", parse_document(text))]


def test_an_ordinary_card_has_no_problem() -> None:
    assert card("---\ntitle: Kiln\n---\n# Kiln\n\nText.\n\n---\n\nMore.\n") == []


@pytest.mark.parametrize(
    "block", ["updated: 2026-11-30", "code: no", "id: 0123", "at: 12:30", "tags:", "tags: glaze", 'title: "a: b"']
)
def test_values_that_yaml_would_change_are_no_problem(block: str) -> None:
    assert card(f"---\n{block}\n---\ntext\n") == []


def test_a_block_that_cannot_be_read_is_one_line_with_its_place() -> None:
    assert card("---\ntitle: Kiln: phase two\nowner: acme\n---\nbody\n") == [(2, "front_matter", "error")]
    assert card("---\ntags:\n\t- one\n---\nbody\n") == [(3, "front_matter", "error")]
    assert card("---\ntitle: a\ntitle: b\n---\nbody\n") == [(3, "front_matter", "error")]


def test_where_the_block_begins_and_ends() -> None:
    assert card("\ufeff---\ntitle: Kiln\n---\nbody\n") == [(1, "byte_order_mark", "info")]
    assert card("A\n\n---\n\nowner: me\n\n---\n\nB\n") == []
    assert card("---\ntitle: Kiln\n---\nbody\n\n---\n\n```yaml\n---\na: b\n```\n\n---\n") == []
    assert card("---\ntitle: never closed\n\nbody\n") == [(1, "front_matter", "error")]
    assert card("---\n\nProse after a rule.\n\n---\n\nMore.\n") == [(1, "front_matter", "warning")]


def test_conflict_markers_are_found_where_they_begin() -> None:
    text = dedent("""\
        # Kiln

        <<<<<<< HEAD
        - fire at 1200
        =======
        - fire at 1220
        >>>>>>> other
    """)
    [problem] = text_problems("projects/kiln.md", text)
    assert (problem.line, problem.kind, problem.level) == (3, "conflict_markers", "error")
    assert [p.line for p in text_problems("a.md", text.replace("\n", "\r\n"))] == [3]


def test_half_a_conflict_is_a_warning_and_a_quote_is_none() -> None:
    assert [(p.line, p.level) for p in text_problems("a.md", "a\n<<<<<<< HEAD\nb\n")] == [(2, "warning")]
    assert [(p.line, p.level) for p in text_problems("a.md", "a\n=======\nb\r\n>>>>>>> other\r\n")] == [(4, "warning")]
    assert list(text_problems("a.md", "<<<<<<< not one\n\n=======\n\ntext\n")) == []
    assert list(text_problems("a.md", "Title\n=======\n\n>>>>>>> a quoted line\n")) == []


def test_line_ends_of_long_ago_are_a_warning() -> None:
    assert card("# Kiln\n\nold\rlines\r") == [(3, "lone_carriage_return", "warning")]
    assert card("# Kiln\r\n\r\ntext\r\n") == []


@pytest.mark.parametrize("text", ["---\na: b\n---\n```\ncode\n", "a\n\n\n~~~\n", "a\n\n\n<!-- b\n"])
def test_a_fence_or_comment_that_nothing_closes_is_a_warning(text: str) -> None:
    assert card(text) == [(4, "fence_open", "warning")]
    close = {"`": "```\n", "~": "~~~\n", "<": "-->\n"}[text.split("\n")[3][0]]
    assert card(text + close) == []


def test_a_secret_is_a_warning_that_names_its_kind_and_not_its_value() -> None:
    text = "# Kiln\n\n## Login\n\nAt the shop: https://u:p4ss@host and AKIAFAKEFAKEFAKE0000\n"
    (found,) = card_problems("projects/kiln.md", parse_document(text))
    assert (found.line, found.kind, found.level) == (5, "secret", "warning")
    assert "an AWS access key id" in found.message and "AKIA" not in found.message
    assert card("# Kiln\n\nThe password is kept as KILN_PASSWORD; password: required.\n") == []
