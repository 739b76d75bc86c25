import re
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.heads import chosen, heads
from onepen.memory.index.index import parse_index
from onepen.memory.overview import overview, overview_of
from onepen.memory.tokens import estimate
from onepen.memory.view import UnreadableText

PATH = "projects/_index.md"
INDEX = dedent("""\
    # Projects

    Mine, kept.

    ## [Kiln](kiln.md)
    status: archived · updated: 2026-11-03

    - [firing](kiln.md#firing) — Hot.

    ## [Roof](roof.md)
    status: active · updated: 2026-11-29

    - [tiles](roof.md#tiles) — Red ones.
    """)


def block(name: str, updated: str, status: str = "active", entries: int = 3) -> str:
    head = f"## [{name}]({name}.md)\nstatus: {status} · updated: {updated}\n\n"
    said = (f"- [s{k}]({name}.md#s{k}) — What stands in section {k}. `word`\n" for k in range(entries))
    return head + "".join(said) + "\n"


def test_an_index_within_its_budget_is_left_alone() -> None:
    text = "# Projects\n\n" + block("kiln", "2026-11-03")
    assert overview(text, 1_000, PATH).text == text
    assert overview(text, 1_000, PATH).left_out == 0


def test_an_archived_card_is_counted_and_not_shown() -> None:
    assert overview(INDEX, 1_000, PATH).text == dedent("""\
        # Projects

        Mine, kept.

        ## [Roof](roof.md)
        status: active · updated: 2026-11-29

        - [tiles](roof.md#tiles) — Red ones.

        (1 archived card is not shown here: read_card "projects/_index.md" with section archived)
        """)
    both = overview(INDEX.replace("active", "archived"), 1_000, PATH).text
    assert "Mine, kept.\n\n(2 archived cards are not shown here" in both


@pytest.mark.parametrize("index", ["", "# Projects\n", INDEX.replace("archived", "done"), "no index\nat all"])
def test_an_index_without_one_stays_as_it_is(index: str) -> None:
    assert overview(index, 1_000, PATH).text == index


def test_what_is_at_work_and_changed_last_is_shown_and_all_the_rest_is_counted() -> None:
    old = [(f"old-{k}", f"2026-0{1 + k % 9}-01") for k in range(40)]
    blocks = [block(*card) for card in old]
    resting = [block(f"rest-{k}", "2026-11-30", "done") for k in range(5)]
    away = block("away", "2026-11-30", "archived")
    new = [block("kiln", "2026-11-28"), block("roof", "2026-11-29")]
    whole = "# Projects\n\n" + "".join([*blocks[:10], new[1], *resting, away, new[0], *blocks[10:]])
    cut = overview(whole, 360, PATH)
    next_ones = [name for name, _ in sorted(old, key=lambda card: (card[1], int(card[0][4:])), reverse=True)]
    months = "2026-11 2, 2026-09 4, 2026-08 4, 2026-07 4, 2026-06 4, 2026-05 4, before 20"
    assert cut.text == (
        f"# Projects\n\n{new[1]}{new[0]}\n"
        f"(46 more cards. The next: {', '.join(next_ones)}, rest-4, rest-3, rest-2\n"
        f"All 48 cards: {months}, done 5, archived 1\n"
        'read_card "projects/_index.md" with such a word, or first letters of ids, as section lists them)\n'
    )
    assert cut.left_out == 46


def test_cards_of_one_night_are_told_apart_by_their_first_letters() -> None:
    cards = [f"{letter}{k}" for letter, count in (("a", 500), ("b", 300), ("é", 200)) for k in range(count)]
    cut = overview("# Research\n\n" + "".join(block(card, "2026-11-30") for card in cards), 400, "research/_index.md")
    assert "\nAll 1,000 cards: a 500, b 300, é 200\n" in cut.text
    assert "é199" in cut.text.partition("The next: ")[0], "of one day, what was added last is the newest"


