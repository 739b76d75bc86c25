import time
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.index.index import IndexEntry, empty_index, parse_index
from onepen.memory.index.reconcile import drift, reconcile
from onepen.memory.text.document import Document, parse_document

CARD = dedent("""\
    ---
    title: Kiln relaunch
    status: active
    updated: 2026-11-29
    ---

    # Kiln

    ## Hosting
    Moved to Hetzner on 12 Nov.

    ## Firing
    - fire at 1220

    ## Glaze
    Celadon since May.
    """)

INDEX = dedent("""\
    # Projects

    My own words.

    ## [Kiln relaunch](kiln.md)
    status: active · updated: 2026-11-29

    - [hosting](kiln.md#hosting) — The site runs at Hetzner. `hetzner, dns`
    - [firing](kiln.md#firing) — Cone 6 at 1220 degrees. `cone 6`
    - [glaze](kiln.md#glaze) — Glaze: Celadon since May. (auto)
    - [sales/launch.md](kiln/sales/launch.md) — Launch post.
    """)


def cards(**texts: str) -> dict[str, Document]:
    return {card: parse_document(text) for card, text in texts.items()}


def kinds(index: str, **texts: str) -> list[tuple[str, str, str | None]]:
    return [(found.card, found.kind, found.section) for found in drift(parse_index(index), cards(**texts))]


def mended(index: str, only: str | None = None, **texts: str) -> str:
    return reconcile(parse_index(index), cards(**texts), only).text


def test_what_agrees_stays_as_it_is() -> None:
    index = parse_index(INDEX)
    assert reconcile(index, cards(kiln=CARD)) is index
    assert drift(index, cards(kiln=CARD)) == ()


def test_a_new_section_gets_an_entry_in_its_place() -> None:
    card = CARD.replace("## Glaze", "## Clay\nStoneware from Spain. Dry.\n\n## Glaze")
    assert kinds(INDEX, kiln=card) == [("kiln", "entry_missing", "clay")]
    line = "- [clay](kiln.md#clay) — Clay: Stoneware from Spain. (auto)\n"
    assert mended(INDEX, kiln=card) == INDEX.replace("- [glaze]", line + "- [glaze]")


def test_a_card_without_a_block_gets_one() -> None:
    after = mended(empty_index("Projects"), kiln=CARD)
    assert after == dedent("""\
        # Projects

        ## [Kiln relaunch](kiln.md)
        status: active · updated: 2026-11-29

        - [hosting](kiln.md#hosting) — Hosting: Moved to Hetzner on 12 Nov. (auto)
        - [firing](kiln.md#firing) — Firing: fire at 1220 (auto)
        - [glaze](kiln.md#glaze) — Glaze: Celadon since May. (auto)
        """)
    assert kinds(empty_index("Projects"), kiln=CARD) == [("kiln", "card_unindexed", None)]


def test_a_card_without_front_matter_or_sections() -> None:
    assert mended("", dyes="Just words.\n") == "## [dyes](dyes.md)\nstatus: active\n"


def test_a_renamed_heading_keeps_its_entry() -> None:
    card = CARD.replace("## Firing", "## Firing schedule")
    assert kinds(INDEX, kiln=card) == [("kiln", "section_renamed", "firing")]
    assert mended(INDEX, kiln=card) == INDEX.replace(
        "[firing](kiln.md#firing)", "[firing-schedule](kiln.md#firing-schedule)"
    )


def test_two_renamed_headings_in_different_places() -> None:
    card = CARD.replace("## Hosting", "## Where it runs").replace("## Glaze", "## Glazes")
    after = mended(INDEX, kiln=card)
    assert "- [where-it-runs](kiln.md#where-it-runs) — The site runs at Hetzner. `hetzner, dns`\n" in after
    assert "- [glazes](kiln.md#glazes)" in after
    assert kinds(after, kiln=card) == []


def test_in_one_place_the_words_tell_which_is_which() -> None:
    card = dedent("""\
        # Kiln
        ## Temperatures
        Cone 6 is reached at 1220 degrees.
        ## Servers
        The site runs at Hetzner since November, dns too.
        ## Glaze
        Celadon since May.
        """)
    after = mended(INDEX, kiln=card)
    assert "- [servers](kiln.md#servers) — The site runs at Hetzner. `hetzner, dns`\n" in after
    assert "- [temperatures](kiln.md#temperatures) — Cone 6 at 1220 degrees. `cone 6`\n" in after


def test_a_section_that_is_gone_keeps_its_entry_for_a_person() -> None:
    card = CARD.replace("## Firing\n- fire at 1220\n\n", "")
    assert kinds(INDEX, kiln=card) == [("kiln", "entry_orphan", "firing")]
    assert mended(INDEX, kiln=card) == INDEX


