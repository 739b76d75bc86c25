import time
from textwrap import dedent

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from onepen.memory.index.index import CardNotIndexed, EntryRefused, Index, IndexEntry, empty_index, parse_index
from onepen.memory.index.sheet import Sheet
from onepen.memory.text.outline import hides

INDEX = dedent("""\
    # Projects

    Ana keeps this list; her own words stay here.

    ## [Kiln relaunch](kiln.md)
    status: active · updated: 2026-11-29

    - [hosting](kiln.md#hosting) — Moved to Hetzner on 12 Nov; DNS stays at Gandi. `hetzner, dns, ssl`
    - [sales/launch.md](kiln/sales/launch.md) — Launch post, accepted 20 Nov. `post, launch`

    ## [Loom](loom.md)
    status: paused · updated: 2026-10-01

    - [warp](loom.md#warp) — Warp: 12 m of linen. (auto)
    """)

NEW = IndexEntry("glaze", "Celadon since May.", ("celadon",))


def by_line(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that went and the lines that came."""
    old, new = before.split("\n"), after.split("\n")
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_an_index_is_read() -> None:
    index = parse_index(INDEX)
    assert [(c.id, c.title, c.status, c.updated, c.line) for c in index.cards] == [
        ("kiln", "Kiln relaunch", "active", "2026-11-29", 5),
        ("loom", "Loom", "paused", "2026-10-01", 11),
    ]
    assert index.cards[0].entries == (
        IndexEntry("hosting", "Moved to Hetzner on 12 Nov; DNS stays at Gandi.", ("hetzner", "dns", "ssl")),
        IndexEntry("sales/launch.md", "Launch post, accepted 20 Nov.", ("post", "launch")),
    )
    assert index.cards[0].entries[1].link == "kiln/sales/launch.md"
    assert index.cards[1].entries[0].auto
    assert (index.stray, index.flawed) == ((), ())


class TestSurgery:
    def test_an_entry_is_replaced_in_its_place(self) -> None:
        after = parse_index(INDEX).with_entry("kiln", IndexEntry("hosting", "Moved to Ionos.")).text
        went, came = by_line(INDEX, after)
        assert (len(went), came) == (1, ["- [hosting](kiln.md#hosting) — Moved to Ionos."])
        assert after.index("Ionos") < after.index("Launch post")

    def test_an_entry_is_added_behind_the_last_one_of_its_card(self) -> None:
        after = parse_index(INDEX).with_entry("kiln", NEW).text
        line = "- [glaze](kiln.md#glaze) — Celadon since May. `celadon`\n"
        assert after == INDEX.replace("`post, launch`\n", f"`post, launch`\n{line}")

    def test_a_file_is_added_with_its_link(self) -> None:
        after = parse_index(INDEX).with_entry("loom", IndexEntry("data.csv", "Numbers."), link="loom/data.csv").text
        assert after == INDEX + "- [data.csv](loom/data.csv) — Numbers.\n"

    def test_a_card_is_added_at_the_end(self) -> None:
        index = parse_index(INDEX).with_card("dyes", title="Dyes [2026]", status="active", updated="2026-11-30")
        block = "\n## [Dyes \\[2026\\]](dyes.md)\nstatus: active · updated: 2026-11-30\n"
        assert index.text == INDEX + block
        card = index.card("dyes")
        assert card is not None
        assert card.title == "Dyes [2026]"
        assert index.with_entry("dyes", NEW).text == INDEX + block + (
            "\n- [glaze](dyes.md#glaze) — Celadon since May. `celadon`\n"
        )

    def test_title_and_status_line_change_and_nothing_else(self) -> None:
        index = parse_index(INDEX.replace("2026-11-29", "2026-11-29 · owner: Ana"))
        after = index.with_card("kiln", title="Kiln", status="done", updated="2026-11-30").text
        assert by_line(index.text, after) == (
            ["## [Kiln relaunch](kiln.md)", "status: active · updated: 2026-11-29 · owner: Ana"],
            ["## [Kiln](kiln.md)", "status: done · updated: 2026-11-30 · owner: Ana"],
        )

    def test_what_is_so_already_stays_byte_for_byte(self) -> None:
        index = parse_index(INDEX)
        for card in index.cards:
            assert card.status is not None and card.updated is not None
            assert index.with_card(card.id, title=card.title, status=card.status, updated=card.updated) is index
            for entry in card.entries:
                assert index.with_entry(card.id, entry) is index

    def test_an_entry_goes(self) -> None:
        index = parse_index(INDEX)
        assert by_line(INDEX, index.without_entry("kiln", "hosting").text) == ([INDEX.split("\n")[7]], [])
        assert index.without_entry("kiln", "absent") is index

    def test_a_card_goes_and_a_persons_text_stays(self) -> None:
        index = parse_index(INDEX)
        assert index.without_card("loom").text == INDEX[: INDEX.index("\n## [Loom]")]
        assert index.without_card("kiln").text == INDEX.replace(
            INDEX[INDEX.index("## [Kiln") : INDEX.index("## [Loom")], ""
        )
        assert index.without_card("absent") is index
        noted = INDEX.replace("- [sales", "my own note\n- [sales")
        assert "my own note" in parse_index(noted).without_card("kiln").text

    def test_an_added_card_that_goes_leaves_no_trace(self) -> None:
        index = parse_index(INDEX)
        added = index.with_card("dyes", title="D", status="active", updated="").with_entry("dyes", NEW)
        assert added.without_card("dyes").text == INDEX

    def test_an_entry_follows_its_renamed_heading(self) -> None:
        after = parse_index(INDEX).rename_entry("kiln", "hosting", "where-it-runs").text
        assert after == INDEX.replace("[hosting](kiln.md#hosting)", "[where-it-runs](kiln.md#where-it-runs)")
        own = INDEX.replace("[hosting](", "[Our host](")
        assert "- [Our host](kiln.md#x) — Moved" in parse_index(own).rename_entry("kiln", "hosting", "x").text

    def test_windows_line_ends_stay(self) -> None:
        crlf = INDEX.replace("\n", "\r\n")
        index = parse_index(crlf).with_entry("kiln", NEW).with_card("dyes", title="D", status="a", updated="b")
        index = (
            index.with_entry("dyes", NEW)
            .with_entry("loom", IndexEntry("warp", "New."))
            .rename_entry("loom", "warp", "w")
        )
        assert "\n" not in index.text.replace("\r\n", "")
        assert [len(card.entries) for card in index.cards] == [3, 1, 1]
        assert (
            index.without_card("dyes").without_card("loom").without_entry("kiln", "glaze").text
            == (crlf[: crlf.index("\r\n## [Loom]")])
        )

    def test_without_a_last_newline(self) -> None:
        index = parse_index(INDEX.rstrip("\n"))
        assert index.with_entry("loom", NEW).text.endswith(
            "(auto)\n- [glaze](loom.md#glaze) — Celadon since May. `celadon`\n"
        )
        assert "(auto)\n\n## [D](d.md)\n" in index.with_card("d", title="D", status="active", updated="").text

    def test_a_card_that_is_not_indexed(self) -> None:
        index = parse_index(INDEX)
        with pytest.raises(CardNotIndexed, match="'x'"):
            index.with_entry("x", NEW)
        with pytest.raises(CardNotIndexed):
            index.without_entry("x", "a")
        with pytest.raises(CardNotIndexed):
            index.rename_entry("x", "a", "b")

    def test_an_empty_index_begins(self) -> None:
        assert (
            parse_index("").with_card("a", title="A", status="active", updated="").text
            == "## [A](a.md)\nstatus: active\n"
        )
        index = parse_index(empty_index("Projects")).with_card("a", title="A", status="", updated="")
        assert index.text == "# Projects\n\n## [A](a.md)\n"

    @pytest.mark.parametrize(
        "title", ["a\n## [b](b.md)", "a](x.md)", "\\", "`x`", "<!--", "x" * 5000, "#", " ", "[", "a [b] c]"]
    )
    @pytest.mark.parametrize("status", ["active", "a\n- [x](kiln.md#x) — y", "x · updated: never", "<b>"])
    def test_no_title_or_status_makes_a_second_line(self, title: str, status: str) -> None:
        index = parse_index(INDEX).with_card("dyes", title=title, status=status, updated="2026-11-30")
        assert index.text.startswith(INDEX)
        assert len(index.text[len(INDEX) :].split("\n")) == 4
        assert [card.id for card in index.cards] == ["kiln", "loom", "dyes"]
        again = index.with_card("dyes", title=title, status=status, updated="2026-11-30")
        assert again is index
        assert index.stray == ()


class TestWhatPeopleDo:
    NOTE = "\n".join(f"pasted line {i}" for i in range(38))

    @pytest.mark.parametrize("head", ["", "# A pasted note\n", "## Notes\n", "### [x](y.md)\n"])
    @pytest.mark.parametrize("before", ["- [sales/", "## [Loom]"])
    def test_a_pasted_note_is_kept_and_reported_once(self, head: str, before: str) -> None:
        text = INDEX.replace(before, f"{head}{self.NOTE}\n{before}", 1)
        index = parse_index(text)
        assert [len(card.entries) for card in index.cards] == [2, 1]
        line = text[: text.index(head + self.NOTE)].count("\n") + 1
        assert index.stray == ((line, (head + self.NOTE).split("\n")[0]),)
        after = index.with_entry("kiln", NEW).without_card("loom").text
        assert head + self.NOTE in after

    def test_what_stands_in_a_fence_or_comment_is_no_entry(self) -> None:
        text = INDEX + "```\n## [X](x.md)\n- [a](kiln.md#a) — no\n```\n<!-- ## [Y](y.md)\n- [b](kiln.md#b) — no -->\n"
        index = parse_index(text)
        assert [(c.id, len(c.entries)) for c in index.cards] == [("kiln", 2), ("loom", 1)]

    @pytest.mark.parametrize("end", ["```\nopen", "<!-- open\n"])
    def test_a_fence_that_never_ends_does_not_swallow_new_cards(self, end: str) -> None:
        index = parse_index(INDEX + end).with_card("d", title="D", status="active", updated="").with_entry("d", NEW)
        card = index.card("d")
        assert card is not None
        assert card.entries == (NEW,)
        assert index.text.endswith(end)

    def test_doubles_after_a_merge_are_reported_and_kept(self) -> None:
        text = INDEX + INDEX[INDEX.index("## [Loom]") :]
        index = parse_index(text)
        assert [card.id for card in index.cards] == ["kiln", "loom"]
        assert [line for line, _ in index.stray] == [15]

    def test_an_entry_belongs_to_the_card_that_its_link_names(self) -> None:
        index = parse_index(
            INDEX + "- [late](kiln.md#late) — Put in the wrong block.\n- [x](gone.md#x) — No such card.\n"
        )
        assert [len(card.entries) for card in index.cards] == [3, 1]
        assert [line for line, _ in index.stray] == [16]
        after = index.with_entry("kiln", NEW).text
        assert after.index("glaze") < after.index("## [Loom]")

    def test_flawed_entries_are_known_and_named(self) -> None:
        index = parse_index(INDEX.replace("Moved to", "<b>Moved</b> to"))
        assert index.cards[0].entries[0].summary.startswith("Moved to Hetzner")
        assert [line for line, _ in index.flawed] == [8]
        assert index.with_card("d", title="D", status="", updated="").text.startswith(index.text)

    def test_a_name_that_differs_only_in_case_is_the_same_card(self) -> None:
        index = parse_index(INDEX.replace("kiln.md", "Kiln.md"))
        found = index.card("kiln")
        assert found is not None
        assert found.id == "Kiln"
        after = index.with_card("kiln", title="Kiln relaunch", status="active", updated="2026-11-29")
        assert after.text == INDEX
        assert parse_index(INDEX).card("KILN") is not None


@pytest.mark.parametrize("summary", ["x\n## y", "[k](../../etc)", "<!-- -->", "x" * 2000, "use `a|b`"])
def test_a_refused_entry_changes_nothing(summary: str) -> None:
    with pytest.raises(EntryRefused):
        parse_index(INDEX).with_entry("kiln", IndexEntry("hosting", summary))
    with pytest.raises(EntryRefused):
        parse_index(INDEX).with_entry("kiln", NEW, link="a b](c")


LINES = (
    ("# Projects\n", "## [Kiln](kiln.md)\n", "## [Loom](loom.md)\r\n", "## [K](KILN.md)\n", "status: active\n", "\n"),
    ("status: a · updated: b · c\r\n", "- [a](kiln.md#a) — A `x`\n", "- [b](loom.md#b) — B (auto)\n", "text\n"),
    ("```\n", "<!--\n", "-->\n", "- [f/g](kiln/f/g) — F\r\n", "  more\n", "## Notes\n", "- [a](kiln.md#a) — again"),
    ("\r\n", "updated:\n", "## [a\\]b](x.md) tail\n", "---\n", "\ufeff", "<<<<<<< HEAD\n", "- [x](y.md#z)\n"),
    ("## [Kiln](kiln.md) ##\n", "STATUS: x\n", "- [c](KILN.md#c): C\n"),
)
pieces = st.lists(st.sampled_from([line for some in LINES for line in some]), max_size=14).map("".join)


@given(st.one_of(st.text(max_size=200), pieces))
def test_reading_and_writing_is_the_identity_on_any_text(text: str) -> None:
    index = parse_index(text)
    assert index.text == text
    assert "".join(index.lines.lines) == text
    assert Sheet(index.lines).text() == text


@given(pieces)
@example("\ufeff## [Kiln](kiln.md)\nstatus: a\n")
@example("## [Kiln](kiln.md)\n#status: a\n  ##status\nstatus: b\n")
def test_a_comment_at_the_end_changes_nothing_that_stands_before_it(text: str) -> None:
    """Where nothing is hidden a line is told by itself; with a comment each is looked at closely."""
    ended = text if not text or text.endswith("\n") else f"{text}\n"
    assume(not hides(ended))
    assert parse_index(ended).cards == parse_index(f"{ended}<!-- -->\n").cards


@given(pieces, st.sampled_from(["kiln", "loom", "dyes", "x"]))
def test_every_change_leaves_the_other_lines_as_they_were(text: str, card: str) -> None:
    index = parse_index(text).with_card(card, title="T", status="active", updated="2026-11-30")
    found = index.card(card)
    assert found is not None
    assert (found.id, found.title, found.status, found.updated) == (card, "T", "active", "2026-11-30")
    assert index.with_card(card, title="T", status="active", updated="2026-11-30").text == index.text

    added = index.with_entry(card, NEW)
    line = added.text.split("\n")
    assert sum("glaze" in one for one in line) == 1
    assert is_part_of(index.text.split("\n"), line)
    assert _entry(added, card, "glaze") == NEW
    assert _others(added, card) == _others(index, card)

    replaced = added.with_entry(card, IndexEntry("glaze", "Other."))
    assert [a for a, b in zip(line, replaced.text.split("\n"), strict=True) if a != b] == [
        one for one in line if "glaze" in one
    ]
    assert is_part_of(added.without_card(card).text.split("\n"), added.text.split("\n"))
    assert added.without_card(card).card(card) is None or text.lower().count(f"]({card}.md)") > 1


def _entry(index: Index, card: str, section: str) -> IndexEntry | None:
    found = index.card(card)
    return found.entry(section) if found else None


def _others(index: Index, card: str) -> list[object]:
    return [(c.id, c.title, c.status, c.updated, c.entries) for c in index.cards if c.id != card]


def is_part_of(few: list[str], many: list[str]) -> bool:
    """Whether all of `few` that aren't blank stand in `many`, in this order."""
    left = iter(line.rstrip("\r") for line in many)
    return all(any(line.rstrip("\r") == other for other in left) for line in few if line.strip())


def test_ten_thousand_cards_are_read_in_seconds() -> None:
    block = "## [Kiln {0}](kiln-{0}.md)\nstatus: active · updated: 2026-11-29\n\n" + "".join(
        f"- [s{i}](kiln-{{0}}.md#s{i}) — Says something about it. `a, b`\n" for i in range(4)
    )
    text = "# Projects\n\n" + "\n".join(block.format(i) for i in range(10_000))
    begun = time.process_time()
    index = parse_index(text)
    assert len(index.cards) == 10_000
    assert len(index.with_entry("kiln-77", NEW).text) > len(text)
    assert time.process_time() - begun < 10
