import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onepen.memory.index.entry import EntryRefused, IndexEntry, auto_entry, entry_key, parse_entry, render_entry
from onepen.memory.text.document import parse_document
from onepen.memory.text.oneline import first_sentence, flaw, made_safe, shortened

anything = st.text(max_size=60)
tricky = st.text(alphabet=st.sampled_from("ab |·—-`#<>[]()!\\.,:/\n\r\u2028é(auto)"), max_size=30)


@pytest.mark.parametrize(
    ("field", "how"),
    [
        ("summary", {"summary": "x\n## y"}),
        ("summary", {"summary": "x\r## y"}),
        ("summary", {"summary": "x\u2028## y"}),
        ("summary", {"summary": "use `a|b`"}),
        ("summary", {"summary": "[k](../../etc)"}),
        ("summary", {"summary": "[[k]]"}),
        ("summary", {"summary": "<!-- -->"}),
        ("summary", {"summary": "<script>alert(1)</script>"}),
        ("summary", {"summary": "see https://example.org"}),
        ("summary", {"summary": "see javascript:alert(1)"}),
        ("summary", {"summary": "# heading"}),
        ("summary", {"summary": "x" * 201}),
        ("summary", {"summary": "  "}),
        ("summary", {"summary": "pay \u202eevil"}),
        ("summary", {"summary": "tag \U000e0041"}),
        ("summary", {"summary": "nul \x00"}),
        ("summary", {"summary": "half \ud83d"}),
        ("summary", {"summary": "made by onepen (auto)"}),
        ("keywords", {"keywords": "glaze"}),
        ("keywords", {"keywords": ("a, b",)}),
        ("keywords", {"keywords": ("x" * 41,)}),
        ("keywords", {"keywords": tuple("abcdefghi")}),
        ("keywords", {"keywords": ("a`b",)}),
        ("keywords", {"keywords": ("a\nb",)}),
        ("keywords", {"keywords": (1,)}),
        ("section_id", {"section_id": "a b"}),
        ("section_id", {"section_id": ""}),
        ("section_id", {"section_id": "a](x)"}),
        ("section_id", {"section_id": "a\n"}),
        ("link", {"link": "a b.md"}),
        ("link", {"link": "https://x.y/z"}),
    ],
)
def test_what_cannot_stand_in_an_index_is_refused(field: str, how: dict[str, object]) -> None:
    with pytest.raises(EntryRefused, match=f"^index entry, {field}: ") as refusal:
        IndexEntry(**{"section_id": "hosting", "summary": "Moved.", **how})  # type: ignore[arg-type]
    assert refusal.value.field == field


def test_blank_and_repeated_keywords_are_dropped() -> None:
    entry = IndexEntry("a", " a | b ", ("|", "", "  ", "Straße", "STRASSE", " cone 6 "))
    assert (entry.summary, entry.keywords) == ("a | b", ("|", "Straße", "cone 6"))
    assert IndexEntry("a", "x", ["y"]).keywords == ("y",)  # type: ignore[arg-type]


@given(st.one_of(anything, tricky), st.lists(st.one_of(anything, tricky), max_size=4), st.booleans(), st.booleans())
def test_an_entry_is_refused_or_read_back_the_same(summary: str, words: list[str], auto: bool, file: bool) -> None:
    link = "kiln/sales/launch.md" if file else None
    try:
        entry = IndexEntry("sales/launch.md" if file else "größe-1", summary, tuple(words), auto, link)
    except EntryRefused:
        return
    line = render_entry("kiln", entry)
    assert line.count("\n") == 1
    found = parse_entry(line)
    assert found is not None
    assert (found, found[0].link) == ((entry, None), link)
    assert entry_key(line) == ("kiln", entry.section_id)


@given(st.one_of(anything, tricky))
def test_any_line_is_an_entry_or_none(text: str) -> None:
    for line in (text, f"- [a](kiln.md#a) — {text}", f"- [{text}](kiln.md#{text})", f"- [a]({text}) — x"):
        found = parse_entry(line)
        assert found is None or flaw(found[0].summary) is None
        assert (found is None) == (entry_key(line) is None)


@pytest.mark.parametrize(
    ("line", "card", "section", "summary"),
    [
        ("- [hosting](kiln.md#hosting) — Moved.", "kiln", "hosting", "Moved."),
        ("* [hosting](./kiln.md#hosting): Moved.\r\n", "kiln", "hosting", "Moved."),
        ("- [the host](kiln.md#hosting) - Moved.", "kiln", "hosting", "Moved."),
        ("- [hosting](kiln.md#hosting)", "kiln", "hosting", "hosting"),
        ("- [about](poet.md) — Verse.", "poet", "about", "Verse."),
        ("- [a/b.csv](kiln/a/b.csv) — Data.", "kiln", "a/b.csv", "Data."),
    ],
)
def test_what_people_write_is_read(line: str, card: str, section: str, summary: str) -> None:
    found = parse_entry(line)
    assert found is not None
    assert (entry_key(line), found[0].summary) == ((card, section), summary)


