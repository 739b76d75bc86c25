from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.commit.compose import leaf_pieces
from onepen.memory.commit.splice import spliced
from onepen.memory.index import blocks as blocks_module
from onepen.memory.index.blocks import Blocks
from onepen.memory.index.index import Index, IndexEntry, parse_index
from onepen.memory.index.one_block import block_change, block_of, block_text, changed_block
from onepen.memory.index.reconcile import reconcile
from onepen.memory.text.document import parse_document

PIECES = [
    "# Projects\n",
    "\n",
    "Some words of a person.\n",
    "## [Kiln](kiln.md)\n",
    "## [Kiln *new*](kiln.md)\n",
    "## [Big kiln](big-kiln.md)\n",
    "## [Loom](loom.md)\n",
    "## [KILN](Kiln.md)\n",
    "## Not a card\n",
    "status: active · updated: 2026-11-29\n",
    "- [firing](kiln.md#firing) — Cone 6. `cone`\n",
    "- [old](kiln.md#old) — Gone. (auto)\n",
    "- [a.csv](kiln/a.csv) — A table.\n",
    "- [weft](loom.md#weft) — Wool.\n",
    "- [x](big-kiln.md#x) — Big.\n",
    "```\n",
    "<!-- kiln.md -->\n",
    "no newline",
    "crlf\r\n",
    "[ｋiln](ｋiln.md)\n",
    "İ\n",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
KILN = parse_document(
    "---\ntitle: Kiln\nstatus: done\nupdated: 2026-11-30\n---\n## Firing\n\nHot.\n\n## Glaze\n\nBlue.\n"
)


def change(index: Index) -> Index:
    index = reconcile(index, {"kiln": KILN}, only="kiln")
    return index.with_entry("kiln", IndexEntry("glaze", "Celadon.", ("blue",)))


@given(TEXTS)
def test_changing_the_block_is_changing_the_whole(text: str) -> None:
    assert changed_block(text, "kiln", change) == change(parse_index(text)).text


@given(TEXTS)
def test_the_part_that_changes_is_told_with_what_it_becomes(text: str) -> None:
    before, after = block_change(text, "kiln", change)
    places = [at for at in range(len(text) + 1) if text.startswith(before, at)]
    assert change(parse_index(text)).text in [text[:at] + after + text[at + len(before) :] for at in places]


@given(TEXTS, st.sampled_from(["kiln", "loom", "big-kiln", "weft"]))
def test_a_block_is_what_the_whole_index_tells_of_it(text: str, card: str) -> None:
    found, whole = block_of(text, card), parse_index(text).card(card)
    assert (found and replace(found, line=0)) == (whole and replace(whole, line=0))


@given(TEXTS, st.sampled_from(PIECES), st.integers(0, 14))
def test_where_a_blocks_text_stayed_so_did_the_block_and_what_becomes_of_it(text: str, piece: str, at: int) -> None:
    lines = text.splitlines(keepends=True)
    other = "".join((*lines[:at], piece, *lines[at:]))
    if block_text(text, "kiln") != block_text(other, "kiln"):
        return
    (one, changed), (same, as_well) = (
        [(found and replace(found, line=0)) for index in (parse_index(which), change(parse_index(which)))
         for found in [index.card("kiln")]]
        for which in (text, other)
    )  # fmt: skip
    assert (one, changed) == (same, as_well)


@pytest.fixture(params=[1, 2, 32], autouse=True, scope="module")
def parts_in_a_run(request: pytest.FixtureRequest) -> Iterator[None]:
    """However many parts are a run: a few, so that small indexes have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks_module, "_RUN", request.param)
        yield


@given(TEXTS)
def test_an_index_in_its_blocks_changes_as_the_whole_does(text: str) -> None:
    before = Blocks.of(text.encode())
    after = None if before is None else before.changed("kiln", change)
    if before is None or after is None:
        return
    assert after.data.decode() == change(parse_index(text)).text
    assert spliced(before.data, leaf_pieces(before, after)) == after.data
    anew = Blocks.of(after.data)
    assert anew is not None
    assert list(after.parts) == list(anew.parts)
    assert {name: set(places) for name, places in after._mentions.items() if places} == {
        name: set(places) for name, places in anew._mentions.items()
    }
    again = after.changed("kiln", change)
    assert again is None or again.data.decode() == change(parse_index(after.data.decode())).text


def test_many_changes_of_blocks_are_the_changes_of_the_whole() -> None:
    """Also with a new card at the end, whose heading begins a part of its own."""
    text = "# Projects\n\n" + "".join(f"## [Card {k}](card-{k}.md)\nstatus: active\n\n" for k in range(9))
    first = blocks = Blocks.of(text.encode())
    assert first is not None
    for card in ("card-3", "card-6", "card-1", "kiln", "card-8", "kiln", "loom", "card-3"):
        document = parse_document(f"## Firing {len(text)}\n\nHot.\n\n## Glaze\n\nBlue.\n")
        step = partial(reconcile, cards={card: document}, only=card)
        assert blocks is not None
        last, blocks = blocks, blocks.changed(card, step)
        text = step(parse_index(text)).text
        assert blocks is not None
        assert blocks.data.decode() == text
        assert spliced(last.data, leaf_pieces(last, blocks)) == blocks.data
        assert spliced(first.data, leaf_pieces(first, blocks)) == blocks.data


@pytest.mark.parametrize("odd", [b"\xff", b"\0", b"\r\n", b"```\n", b"<!-- x -->", "\u212ailn.md".encode()])
def test_an_index_that_is_not_plain_has_no_blocks(odd: bytes) -> None:
    assert Blocks.of(b"# Projects\n" + odd) is None


def test_the_rest_of_a_large_index_is_not_read() -> None:
    seen: list[str] = []

    def look(index: Index) -> Index:
        seen.append(index.text)
        return change(index)

    blocks = [f"## [Card {k}](card-{k}.md)\nstatus: active\n\n- [a](card-{k}.md#a) — A.\n\n" for k in range(500)]
    blocks[250] = "## [Kiln](kiln.md)\nstatus: active\n\n- [firing](kiln.md#firing) — Hot.\n\n"
    text = "# Projects\n\n" + "".join(blocks)
    after = changed_block(text, "kiln", look)
    assert seen == [blocks[250]]
    assert after.startswith("# Projects\n\n" + "".join(blocks[:250]))
    assert after.endswith("".join(blocks[251:]))
    assert "kiln.md#glaze" in after