def test_a_section_that_came_elsewhere_takes_no_entry_over() -> None:
    card = CARD.replace("## Firing\n- fire at 1220\n\n", "") + "\n## Shop\nOpens in May.\n"
    after = mended(INDEX, kiln=card)
    assert "- [firing](kiln.md#firing) — Cone 6" in after
    assert "- [shop](kiln.md#shop) — Shop: Opens in May. (auto)\n" in after


def test_nothing_is_deleted_for_a_card_that_is_gone() -> None:
    assert mended(INDEX) == INDEX
    assert kinds(INDEX) == [("kiln", "card_missing", None)]


def test_hand_edits_while_nobody_looked() -> None:
    index = INDEX + "\n## [Loom](loom.md)\nstatus: active\n"
    found = kinds(index, dyes="# Dyes\n", looms="# Loom\n")
    assert found == [
        ("kiln", "card_missing", None),
        ("loom", "card_missing", None),
        ("dyes", "card_unindexed", None),
        ("looms", "card_unindexed", None),
    ]


def test_an_automatic_entry_follows_its_section_and_another_does_not() -> None:
    card = CARD.replace("Celadon since May.", "Tenmoku since June.").replace("fire at 1220", "fire at 1240")
    assert mended(INDEX, kiln=card) == INDEX.replace("Celadon since May.", "Tenmoku since June.")


def test_title_and_status_follow_the_card() -> None:
    card = CARD.replace("Kiln relaunch", "Oven").replace("status: active", "status: done")
    assert mended(INDEX, kiln=card) == INDEX.replace("Kiln relaunch", "Oven").replace("status: active", "status: done")


def test_only_the_touched_card() -> None:
    after = mended(INDEX, only="dyes", kiln=CARD + "\n## New\nx\n", dyes="# Dyes\n")
    assert after == INDEX + "\n## [Dyes](dyes.md)\nstatus: active\n"


def test_an_index_with_windows_ends_keeps_them() -> None:
    after = mended(INDEX.replace("\n", "\r\n"), kiln=CARD + "\n## New\nx\n", dyes="# Dyes\n## A\n")
    assert "\n" not in after.replace("\r\n", "")


def test_a_card_spelt_in_another_case_is_mapped_not_doubled() -> None:
    after = mended(INDEX.replace("kiln.md", "Kiln.md"), kiln=CARD)
    assert after == INDEX


headings = st.lists(st.sampled_from(["A", "B", "C", "D", "A b", "`x`", "日本", "[l](u)"]), max_size=6)
bodies = st.sampled_from(["", "One. Two.\n", "- [x](http://y.z) <b>\n", "```\n# no\n```\n", "<!-- no -->\n", "---\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = [f"## {heading}\n{draw(bodies)}" for heading in draw(headings)]
    return draw(st.sampled_from(["", "# T\n", "---\ntitle: 'a ](b'\nstatus: \"x\\ny\"\n---\n"])) + "".join(parts)


@given(documents(), documents(), st.booleans())
def test_once_is_enough_and_every_section_is_there(first: str, second: str, crlf: bool) -> None:
    text = empty_index("Projects").replace("\n", "\r\n" if crlf else "\n")
    once = reconcile(parse_index(text), cards(kiln=first, loom=second))
    edited = cards(kiln=second, loom=first)
    twice = reconcile(once, edited)
    assert reconcile(twice, edited).text == twice.text
    assert twice.stray == twice.flawed == ()
    assert {found.kind for found in drift(twice, edited)} <= {"entry_orphan"}
    for name, document in edited.items():
        block = twice.card(name)
        assert block is not None
        assert {section.id for section in document.entry_sections()} <= {entry.section_id for entry in block.entries}


@given(documents())
def test_a_persons_entries_and_text_stay(text: str) -> None:
    after = mended(INDEX, kiln=text)
    assert "My own words.\n" in after
    assert "- [sales/launch.md](kiln/sales/launch.md) — Launch post.\n" in after
    for words in ("The site runs at Hetzner. `hetzner, dns`", "Cone 6 at 1220 degrees. `cone 6`"):
        assert after.count(words) == 1


def test_thousands_of_cards_are_reconciled_in_seconds() -> None:
    document = parse_document(CARD)
    shelf = {f"kiln-{i}": document for i in range(3_000)}
    begun = time.process_time()
    index = reconcile(parse_index(empty_index("Projects")), shelf)
    assert drift(index, shelf) == ()
    assert reconcile(index, shelf) is index
    assert time.process_time() - begun < 10


def test_what_reconcile_writes_is_an_entry_of_onepen() -> None:
    block = parse_index(mended("", kiln=CARD)).card("kiln")
    assert block is not None
    assert block.entry("glaze") == IndexEntry("glaze", "Glaze: Celadon since May.", (), True)