def test_a_line_that_onepen_would_not_write_is_made_safe_and_said() -> None:
    found = parse_entry("- [a](kiln.md#a) — See [this](https://x.y) <b>now</b> `" + ", ".join("abcdefghij") + "`")
    assert found is not None
    entry, why = found
    assert (entry.summary, len(entry.keywords)) == ("See this now", 8)
    assert why is not None


class TestAuto:
    @pytest.mark.parametrize(
        ("text", "summary"),
        [
            ("## Glaze\nCeladon since May. Then more.\n", "Glaze: Celadon since May."),
            ("## Glaze\n\n- fire at 1.5 bar! Yes\n", "Glaze: fire at 1.5 bar!"),
            ("## 釉薬\n青磁です。次の文。\n", "釉薬: 青磁です。"),
            ("## Glaze\n", "Glaze"),
            ("##\n```\ncode\n```\n", "section"),
            ("## A [link](http://x.y) `code`\n<!-- hidden. -->\nSee https://x.y/z now.\n", "A link code: See … now."),
            ("## Table\n| a | b |\n|---|---|\n", "Table: a | b"),
            ("## <script>x</script>\n> [!NOTE] said\n", "x: !NOTE said"),
            ("## Old (auto)\n", "Old"),
            ("## Login\n\n- password: hunter2-fake\n", "Login: a named password"),
            ("## AKIAFAKEFAKEFAKE0000\n", "an AWS access key id"),
        ],
    )
    def test_heading_and_first_sentence(self, text: str, summary: str) -> None:
        document = parse_document(text)
        entry = auto_entry(document, document.sections[0])
        assert (entry.summary, entry.auto, entry.section_id) == (summary, True, document.sections[0].id)

    @given(st.one_of(anything, tricky), st.one_of(anything, tricky))
    def test_any_section_gets_an_entry(self, title: str, body: str) -> None:
        document = parse_document(f"# K\n## {title}\n{body}")
        for section in document.sections:
            entry = auto_entry(document, section)
            assert parse_entry(render_entry("kiln", entry)) == (entry, None)


@given(st.from_regex(r"[\w ,;.!?'’%+–—-]*", fullmatch=True))
@example("www.example.org")
@example("see WWW.example.org.")
def test_a_text_of_plain_signs_has_no_flaw_that_a_closer_look_finds(text: str) -> None:
    assert flaw(text) == flaw(f"({text}))")  # brackets are no flaw, and are looked at closely


@given(st.from_regex(r"[A-Za-z0-9-]+( [A-Za-z0-9-]+)*", fullmatch=True))
def test_words_are_safe_as_they_are(words: str) -> None:
    assert made_safe(words, 10_000) == words == made_safe(f"{words}\n", 10_000)


@given(st.text(max_size=300), st.integers(1, 60))
def test_made_safe_is_safe(text: str, limit: int) -> None:
    safe = made_safe(text, limit)
    assert flaw(safe) is None
    assert len(safe) <= limit
    assert safe == safe.strip()


@pytest.mark.parametrize("whole", ["👩‍👩‍👧", "🇩🇪", "é", "👍🏽", "☺️"])
def test_a_cut_never_parts_what_is_seen_as_one_character(whole: str) -> None:
    for shift in range(8):
        cut = shortened("x" * shift + whole * 20, 14)
        rest = cut.removesuffix("…")[shift:]
        assert rest == whole * (len(rest) // len(whole))
        assert len(cut) <= 14


def test_first_sentence_skips_what_says_nothing() -> None:
    assert first_sentence("\n---\n***\n|---|---|\n- [x] Done. More\n") == "Done."
    assert first_sentence("no end here\nsecond line.") == "no end here"
    assert first_sentence("v1.2 works. ok") == "v1.2 works."


def test_a_hostile_section_costs_no_time() -> None:
    begun = time.process_time()
    for text in (
        "<!--" * 200_000,
        "[" * 500_000,
        "- " * 500_000,
        "a" * 1_000_000,
        "`" * 300_000 + "x",
        "<a " * 300_000,
    ):
        document = parse_document(f"# {text[:100_000]}\n## K\nx {text}\n")
        assert flaw(auto_entry(document, document.sections[-1]).summary) is None
        parse_entry(f"- [{text}](kiln.md#a) — {text}")
        parse_entry(f"- [a]({text}) — {text}")
    assert time.process_time() - begun < 10
