import time
from textwrap import dedent

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onepen.memory.text.document import (
    BadSectionId,
    NoSuchSection,
    NotText,
    SectionId,
    decode,
    line_at,
    parse_document,
)
from onepen.memory.text.outline import outline

CARD = dedent("""\
    ---
    title: Kiln relaunch
    ---

    # Kiln

    Lead text.

    ## Firing
    - fire at 1200

    ### Cone 6 (tests)
    ok

    ## Firing
    again
    """)


def ids(text: str) -> list[str]:
    return [section.id for section in parse_document(text).sections]


def test_sections_have_anchors_lines_and_own_text() -> None:
    document = parse_document(CARD)
    assert [(s.id, s.level, s.line) for s in document.sections] == [
        ("kiln", 1, 5),
        ("firing", 2, 9),
        ("cone-6-tests", 3, 12),
        ("firing-1", 2, 15),
    ]
    assert document.section_text("firing") == "## Firing\n- fire at 1200\n\n"
    assert document.section_text(None) == document.lead == "\n# Kiln\n\nLead text.\n\n"
    assert document.title == "Kiln relaunch"
    assert [s.id for s in document.entry_sections()] == ["firing", "cone-6-tests", "firing-1"]


def test_without_a_title_the_first_big_heading_is_it() -> None:
    assert parse_document("## a\n# Kiln\n").title == "Kiln"
    assert parse_document("---\ntitle:\n---\n# Kiln\n").title == "Kiln"
    assert parse_document("text\n").title is None


def test_a_section_that_is_not_there_names_the_closest() -> None:
    with pytest.raises(NoSuchSection, match="closest: firing") as refusal:
        parse_document(CARD).section("firng")
    assert refusal.value.near[0] == "firing"


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("## Hello World", "hello-world"),
        ("## Größe & Maß", "größe--maß"),
        ("## 窯の温度", "窯の温度"),
        ("## हिन्दी भाषा", "हिन्दी-भाषा"),
        ("## snake_case and `code`", "snake_case-and-code"),
        ("## _Emphasis_ and **bold**", "emphasis-and-bold"),
        ("## [Link](https://x.y/z) text", "link-text"),
        ("## C++ / C#", "c--c"),
        ("## Q&amp;A", "qa"),
        ("## closed ##", "closed"),
        ("##\ttabbed", "tabbed"),
        ("   ## indented", "indented"),
        ("## 1.2.3", "123"),
        ("## 🐙", "section"),
        ("##", "section"),
        ("## <b>Bold</b> tag", "bold-tag"),
        ("## back\\_slash", "back_slash"),
    ],
)
def test_anchors_are_those_of_github(heading: str, anchor: str) -> None:
    assert ids(heading + "\n") == [anchor]


def test_doubles_are_numbered_and_never_meet() -> None:
    assert ids("# a\n# a\n# a-1\n# a\n# a-1\n") == ["a", "a-1", "a-1-1", "a-2", "a-1-2"]


@pytest.mark.parametrize(
    "text",
    [
        "```\n## no\n```\n## yes\n",
        "~~~ yaml\n## no\n```\n## no\n~~~\n## yes\n",
        "````\n```\n## no\n````\n## yes\n",
        "<!--\n## no\n-->\n## yes\n",
        "<!-- x --> tail\n## yes\n",
        "``` a ` b\n## yes\n",
        "    ## no\n## yes\n",
        "#no\n####### no\n## yes\n",
        "- ```\n  ## no\n  ```\n## yes\n",
        "- ```\n  ## no\n## yes\n",
        "1. ```\n   ## no\n\n   ## no\n   ```\n   more\n\n## yes\n",
        "text <!-- open\n## yes\n",
        "```\r\n## no\r\n```\r\n## yes\r\n",
        "    ```\n## yes\n",
        "<!--->\n## yes\n",
    ],
)
def test_only_headings_are_headings(text: str) -> None:
    assert ids(text) == ["yes"]


@pytest.mark.parametrize("text", ["```\n## no\n", "<!--\n## no\n", "## yes\n~~~\n## no\n``` \n## no"])
def test_a_fence_or_comment_that_never_ends_hides_the_rest(text: str) -> None:
    assert "no" not in ids(text)


def test_windows_line_ends_and_byte_order_mark() -> None:
    document = parse_document("\ufeff# Kiln\r\n\r\n## A\r\ntext\r\n")
    assert (document.newline, [s.id for s in document.sections], document.body_start) == ("\r\n", ["kiln", "a"], 1)
    assert document.section_text("a") == "## A\r\ntext\r\n"


LINES = st.lists(
    st.sampled_from(
        [
            "# A\n",
            "   ## b ##\n",
            "    # code\n",
            "#x\n",
            "#\n",
            "###### six #\r\n",
            "####### 7\n",
            "- # item\n",
            "\n",
            "a # b\n",
        ]
    )
)


@given(st.sampled_from(["", "\ufeff"]), LINES, LINES)
def test_a_text_in_which_nothing_is_hidden_has_the_headings_that_a_closer_look_finds(
    mark: str, before: list[str], after: list[str]
) -> None:
    """A comment at the end hides nothing, and lets every line be looked at closely."""
    text = mark + "".join(before + after)
    for start in {0, len(mark + "".join(before))}:
        assert outline(text, start).headings == outline(f"{text}<!-- -->\n", start).headings


@given(st.text(alphabet=st.sampled_from("#-`~<!> \t\r\n\u2028ab:é\ufeff\ud800"), max_size=120))
@example("---\na: b\n---\n# x\n")
@example("#\x0b\n")
def test_sections_and_lead_are_the_whole_body(text: str) -> None:
    document = parse_document(text)
    before = text[document.body_start : document.sections[0].start] if document.sections else document.body
    assert before + "".join(document.section_text(s.id) for s in document.sections) == document.body
    assert len({s.id for s in document.sections}) == len(document.sections)
    for section in document.sections:
        assert section.line == line_at(text, section.start)
        assert text[section.start : section.body].lstrip(" ").startswith("#" * section.level)


def test_a_section_id_is_checked() -> None:
    assert SectionId("größe-1") == "größe-1"
    for bad in ("", "two words", "a)b", "a\nb", "a#b", "x" * 300):
        with pytest.raises(BadSectionId):
            SectionId(bad)
    assert ids("# " + "very long " * 100 + "\n")[0].startswith("very-long")


def test_decode_says_where_a_file_is_no_text() -> None:
    assert decode("é\r\n\ufeff".encode()) == "é\r\n\ufeff"
    with pytest.raises(NotText, match="line 2"):
        decode(b"ok\n\xff\xfe")
    with pytest.raises(NotText, match="NUL character in line 3"):
        decode(b"a\nb\n\0")


def test_ten_thousand_cards_are_read_in_seconds() -> None:
    head = "---\ntitle: 'Kiln {}'\nstatus: active\ncreated: 2026-11-29\nupdated: 2026-11-29\ntags: [a, b]\n---\n"
    head += "\n# Kiln\n\n"
    body = "".join(f"## Part {i}\n\n" + "- a line of text that says something\n" * 8 + "\n" for i in range(5))
    cards = [head.format(i) + body for i in range(10_000)]
    begun = time.process_time()
    assert sum(len(parse_document(card).sections) for card in cards) == 60_000
    assert time.process_time() - begun < 10
