import json
import time
from textwrap import dedent

import frontmatter as python_frontmatter
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from onepen.memory.text import block as reading
from onepen.memory.text.frontmatter import (
    FrontMatterUnreadable,
    StrictHandler,
    lenient_values,
    parse_front_matter,
    render_front_matter,
    with_value,
)

keys = st.from_regex(r"[a-z_][a-z0-9_-]{0,12}", fullmatch=True)
# Everything that a file decoded from UTF-8 can hold.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
WORDS = r"""no 0123 12:30 2026-11-30 # ~ null true 1e3 0o17 y = << [a] ' " ... --- | > a: 0x1F 1_000 .5 +1 1:20 \n @a
    `a` %a !t &a *a {a} 🐙 👩‍👩‍👧"""
PHRASES = (
    "",
    "a: b",
    "x #y",
    "- a",
    "{a: b}",
    "a\nb",
    "\t",
    " lead",
    "trail ",
    "\u2028",
    "\x85",
    "é: ü",
    "? x",
    "\u202e",
)
nasty = st.sampled_from((*WORDS.split(), *PHRASES, "\ufeff"))


def read(text: str) -> dict[str, object]:
    front = parse_front_matter(text)
    assert front.problem is None
    return dict(front.values)


@pytest.mark.parametrize(
    ("line", "key", "typed"),
    [
        ("updated: 2026-11-30", "updated", "2026-11-30"),
        ("code: no", "code", "no"),
        ("id: 0123", "id", "0123"),
        ("at: 12:30", "at", "12:30"),
        ("tags:", "tags", ""),
        ("tags: glaze", "tags", "glaze"),
        ("n: 1_000", "n", "1_000"),
        ("when: 2026-11-30T12:00:00Z", "when", "2026-11-30T12:00:00Z"),
        ("x: ~", "x", "~"),
    ],
)
def test_a_value_stays_the_text_that_was_typed(line: str, key: str, typed: str) -> None:
    text = f"---\n{line}\nother: a: b\n---\nbody\n".replace("other: a: b\n", "other: 'a: b'\n")
    front = parse_front_matter(text)
    assert front.values == {key: typed, "other": "a: b"}
    assert json.dumps(dict(front.values))
    assert line in with_value(text, "other", "new")


def test_words_are_a_list_whatever_was_typed() -> None:
    front = parse_front_matter("---\nnone:\none: glaze\nmany: [a, 0123, {x: y}]\nlines:\n- p q\n- r\n---\n")
    assert front.words("absent") == front.words("none") == ()
    assert front.words("one") == ("glaze",)
    assert front.words("many") == ("a", "0123")
    assert front.words("lines") == ("p q", "r")


