from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.index.index import Index, IndexEntry, parse_index
from onepen.memory.index.one_block import changed_block
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
