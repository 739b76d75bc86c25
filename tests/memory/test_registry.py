from textwrap import dedent

from onepen.memory.index.index import parse_index
from onepen.memory.index.registry import registry_entry, registry_text, with_agent


def test_a_registry_is_an_index_of_agents() -> None:
    text = registry_text([("researcher", "Researcher", "Reads and quotes."), ("writer", "Writer", "Writes prose.")])
    assert text == dedent("""\
        # Agents

        ## [Researcher](researcher.md)

        - [about](researcher.md) — Reads and quotes.

        ## [Writer](writer.md)

        - [about](writer.md) — Writes prose.
        """)
    assert [card.id for card in parse_index(text).cards] == ["researcher", "writer"]


def test_an_agent_is_added_or_described_anew_and_hand_made_text_stays() -> None:
    text = registry_text([("writer", "Writer", "Writes prose.")]).replace("# Agents\n", "# Agents\n\nOurs.\n")
    added = with_agent(parse_index(text), "poet", "Poet", "Verse.")
    assert added.text == text + "\n## [Poet](poet.md)\n\n- [about](poet.md) — Verse.\n"
    assert with_agent(added, "writer", "Writer", "Letters.").text == added.text.replace("Writes prose.", "Letters.")


def test_a_description_of_another_tool_becomes_one_safe_line() -> None:
    entry = registry_entry("poet", "Use when:\n<example>user: `hi`</example>\n## See https://x.y\n" + "word " * 100)
    assert len(entry.summary) <= 200
    assert entry.summary.startswith("Use when: user: hi ## See … word")
    assert registry_entry("poet", "\n").summary == "poet"