@pytest.mark.parametrize(
    ("block", "line", "cause"),
    [
        ("title: Kiln: phase two\nowner: acme", 2, "put the value in quotes"),
        ("owner: acme\ntitle: Kiln: phase two", 3, "put the value in quotes"),
        ("tags:\n\t- a", 3, "a tab can't indent"),
        ("tags:\n  - a\n\t- b", 4, "a tab can't indent"),
        ("a: 1\nb: 2\na: 3", 4, "'a' stands twice"),
        ("a: {b: 1, b: 2}", 2, "'b' stands twice"),
        ("a: &x 1\nb: 2", 2, "anchors"),
        ("a: 1\nb: *x", 3, "aliases"),
        ("a: !!python/name:os.system x", 2, "tags"),
        ("a: !x [1]", 2, "tags"),
        ("a: {b: 1}\n<<: {c: 2}", 3, "merges"),
        ("? [a, b]\n: 1\nk: v", 2, "a key must be a single text"),
        ("a: " + "[" * 30 + "]" * 30, 2, "nested deeper"),
        ("a: [1", 3, "expected"),
        ("a: x\n...\nb: y", 4, "more than one"),
        ("a: bell \x07", 2, "a character that YAML doesn't allow"),
        ("a: 1\nb: " + "x" * 9000, 1, "larger than 8 KiB"),
        ("a: 1\nb: " + "é" * 5000, 1, "larger than 8 KiB"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(block: str, line: int, cause: str) -> None:
    text = f"---\n{block}\n---\nbody\n"
    front = parse_front_matter(text)
    assert front.present
    assert front.values == {}
    assert front.problem is not None
    assert (front.problem.line, cause in front.problem.message) == (line, True), front.problem
    assert text[front.end :] == "body\n"
    with pytest.raises(FrontMatterUnreadable, match=f"line {line}: "):
        with_value(text, "title", "x")


def test_an_alias_bomb_is_refused_at_once() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
    )
    begun = time.perf_counter()
    front = parse_front_matter(f"---\n{bomb}---\n")
    assert front.problem is not None
    assert time.perf_counter() - begun < 1


class TestWhereTheBlockBeginsAndEnds:
    def test_a_byte_order_mark_stands_before_the_block(self) -> None:
        text = "\ufeff---\ntitle: Kiln\n---\nbody\n"
        front = parse_front_matter(text)
        assert front.text("title") == "Kiln"
        assert (front.start, text[front.start : front.end]) == (1, "---\ntitle: Kiln\n---\n")
        assert with_value(text, "title", "Loom") == "\ufeff---\ntitle: Loom\n---\nbody\n"

    def test_rules_in_the_text_are_no_block(self) -> None:
        front = parse_front_matter("A\n---\nowner: me\n---\nB\n")
        assert (front.present, front.values, front.problem) == (False, {}, None)

    def test_only_the_first_closing_line_counts(self) -> None:
        body = "\nA\n\n---\n\n```yaml\n---\nowner: me\n---\n```\n\n---\n"
        text = "---\ntitle: Kiln\n---\n" + body
        front = parse_front_matter(text)
        assert front.values == {"title": "Kiln"}
        assert text[front.end :] == body

    def test_a_block_that_never_closes_is_text_and_said(self) -> None:
        front = parse_front_matter("---\ntitle: Kiln\nbody\n")
        assert (front.present, front.start, front.end) == (False, 0, 0)
        assert front.problem is not None
        assert front.problem.line == 1

    @pytest.mark.parametrize("text", ["---\nSome prose follows the rule.\n---\nmore\n", "---\n- a\n- b\n---\nmore\n"])
    def test_prose_between_two_rules_is_text_and_said(self, text: str) -> None:
        front = parse_front_matter(text)
        assert (front.present, front.end) == (False, 0)
        assert front.problem is not None

    @pytest.mark.parametrize(("text", "line"), [("---\ntitle: x\n--- \nbody\n", 3), ("--- \ntitle: x\n---\nbody\n", 1)])
    def test_blanks_behind_a_fence_are_said(self, text: str, line: int) -> None:
        front = parse_front_matter(text)
        assert not front.present
        assert front.problem is not None
        assert (front.problem.line, "blanks" in front.problem.message) == (line, True)

    @pytest.mark.parametrize("text", ["---\n---\n", "---\n---", "---\r\n---\r\n", "---\n# remark only\n---\n"])
    def test_an_empty_block_is_a_block(self, text: str) -> None:
        front = parse_front_matter(text)
        assert (front.present, front.values, front.problem, front.end) == (True, {}, None, len(text))

    @pytest.mark.parametrize("text", ["", "---", "----\na: b\n----\n", " ---\na: b\n---\n", "---a\nb\n---\n"])
    def test_other_beginnings_are_no_block(self, text: str) -> None:
        front = parse_front_matter(text)
        assert (front.present, front.problem) == (False, None)


class TestASurgicalChange:
    CARD = dedent("""\
        ---
        zeta: "quoted"   # remark
        title: Kiln 🐙
        alpha: 'single'
        updated: 2026-11-01   # by hand
        empty:   # nothing yet
        tags: [a, b]
        ---
        body


        """)

    @pytest.mark.parametrize(
        ("key", "value", "line"),
        [
            ("zeta", "new", 'zeta: "new"   # remark'),
            ("alpha", "it's", "alpha: 'it''s'"),
            ("updated", "2026-11-30", "updated: 2026-11-30   # by hand"),
            ("empty", "full", "empty: full   # nothing yet"),
            ("title", "Kiln: phase two", 'title: "Kiln: phase two"'),
        ],
    )
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_one_line_changes(self, key: str, value: str, line: str, newline: str) -> None:
        before = self.CARD.replace("\n", newline)
        after = with_value(before, key, value)
        changed = [pair for pair in zip(before.split("\n"), after.split("\n"), strict=True) if pair[0] != pair[1]]
        assert [new.rstrip("\r") for _, new in changed] == [line]

    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_one_line_is_added_before_the_closing_fence(self, newline: str) -> None:
        before = self.CARD.replace("\n", newline)
        added = f"status: active{newline}"
        assert with_value(before, "status", "active") == before.replace(
            f"tags: [a, b]{newline}", f"tags: [a, b]{newline}{added}"
        )

    def test_an_indented_block_keeps_its_indent(self) -> None:
        assert with_value("---\n  a: b\n---\n", "c", "d") == "---\n  a: b\n  c: d\n---\n"

    def test_a_block_in_flow_style_is_changed_but_not_added_to(self) -> None:
        assert with_value("---\n{a: b, c: d}\n---\n", "a", "x, y") == '---\n{a: "x, y", c: d}\n---\n'
        with pytest.raises(FrontMatterUnreadable):
            with_value("---\n{a: b}\n---\n", "new", "x")

    @pytest.mark.parametrize("value", ["|\n  one\n  two", ">\n  one", "one\n  two", '"one\n  two"', "[a, b]", "\n- a"])
    def test_a_value_of_several_lines_is_left_to_its_person(self, value: str) -> None:
        with pytest.raises(FrontMatterUnreadable, match="by hand"):
            with_value(f"---\nother: x\nupdated: {value}\n---\nbody\n", "updated", "2026-11-30")

    def test_without_a_block_nothing_is_made(self) -> None:
        with pytest.raises(FrontMatterUnreadable):
            with_value("body\n", "updated", "2026-11-30")

    @given(st.dictionaries(keys, st.one_of(texts, nasty), max_size=5), keys, st.one_of(texts, nasty), texts)
    def test_the_other_values_and_the_body_stay(self, values: dict[str, str], key: str, value: str, body: str) -> None:
        text = render_front_matter(values) + body
        after = with_value(text, key, value)
        assert read(after) == {**values, key: value}
        assert after.endswith("---\n" + body)
        own = (f"{key}:", f'"{key}":')
        kept = [line for line in text.split("\n") if not line.startswith(own)]
        assert [line for line in after.split("\n") if not line.startswith(own)] == kept


trees = st.recursive(
    st.one_of(texts, nasty), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


def as_values(tree: object) -> object:
    if isinstance(tree, list):
        return tuple(as_values(item) for item in tree)
    return {key: as_values(item) for key, item in tree.items()} if isinstance(tree, dict) else tree


@given(st.dictionaries(st.one_of(keys, nasty), trees, max_size=4))
@example({"a": {"b": {"c": {"d": []}}}, "key: odd": "x", "": ""})
def test_what_is_rendered_is_read_again(values: dict[str, object]) -> None:
    text = render_front_matter(values)
    front = parse_front_matter(text)
    if len(front.block.encode()) <= reading.MAX_BYTES and "<<" not in values:
        assert front.values == as_values(values)


@given(st.dictionaries(keys, st.one_of(texts, nasty), max_size=4))
def test_what_is_rendered_is_text_for_other_readers_too(values: dict[str, str]) -> None:
    loaded = yaml.safe_load(parse_front_matter(render_front_matter(values)).block) or {}
    for key, value in values.items():
        assert str(loaded[key]).startswith("2026-11-30") if value == "2026-11-30" else loaded[key] == value


def test_a_key_that_yaml_takes_for_another_type_is_quoted() -> None:
    assert render_front_matter({"on": "x", "no": "", "a b": "z"}) == '---\n"on": x\n"no": ""\n"a b": z\n---\n'


def test_rendered_types_and_flow_style() -> None:
    values = {
        "title": "Kiln: two",
        "turns": 3,
        "offline": True,
        "index": [{"section_id": "a", "keywords": ["cone 6"]}],
        "z": None,
    }
    assert render_front_matter(values) == dedent("""\
        ---
        title: "Kiln: two"
        turns: 3
        offline: true
        index: [{section_id: a, keywords: [cone 6]}]
        z:
        ---
        """)


@given(st.text(max_size=200))
@example("---\na: \ud800\n---\n")
@example("---\n\x00\n---\n")
@example("---\n? \n---\n")
@example("---\n%YAML 1.1\n--- a\n---\n")
def test_any_text_is_read_without_an_error(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\nbody"):
        front = parse_front_matter(whole)
        assert whole[front.start : front.end].startswith("---") or not front.present


@given(st.lists(st.one_of(st.from_regex(r"[a-z]{1,3}: ?[\w .#:'\"-]{0,9}", fullmatch=True), texts), max_size=4))
def test_the_fast_path_reads_what_yaml_reads(lines: list[str]) -> None:
    block = "".join(line + "\n" for line in lines)
    text = f"---\n{block}---\n"
    front = parse_front_matter(text)
    if front.present and front.problem is None and front.block == block:
        assert front.values == reading.read_block(block).values


@pytest.mark.parametrize("loader", [yaml.SafeLoader, reading._Loader])
def test_both_yaml_parsers_find_the_same_places(loader: type[yaml.SafeLoader], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_Loader", loader)
    text = '---\nüü: 😀 x  # r\nupdated: "old"   # r\nempty:   # r\n---\nbody\n'
    assert with_value(text, "updated", "né") == text.replace("old", "né")
    assert with_value(text, "empty", "x") == text.replace("empty:   #", "empty: x   #")
    assert with_value(text, "üü", "z") == text.replace("😀 x", "z")


def test_the_handler_works_in_python_frontmatter() -> None:
    post = python_frontmatter.loads("---\nzeta: no\nalpha: 0123\n---\nbody", handler=StrictHandler())
    assert (post.metadata, post.content) == ({"zeta": "no", "alpha": "0123"}, "body")


def test_lenient_values_read_another_tools_file() -> None:
    text = dedent("""\
        ---
        name: poet
        description: Use this agent when: the user wants verse. <example>x: y</example>
        tools:
          - Read
          - "Grep"
        color: 'blue'
        note: >
          two
          lines
        ---
        You are a poet.
        """)
    assert lenient_values(text) == {
        "name": "poet",
        "description": "Use this agent when: the user wants verse. <example>x: y</example>",
        "tools": "Read, Grep",
        "color": "blue",
        "note": "two\nlines",
    }
    assert lenient_values("no block") == {}