def test_a_large_block_ends_after_an_entry_and_says_how_many_follow() -> None:
    cut = overview(block("kiln", "2026-11-03", entries=100), 300, PATH)
    shown = re.findall(r"^- \[s", cut.text, re.MULTILINE)
    assert 0 < len(shown) < 100
    assert f"\n- … {100 - len(shown)} more sections: read_card kiln\n" in cut.text
    assert cut.left_out


def test_a_card_with_many_sections_does_not_starve_the_others() -> None:
    whole = "# P\n\n" + block("large", "2026-11-30", entries=300) + block("small", "2026-11-29", entries=1)
    cut = overview(whole, 500, PATH)
    assert "more sections: read_card large" in cut.text
    assert block("small", "2026-11-29", entries=1) in cut.text


@given(
    st.lists(
        st.tuples(st.integers(1, 28), st.sampled_from(["active", "done", "archived"]), st.integers(0, 40)), max_size=12
    ),
    st.integers(100, 1_500),
    st.text(max_size=400),
)
def test_a_cut_index_keeps_to_its_budget_and_is_never_silent(
    cards: list[tuple[int, str, int]], budget: int, head: str
) -> None:
    whole = head + "\n" + "".join(block(f"c{k}", f"2026-11-{d:02}", s, n) for k, (d, s, n) in enumerate(cards))
    cut = overview(whole, budget, PATH)
    assert estimate(cut.text) <= budget
    if cut.left_out or "status: archived" in whole:
        assert "read_card" in cut.text
    else:
        assert cut.text == whole


@pytest.mark.parametrize("names", [["## a", "## b"], ["no block"]])
def test_an_index_of_another_form_is_cut_too(names: list[str]) -> None:
    assert overview("\n".join(f"{name}\n{'word ' * 300}" for name in names), 200, PATH).left_out


def test_of_bytes_it_is_the_same_and_what_is_no_text_is_told() -> None:
    assert overview_of(INDEX.encode(), 100, PATH, PATH) == overview(INDEX, 100, PATH)
    with pytest.raises(UnreadableText, match=r"clients/acme/projects/_index\.md: not UTF-8 text"):
        overview_of(b"\xff", 100, PATH, f"clients/acme/{PATH}")


FREE = dedent("""\
    # P

    ## [Kiln (old)](./kiln.md) and more
    Status: Waiting for Ana · Updated: 2026-11-03

    - [firing](kiln.md#firing) — Hot.
    ## no link
    ##\t[Roof](roof.md)

    updated: 2026-10-01
    """)


def test_heads_are_read_however_a_person_wrote_them() -> None:
    found = heads(FREE)
    assert [found.card(at) for at in range(3)] == ["kiln", "", "roof"]
    assert (found.statuses, found.dates) == (("waiting", "", ""), ("2026-11-03", "", "2026-10-01"))
    assert found.top == "# P\n\n"


@given(st.lists(st.sampled_from([*FREE.splitlines(keepends=True), "\r\n", "##", "## x", "text\n", "é"])).map("".join))
def test_the_blocks_of_an_index_are_the_index(text: str) -> None:
    found = heads(text)
    assert found.top + "".join(map(found.block, range(len(found)))) == text


@given(st.lists(st.tuples(st.integers(1, 28), st.sampled_from(["active", "done", "archived"])), max_size=9))
def test_a_glance_sees_what_reading_the_index_sees(cards: list[tuple[int, str]]) -> None:
    text = "# P\n\n" + "".join(block(f"c{k}", f"2026-11-{day:02}", status) for k, (day, status) in enumerate(cards))
    found = heads(text)
    seen = [(found.card(at), found.statuses[at], found.dates[at]) for at in range(len(found))]
    assert seen == [(card.id, card.status, card.updated) for card in parse_index(text).cards]


@pytest.mark.parametrize(
    ("wanted", "lines"),
    [
        ("roof", [10, 11, 12, 13]),
        ("archived", [5]),
        ("2026-11", [5, 10]),
        ("2026-11-29", [10]),
        ("2025", []),
        ("ki", [5]),
        ("", [5, 10]),
        ("K", [5]),
    ],
)
def test_a_group_of_cards_is_found_by_what_the_overview_calls_it(wanted: str, lines: list[int]) -> None:
    assert chosen(INDEX, wanted) == lines
